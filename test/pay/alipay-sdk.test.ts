/**
 * Alipay's official SDK as the judge: as a client it works against our double, and it verifies the same messages as we do.
 * The double itself verifies our requests with the SDK's functions.
 */
import { AlipaySdk } from 'alipay-sdk'
import t, { type Test } from 'tap'
import { alipayKeys, verifiedForm } from '../../lib/pay/alipay/signing.ts'
import { newOrderId } from '../../lib/pay/exceptions.ts'
import { type Random, seeded } from '../support/random.ts'
import { AlipayDouble } from './doubles/alipay.ts'
import { china } from '../../tools/simulator/pay/alipay-ledger.ts'

async function open(t: Test, certificates = false) {
  const alipay = await AlipayDouble.open(t, certificates)
  const { appId, url, files } = alipay
  const { privateKey } = alipay.keys.app
  const theirs =
    files === null
      ? { alipayPublicKey: alipay.keys.alipay.publicKey }
      : {
          appCertContent: files.app_cert,
          alipayPublicCertContent: files.alipay_cert,
          alipayRootCertContent: files.alipay_root_cert,
        }
  const keys = { privateKey, keyType: 'PKCS8' as const, ...theirs }
  const sdk = new AlipaySdk({ appId, ...keys, gateway: `${url}/gateway.do`, endpoint: url, camelcase: false })
  return { alipay, sdk, theirs }
}

for (const certificates of [false, true])
  t.test(`as a client against the double${certificates ? ', with certificates' : ''}`, async t => {
    const { alipay, sdk, theirs } = await open(t, certificates)
    const order = newOrderId(Date.now())
    const trade = {
      out_trade_no: order,
      total_amount: '12.30',
      subject: '50% 充值 +',
      product_code: 'FAST_INSTANT_TRADE_PAY',
      time_expire: china(Date.now() + 600_000),
    }
    const params = { bizContent: trade, notify_url: 'http://127.0.0.1:1/', timestamp: china(Date.now()) }
    const page = await fetch(sdk.pageExecute('alipay.trade.page.pay', 'GET', params))
    t.match(await page.text(), /Pay 12.30/)
    const ask = async (path: string, body: object) => (await sdk.curl('POST', `/v3/alipay/${path}`, { body })).data
    t.match(await ask('trade/query', { out_trade_no: order }), {
      trade_status: 'WAIT_BUYER_PAY',
      total_amount: '12.30',
    })
    alipay.ledger.pay(order)
    t.match(await ask('trade/query', { out_trade_no: order }), { trade_status: 'TRADE_SUCCESS' })
    await t.rejects(ask('trade/close', { out_trade_no: order }), { code: 'TRADE_HAS_SUCCESS' })
    const refund = { out_trade_no: order, refund_amount: '2.30', out_request_no: 'R1' }
    t.match(await ask('trade/refund', refund), { fund_change: 'Y', refund_fee: '2.30' })
    t.match(await ask('trade/refund', refund), { fund_change: 'N', refund_fee: '2.30' })
    t.match(await ask('trade/fastpay/refund/query', { out_trade_no: order, out_request_no: 'R1' }), {
      refund_status: 'REFUND_SUCCESS',
      refund_amount: '2.30',
    })
    await t.rejects(ask('trade/query', { out_trade_no: 'T0' }), { code: 'ACQ.TRADE_NOT_EXIST' })
    t.match(await ask('trade/precreate', { ...trade, out_trade_no: 'T1' }), { qr_code: /^https:/ })
    const query = { bill_type: 'trade', bill_date: china(Date.now()).slice(0, 10) }
    const { data } = await sdk.curl('GET', '/v3/alipay/data/dataservice/bill/downloadurl/query', { query })
    t.equal((await fetch(data.bill_download_url)).status, 200)
    t.same(alipay.forged, [], 'every signature of the SDK was good')

    alipay.faults.push('stranger')
    await t.rejects(ask('trade/query', { out_trade_no: order }), { code: 'response-signature-verify-error' })
    if (certificates) {
      alipay.namedSerial = null
      t.match(await ask('trade/query', { out_trade_no: order }), { out_trade_no: order }, 'it need not be named')
      alipay.namedSerial = '0'.repeat(32)
      await t.rejects(ask('trade/query', { out_trade_no: order }), { code: 'response-alipay-sn-verify-error' })
    }
    const [appId, endpoint] = [alipay.appId, alipay.url]
    const foreign = { privateKey: alipay.keys.stranger.privateKey, ...theirs }
    const stranger = new AlipaySdk({ appId, endpoint, ...foreign, keyType: 'PKCS8' })
    await t.rejects(stranger.curl('POST', '/v3/alipay/trade/query', { body: {} }), { code: 'invalid-signature' })
  })

