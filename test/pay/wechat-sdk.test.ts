/**
 * A client library for WeChat Pay that other people wrote cross-examines both sides, so that the stand-in and our own code
 * do not share one mistake: it talks to the stand-in as a client, it checks our signatures, and it makes signatures that we
 * check.
 */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { Aes, Formatter, Rsa, Wechatpay } from 'wechatpay-axios-plugin'
import { NotVerified } from '../../lib/pay/method.ts'
import { decrypted, KeyRing, RequestSigner } from '../../lib/pay/wechat/signing.ts'
import { type Random, seeded } from '../support/random.ts'
import { FORGERIES, type Json, WechatDouble } from './doubles/wechat.ts'
import { openWechat } from './wechat-support.ts'

interface Chain {
  post(body: object): Promise<{ status: number; data: Json }>
  get(options?: object): Promise<{ status: number; data: Json }>
}

/** The status and the code of the error that the library throws. */
const faultOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    ({ response, code }: { response?: { status: number; data?: Json }; code?: string }) =>
      (response?.status ?? 0) < 400 ? String(code) : `${response?.status} ${response?.data?.['code']}`,
  )

/** The library's client of one merchant. */
function clientOf(double: WechatDouble, serial = double.serial): (path: string) => Chain {
  const client = new Wechatpay({
    mchid: double.mchid,
    serial,
    privateKey: double.merchant.privateKey,
    certs: Object.fromEntries(double.keys.map(({ id, publicKey }) => [id, publicKey])),
    baseURL: `${double.url}/`,
  } as never)
  return path => (client as unknown as { chain(path: string): Chain }).chain(path)
}

t.test('the stand-in is what the library takes for WeChat Pay', async t => {
  const double = await WechatDouble.open(t)
  const call = clientOf(double)
  const id = 'T0000000000000000000000001'
  const order = {
    appid: double.appid,
    mchid: double.mchid,
    description: '充值',
    out_trade_no: id,
    time_expire: `${new Date(Date.now() + 8.5 * 3_600_000).toISOString().slice(0, 19)}+08:00`,
    notify_url: 'https://gateway.example/pay/wechat',
    amount: { total: 1_000, currency: 'CNY' },
  }
  t.match(await call('v3/pay/transactions/native').post(order), { status: 200, data: { code_url: /^weixin:/ } })
  const query = () => call(`v3/pay/transactions/out-trade-no/${id}`).get({ params: { mchid: double.mchid } })
  t.match(await query(), { data: { trade_state: 'NOTPAY' } })
  double.pay(id)
  t.match(await query(), { data: { trade_state: 'SUCCESS', amount: { total: 1_000 } } })
  const close = call(`v3/pay/transactions/out-trade-no/${id}/close`)
  t.equal(await faultOf(close.post({ mchid: double.mchid })), '400 ORDERPAID')
  const refund = { out_trade_no: id, out_refund_no: 'r1', amount: { refund: 400, total: 1_000, currency: 'CNY' } }
  t.match(await call('v3/refund/domestic/refunds').post(refund), { data: { status: 'PROCESSING' } })
  t.match(await call('v3/refund/domestic/refunds/r1').get(), { data: { out_refund_no: 'r1' } })
  t.equal(await faultOf(call('v3/refund/domestic/refunds/r2').get()), '404 RESOURCE_NOT_EXISTS')
  for (const fault of FORGERIES) {
    double.faults.push(fault)
    t.match(await faultOf(query()), /^EV3_RES_/, `${fault} is refused by the library too`)
  }
  t.equal(await faultOf(clientOf(double, 'ABCDEF')('v3/bill/tradebill').get()), '401 SIGN_ERROR')
})

