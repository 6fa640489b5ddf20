/** Alipay's certificate mode: which certificates both sides name, whom we believe, and what happens when one ends. */
import { generateKeyPairSync } from 'node:crypto'
import t, { type Test } from 'tap'
import { check } from '../../lib/cli/check.ts'
import { verifiedForm, rootSerialOf, serialOf } from '../../lib/pay/alipay/signing.ts'
import { payHealth } from '../../lib/pay/health.ts'
import { payWarnings } from '../../lib/pay/methods.ts'
import { certificatesIn } from '../../lib/config/certificates.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { certificateOf } from '../support/certificates.ts'
import { AlipayDouble, keyPair, serialsOf } from './doubles/alipay.ts'
import { openShop } from './shop.ts'

const DAY_MS = 86_400_000
const configOf = (pay: object) => parseConfig(JSON.stringify({ pay }), 'gateway.yaml', {})

async function open(t: Test, section: object = {}) {
  const alipay = await AlipayDouble.open(t, true)
  const shop = await openShop(t, { alipay: { ...alipay.section, ...section } })
  alipay.ledger.now = () => shop.clock.now()
  return { alipay, shop }
}

t.test('serial numbers are those that the official SDK computes', t => {
  const { privateKey } = keyPair()
  const rows: [subject: string, serial: string][] = [
    [
      '/C=CN/O=Ant Financial/OU=Certification Authority/CN=Ant Financial Certification Authority Class 2 R1',
      '0x20210904',
    ],
    ['/C=CN/ST=浙江/L=杭州/O=某某 (公司)/CN=支付宝', '0x80'],
    ['/O=a, b; "c" <d>+e/CN=#f\\\\g = h ', '0xff00000000000000000000000000000000000001'],
    ['/CN=one', '1'],
  ]
  for (const [subject, serial] of rows) {
    const pem = certificateOf({ subject, key: privateKey, serial, ca: true })
    const theirs = serialsOf({ app_cert: pem, alipay_cert: pem, alipay_root_cert: pem })
    t.equal(serialOf(certificatesIn(pem)[0]!), theirs.app, subject)
    t.equal(rootSerialOf(certificatesIn(pem)), theirs.root, subject)
  }
  t.end()
})