const PIECES = [
  'a',
  '充值',
  '🎉',
  '%',
  '%41',
  '%zz',
  '+',
  ' ',
  '&',
  '=',
  '"',
  '\\',
  '\n',
  '\0',
  '0.01',
  'null',
  '＋',
  'é',
]
const words = (random: Random): string => Array.from({ length: random.int(0, 5) }, () => random.pick(PIECES)).join('')

t.test('the same forms are good, and the same ones are not', async t => {
  const { alipay, sdk } = await open(t, true)
  const random = seeded(t)
  const { keys } = alipayKeys(alipay.section)
  const named = { alipay_cert_sn: sdk.config.alipayCertSn }
  const ours = (body: string): boolean => {
    try {
      return verifiedForm(Buffer.from(body), keys).size > 0
    } catch {
      return false
    }
  }
  const theirs = (body: string): boolean => {
    try {
      return sdk.checkNotifySignV2(Object.fromEntries(new URLSearchParams(body)))
    } catch {
      return false // for it, an unknown algorithm is a fault of the program
    }
  }
  let good = 0
  for (let i = 0; i < 2_000; i++) {
    const names = Array.from(
      { length: random.int(0, 6) },
      () => `${random.pick(['a', 'b', 'Z', '_'])}${random.int(0, 99)}`,
    )
    const fields = {
      ...Object.fromEntries(names.map(name => [name, words(random)])),
      sign_type: 'RSA2',
      ...(random.next() < 0.5 ? named : {}),
    }
    const body = alipay.signed(fields)
    if (ours(body) && theirs(body)) good++
    else t.fail(`a good form is refused by ${ours(body) ? 'the SDK' : 'us'}: ${body}`)
    const bytes = Buffer.from(body)
    bytes[random.int(0, bytes.length - 1)]! ^= 1 << random.int(0, 6)
    const changed = bytes.toString('utf8')
    const same = JSON.stringify([...new URLSearchParams(changed)]) === JSON.stringify([...new URLSearchParams(body)])
    if (ours(changed) && !(theirs(changed) && same)) t.fail(`we take ${changed}, made of ${body}`)
  }
  t.equal(good, 2_000)
})

t.test('where we refuse what the SDK takes', async t => {
  const { alipay, sdk } = await open(t)
  const fields = { app_id: '1', total_amount: '1.00' }
  const { privateKey, publicKey } = alipay.keys.alipay
  const keys = { publicKey, serials: null }
  const sha1 = alipay.signed({ ...fields, sign_type: 'RSA' }, privateKey, 'sha1')
  const untyped = alipay.signed({ ...fields, sign_type: 'RSA2' }).replace('sign_type=RSA2&', '')
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x${i}`, '1']))
  const flood = alipay.signed({ ...fields, ...many, sign_type: 'RSA2' })
  for (const body of [sha1, untyped, flood]) {
    t.equal(sdk.checkNotifySignV2(Object.fromEntries(new URLSearchParams(body))), true, body.slice(0, 60))
    t.throws(() => verifiedForm(Buffer.from(body), keys), { name: 'NotVerified' })
  }
})