t.test('the library reads the stand-in’s bill as we do', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('12.34')
  shop.double.pay(id, 34)
  const day = new Date(shop.clock.now() + 8 * 3_600_000).toISOString().slice(0, 10)
  const named = (await clientOf(shop.double)('v3/bill/tradebill').get({ params: { bill_date: day } })).data
  const { pathname, searchParams } = new URL(String(named['download_url']))
  const options = { params: Object.fromEntries(searchParams), responseType: 'arraybuffer' }
  const file = await clientOf(shop.double)(pathname.slice(1)).get(options)
  const { rows } = Formatter.castCsvBill(file.data as never) as { rows: Record<string, string>[] }
  const lines = await Array.fromAsync(shop.method.bill(day))
  t.match(rows, [{ 商户订单号: id, 订单金额: '12.34', 代金券金额: '0.34' }])
  t.match(lines, [
    { kind: 'paid', orderId: rows[0]?.['商户订单号'], transactionId: rows[0]?.['微信订单号'], amount: 1_234 },
  ])
})

t.test('our signatures of requests, as the library checks them', async t => {
  const random = seeded(t)
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const signer = new RequestSigner({ mchid: '1900000109', serial: 'ABCDEF01', private_key: pem })
  for (let i = 0; i < 200; i++) {
    const method = random.next() < 0.5 ? 'GET' : 'POST'
    const body = method === 'GET' ? '' : JSON.stringify({ text: textOf(random) })
    const path = `/v3/${random.int(0, 1e9)}?q=${encodeURIComponent(textOf(random))}`
    const nowMs = random.int(0, 2e12)
    const header = signer.authorization(method, path, body, nowMs)
    const of = Object.fromEntries([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]))
    const { timestamp, nonce_str, signature } = of as Record<string, string>
    t.equal(timestamp, String(Math.floor(nowMs / 1_000)))
    const text = Formatter.request(method, path, timestamp as string, nonce_str as string, body)
    t.ok(Rsa.verify(text, signature as string, publicKey))
    t.notOk(Rsa.verify(`${text}\n`, signature as string, publicKey))
    const same = Formatter.authorization(
      '1900000109',
      nonce_str as string,
      signature as string,
      timestamp as string,
      'ABCDEF01',
    )
    t.same(header.split(/[ ,]/).sort(), same.split(/[ ,]/).sort())
  }
})

t.test('signatures and cipher texts that the library made, as we check them', async t => {
  const random = seeded(t)
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = createPublicKey(pair.privateKey).export({ type: 'spki', format: 'pem' }).toString()
  const ring = new KeyRing([{ id: 'K', key }])
  const apiKey = 'k'.repeat(32)
  for (let i = 0; i < 200; i++) {
    const plain = JSON.stringify({ text: textOf(random) })
    const [nonce, extra] = [Formatter.nonce(12), random.next() < 0.3 ? '' : textOf(random)]
    const ciphertext = Aes.AesGcm.encrypt(plain, apiKey, nonce, extra)
    const resource = { algorithm: 'AEAD_AES_256_GCM', ciphertext, nonce, associated_data: extra }
    t.equal(decrypted(resource, apiKey).toString(), Aes.AesGcm.decrypt(ciphertext, apiKey, nonce, extra))
    const at = 1_700_000_000 + i
    const body = JSON.stringify({ resource, text: textOf(random) })
    const headers = {
      'wechatpay-timestamp': String(at),
      'wechatpay-nonce': nonce,
      'wechatpay-serial': 'K',
      'wechatpay-signature': Rsa.sign(Formatter.response(at, nonce, body), pair.privateKey),
    }
    ring.check(headers, Buffer.from(body), at * 1_000)
    t.throws(() => ring.check(headers, Buffer.from(`${body} `), at * 1_000), NotVerified)
    for (const offset of [-300, 300])
      t.throws(() => ring.check(headers, Buffer.from(body), (at + offset) * 1_000), NotVerified)
    for (const offset of [-299, 299]) ring.check(headers, Buffer.from(body), (at + offset) * 1_000)
  }
})

const LETTERS = ['a', 'Z', '0', '%', '+', '&', '=', '"', '\\', '\n', ' ', '充', '值', '🀄', 'é', '/']
const textOf = (random: Random): string =>
  Array.from({ length: random.int(0, 30) }, () => random.pick(LETTERS)).join('')