t.test('roots that no RSA key has signed have no part in the serial number', t => {
  const pem = (namedCurve: string): string =>
    generateKeyPairSync('ec', { namedCurve }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const { privateKey } = keyPair()
  // Names and numbers of the roots that Alipay gives merchants, for which it publishes this serial number.
  const of = '/C=CN/O=Ant Financial/OU=Certification Authority/CN=Ant Financial Certification Authority'
  const roots = [
    certificateOf({ subject: '/C=CN/O=NRCAC/CN=ROOTCA', key: pem('SM2'), hash: 'sm3', ca: true }),
    certificateOf({ subject: `${of} R1`, key: privateKey, serial: '2292228364100439313', ca: true }),
    certificateOf({ subject: `${of} E1`, key: pem('P-384'), hash: 'sha384', ca: true }),
    certificateOf({
      subject: '/C=CN/O=iTrusChina/OU=China Trust Network/CN=iTrusChina Class 2 Root CA - G3',
      key: privateKey,
      serial: '95790491425698859646659490580052089075020051350',
      ca: true,
    }),
  ]
  const published = '687b59193f3f462dd5336e5abf83c5d8_02941eef3187dddf3d3b83462e1dfcf6'
  for (const file of [roots.join(''), roots.join('\r\n\r\n'), `subject=/CN=x\n${roots.join('\n')}`])
    t.equal(rootSerialOf(certificatesIn(file)), published)
  const [, rsa] = roots as [string, string]
  t.equal(serialsOf({ app_cert: rsa, alipay_cert: rsa, alipay_root_cert: roots.join('') }).root, published)
  t.end()
})

t.test('a page, a code, a question and a refund name our certificates', async t => {
  const { alipay, shop } = await open(t)
  const { id, shown } = await shop.begin()
  t.match(shown, { redirect: /app_cert_sn=[0-9a-f]{32}&alipay_root_cert_sn=[0-9a-f]{32}&/, qr: /^https:/ })
  t.match(await (await fetch(shown?.redirect as string)).text(), /Pay 100.00/)
  alipay.ledger.pay(id)
  t.same(await alipay.notify(id), ['200 success'])
  t.match(await shop.order(id), { state: 'credited' })
  t.match(await shop.method.query(await shop.order(id)), { kind: 'paid' })
  t.same(alipay.forged, [], 'Alipay found nothing wrong with any request')

  const other = await AlipayDouble.open(t, true)
  const strange = { ...other.section, gateway: alipay.section.gateway, api: alipay.section.api, ...otherRoot() }
  const shop2 = await openShop(t, { alipay: strange }, { clock: shop.clock })
  t.equal((await shop2.begin()).state, 'failed', 'other roots than Alipay’s')
  t.match(alipay.forged, ['/v3/alipay/trade/precreate'])
})

const otherRoot = () => ({ alipay_root_cert: certificateOf({ subject: '/CN=x', key: keyPair().privateKey, ca: true }) })

t.test('which answers are believed', async t => {
  const { alipay, shop } = await open(t)
  const { id, shown } = await shop.begin()
  await fetch(shown?.redirect as string)
  const order = await shop.order(id)
  const another = 'f'.repeat(32)
  const rows: [name: string, serial: string | null, fault: 'none' | 'stranger' | 'unsigned', said: RegExp | null][] = [
    ['the certificate that we have', alipay.serials!.alipay, 'none', null],
    ['no certificate is named', null, 'none', null],
    ['another certificate', another, 'none', /another certificate.*download it/],
    ['another certificate, and its key', another, 'stranger', /another certificate.*download it/],
    ['our own certificate', alipay.serials!.app, 'none', /another certificate/],
    ['the one that we have, and another key', alipay.serials!.alipay, 'stranger', /not signed by Alipay/],
    ['the one that we have, and no signature', alipay.serials!.alipay, 'unsigned', /not signed by Alipay/],
  ]
  for (const [name, serial, fault, said] of rows) {
    alipay.namedSerial = serial
    alipay.faults.push(fault)
    const asked = shop.method.query(order)
    if (said === null) t.same(await asked, { kind: 'open' }, name)
    else await t.rejects(asked, { name: 'ProviderAway', message: said }, name)
  }
})

t.test('which notifications are believed', async t => {
  const { alipay, shop } = await open(t)
  const { id, shown } = await shop.begin()
  await fetch(shown?.redirect as string)
  alipay.ledger.pay(id)
  const named = (serial: string) => ({ ...alipay.notice(id), alipay_cert_sn: serial })
  const good: Record<string, string> = alipay.notice(id)
  delete good['alipay_cert_sn']
  const rows: [name: string, body: string, verdict: string][] = [
    ['another certificate', alipay.signed(named('f'.repeat(32))), 'key'],
    ['our own certificate', alipay.signed(named(alipay.serials!.app)), 'key'],
    ['a certificate without a name', alipay.signed(named('')), 'key'],
    [
      'the one that we have, which was added',
      `${alipay.signed(good)}&alipay_cert_sn=${alipay.serials!.alipay}`,
      'signature',
    ],
    [
      'the one that we have, and another key',
      alipay.signed(named(alipay.serials!.alipay), alipay.keys.stranger.privateKey),
      'signature',
    ],
    ['no certificate, and another key', alipay.signed(good, alipay.keys.stranger.privateKey), 'signature'],
  ]
  const expected: Record<string, number> = {}
  for (const [name, body, verdict] of rows) {
    t.same(await alipay.send(id, body), ['400 fail'], name)
    expected[verdict] = (expected[verdict] ?? 0) + 1
    t.same(shop.verdicts(), expected, name)
  }
  t.equal(await shop.balance(), 0)
  t.same(await alipay.send(id, alipay.signed(named(alipay.serials!.alipay))), ['200 success'])
  t.equal(await shop.balance(), 10_000)
  t.same(await alipay.send(id, alipay.signed(good)), ['200 success'], 'not every notification names one')
  const keys = { publicKey: alipay.keys.alipay.publicKey, serials: null }
  const body = Buffer.from(alipay.signed(named('f'.repeat(32))))
  t.equal(verifiedForm(body, keys).get('trade_no'), good['trade_no'], 'with a public key alone, names say nothing')
})

t.test('files of the config, and what `gateway check` says of them', async t => {
  const alipay = await AlipayDouble.open(t, true)
  const { app_id, seller_id, private_key } = alipay.section
  const texts = {
    private_key,
    ...alipay.files,
    app_cert: certificateOf({ subject: '/CN=x', key: private_key, days: 9 }),
  }
  const named = Object.fromEntries(Object.keys(texts).map(name => [name, `\${file:${name}.pem}`]))
  const urls = { main: 'https://a.example' }
  const config = JSON.stringify({
    store: 'sqlite:none',
    public: urls,
    pay: { alipay: { app_id, seller_id, ...named } },
  })
  const pem = Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${name}.pem`, text]))
  const folder = t.testdir({ 'c.yaml': config, ...pem })
  const { warnings } = await check(`${folder}/c.yaml`, {})
  const ofPay = warnings.filter(warning => warning.startsWith('pay.'))
  t.match(ofPay, [/^pay\.alipay: the certificates end at 20\d\d-.*Z: get new ones/])
})

t.test('the end of a certificate: known ahead, and after it nothing is ordered and nothing is lost', async t => {
  const { alipay, shop } = await open(t)
  const untilMs = certificatesIn(alipay.files!.app_cert)[0]!.validToDate.getTime()
  const until = new Date(untilMs).toISOString()
  const health = async () => {
    const { methods } = await payHealth(
      { store: shop.store, clock: shop.clock },
      await shop.desk.methods(),
      undefined,
      shop.desk.hold,
    )
    return methods[0]?.certificates
  }
  const at = (ms: number) => shop.clock.advance(ms - shop.clock.now())
  const metric = () => shop.counts.samples('payCertificate')
  const checked = async () =>
    (await payWarnings(configOf({ alipay: alipay.section }), shop.clock)).map(text => text.replace(/at .*/, ''))
  t.same(await health(), { until, end_soon: false })
  t.same(await checked(), [])
  t.same(metric(), [], 'nobody has looked yet')
  at(untilMs - 29 * DAY_MS)
  t.same(await health(), { until, end_soon: true })
  t.same(await checked(), ['pay.alipay: the certificates end '])
  await shop.round()
  t.same(metric(), [{ labels: { method: 'alipay' }, value: (29 * DAY_MS) / 1_000 }])
  at(untilMs)
  const { id, shown } = await shop.begin()
  await fetch(shown?.redirect as string)
  at(untilMs + 1_000)
  t.equal((await shop.begin()).state, 'failed')
  t.same(await checked(), ['pay.alipay: the certificates have ended '])
  alipay.ledger.pay(id)
  t.same(await alipay.notify(id), ['200 success'], 'what was paid is credited')
  t.equal(await shop.balance(), 10_000)
})
