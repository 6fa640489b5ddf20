/** Alipay against a double that speaks its protocols: orders, notifications, and everything in them that must not credit. */
import t, { type Test } from 'tap'
import { parseMicro } from '../../lib/base/money.ts'
import { NotVerified } from '../../lib/pay/method.ts'
import { newOrderId } from '../../lib/pay/exceptions.ts'
import type { PayExceptionKind } from '../../lib/terms/pay.ts'
import { AlipayDouble, keyPair } from './doubles/alipay.ts'
import { openShop, type Shop } from './shop.ts'
import { ACT } from './support.ts'

type Fields = Record<string, string>
const MINUTE_MS = 60_000

async function open(t: Test): Promise<{ alipay: AlipayDouble; shop: Shop }> {
  const alipay = await AlipayDouble.open(t)
  const shop = await openShop(t, { alipay: alipay.section })
  alipay.ledger.now = () => shop.clock.now()
  return { alipay, shop }
}

/** An order of 100 CNY whose page is open, and which is paid unless `paid` is false. */
async function ordered(t: Test, paid = true) {
  const { alipay, shop } = await open(t)
  const { id, shown } = await shop.begin()
  await fetch(shown?.redirect as string)
  if (paid) alipay.ledger.pay(id)
  return { alipay, shop, id }
}

t.test('a page: its address is signed, its button pays, and the payer comes back', async t => {
  const { alipay, shop } = await open(t)
  const { id, shown, state } = await shop.begin()
  t.equal(state, 'pending')
  const page = await fetch(shown?.redirect as string)
  t.match(await page.text(), /Pay 100.00/)
  const body = new URLSearchParams({ order: id })
  const back = await fetch(`${alipay.url}/pay`, { method: 'POST', body, redirect: 'manual' })
  t.equal(back.headers.get('location'), `https://here.example/topup?order=${id}`, 'to the page of this order')
  t.match(await shop.order(id), { state: 'credited', late: false })
  t.equal(await shop.balance(), 10_000)
  t.match(await shop.store.pay.proofs(id), [
    { source: 'callback', amount: 10_000, paidAtMs: Math.floor(shop.clock.now() / 1000) * 1000 },
  ])
  t.same(shop.verdicts(), { taken: 1 })
  t.same(alipay.forged, [])
})

t.test('a code: the trade does not exist until it is scanned, which is no failure', async t => {
  const { alipay, shop } = await open(t)
  const { id, shown } = await shop.begin()
  t.equal(shown?.qr, `https://qr.alipay.com/${id}`)
  t.same(await shop.method.query(await shop.order(id)), { kind: 'absent' })
  t.same(await shop.method.close(await shop.order(id)), { kind: 'absent' })
  alipay.ledger.scan(id)
  t.same(await shop.method.query(await shop.order(id)), { kind: 'open' })
  alipay.ledger.pay(id)
  t.same(await alipay.notify(id), ['200 success'])
  t.equal((await shop.order(id)).state, 'credited')
})

t.test('times are those of China, wherever the machine stands', async t => {
  const before = process.env['TZ']
  t.teardown(() => {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  })
  for (const zone of ['UTC', 'America/New_York', 'Asia/Shanghai', 'Pacific/Auckland']) {
    process.env['TZ'] = zone
    const { alipay, shop, id } = await ordered(t)
    t.same(alipay.forged, [], zone)
    t.equal(alipay.ledger.trade(id).expiresAtMs, Math.floor((await shop.order(id)).expiresAtMs / 1000) * 1000)
    await alipay.notify(id)
    t.equal((await shop.order(id)).paidAtMs !== null, true)
  }
})

t.test('a notification is not believed', async t => {
  const { alipay, shop, id } = await ordered(t)
  const good = alipay.notice(id)
  const signed = alipay.signed(good)
  const sha1 = (fields: Fields) => alipay.signed(fields, alipay.keys.alipay.privateKey, 'sha1')
  const rows: [name: string, body: string, verdict: string][] = [
    ['nothing', '', 'form'],
    ['no signature', new URLSearchParams(good).toString(), 'form'],
    ['an empty signature', `${new URLSearchParams(good)}&sign=`, 'signature'],
    ['a signature that is no base64', `${new URLSearchParams(good)}&sign=%00%25%25`, 'signature'],
    ['the key of a stranger', alipay.signed(good, alipay.keys.stranger.privateKey), 'signature'],
    ['our own key', alipay.signed(good, alipay.keys.app.privateKey), 'signature'],
    ['a new key', alipay.signed(good, keyPair().privateKey), 'signature'],
    ['RSA with SHA-1', sha1({ ...good, sign_type: 'RSA' }), 'form'],
    ['SHA-1 that is called RSA2', sha1(good), 'signature'],
    ['MD5', alipay.signed({ ...good, sign_type: 'MD5' }), 'form'],
    ['a type of JavaScript', alipay.signed({ ...good, sign_type: '__proto__' }), 'form'],
    ['no type', alipay.signed(good).replace('sign_type=RSA2&', ''), 'form'],
    ['a field twice', `${signed}&total_amount=1.00`, 'form'],
    ['the signature twice', `${signed}&sign=x`, 'form'],
    ['another amount', signed.replace('total_amount=100.00', 'total_amount=900.00'), 'signature'],
    ['another order', signed.replace(id, newOrderId(0)), 'signature'],
    ['a field more', `${signed}&x=1`, 'signature'],
    ['a field less', signed.replace('&point_amount=0.00', ''), 'signature'],
    ['JSON', JSON.stringify(good), 'form'],
  ]
  const expected: Record<string, number> = {}
  for (const [name, body, verdict] of rows) {
    t.same(await alipay.send(id, body), ['400 fail'], name)
    expected[verdict] = (expected[verdict] ?? 0) + 1
    t.same(shop.verdicts(), expected, name)
  }
  t.equal((await shop.order(id)).state, 'pending')
  t.equal(await shop.balance(), 0)
  t.same(await shop.exceptions(), [])
  t.same(await alipay.send(id, signed), ['200 success'], 'the same in its good form')
})

t.test('no byte of a notification can be changed', async t => {
  const { alipay, shop, id } = await ordered(t)
  const body = Buffer.from(alipay.signed(alipay.notice(id)))
  const meaning = (bytes: Buffer) => Object.fromEntries(new URLSearchParams(bytes.toString('utf8')))
  let refused = 0
  for (let i = 0; i < body.length; i++) {
    const changed = Buffer.from(body)
    changed[i]! ^= 1 << (i % 7)
    // `%2f` and `%2F` are the same byte.
    if (JSON.stringify(meaning(changed)) === JSON.stringify(meaning(body))) continue
    const error = await shop.method.verify({ headers: {}, body: changed }).catch(error => error)
    if (error instanceof NotVerified) refused++
    else t.fail(`byte ${i}: ${changed}`)
  }
  t.ok(refused > body.length * 0.9, `${refused} of ${body.length}`)
})

t.test('a verified notification that does not fit credits nothing and waits for a person', async t => {
  const rows: [name: string, change: (fields: Fields) => void, kind: PayExceptionKind][] = [
    ['a fen less', f => (f['total_amount'] = '99.99'), 'amount'],
    ['a fen more', f => (f['total_amount'] = '100.01'), 'amount'],
    ['no amount', f => delete f['total_amount'], 'amount'],
    ['an amount in words', f => (f['total_amount'] = '1e2'), 'amount'],
    ['another seller', f => (f['seller_id'] = '2088000000000002'), 'merchant'],
    ['no seller', f => delete f['seller_id'], 'merchant'],
    ['another application', f => (f['app_id'] = '2021000000000002'), 'merchant'],
    ['no application', f => delete f['app_id'], 'merchant'],
    ['an order of nobody', f => (f['out_trade_no'] = newOrderId(0)), 'unknown_order'],
    ['an order of another shop', f => (f['out_trade_no'] = 'SHOP-77'), 'unknown_order'],
  ]
  for (const [name, change, kind] of rows) {
    const { alipay, shop, id } = await ordered(t)
    const fields = alipay.notice(id)
    change(fields)
    t.same(await alipay.send(id, alipay.signed(fields), 3), Array(3).fill('200 success'), name)
    t.same(await shop.exceptions(), [kind], name)
    t.equal((await shop.order(id)).state, 'pending', name)
    t.equal(await shop.balance(), 0, name)
  }
})

t.test('an order of another method cannot be paid here', async t => {
  const { alipay, shop, id } = await ordered(t)
  const other = newOrderId(shop.clock.now())
  const { accountId, userId, amount, asked, currency, rate, merchant, sandbox, expiresAtMs, checkAtMs } =
    await shop.order(id)
  const order = { accountId, userId, amount, asked, currency, rate, merchant, sandbox, expiresAtMs, checkAtMs }
  const aDay = parseMicro('100000')!
  await shop.store.pay.makeOrder(
    { ...order, id: other, method: 'wechat' },
    { open: 5, failed: 5, begun: 1_000, anHour: null, anHourOfAll: null, aDay },
    ACT,
  )
  await alipay.send(id, alipay.signed({ ...alipay.notice(id), out_trade_no: other }))
  t.same(await shop.exceptions(), ['method'])
  t.equal(await shop.balance(), 0)
})

t.test('texts and fields of every kind are taken as they are', async t => {
  const rows: [name: string, change: Fields, form?: (body: string) => string][] = [
    ['a per cent sign', { subject: '50% off' }],
    ['per cent signs that mean nothing', { subject: '%zz %E4 %' }],
    ['a per cent sign that is not encoded', { subject: '50% off' }, body => body.replace('50%25+off', '50%+off')],
    ['plus signs', { subject: 'a+b + c' }],
    ['spaces as %20', { subject: 'a b' }, body => body.replaceAll('+', '%20')],
    ['Chinese and emoji', { subject: '充值 🎉 余额', body: '您好' }],
    ['what separates fields', { subject: 'a=b&c=d;sign=e' }],
    ['quotation marks and new lines', { subject: '"x"\r\n\'y\' \u0000' }],
    ['fields that nobody knows', { future_field: '1', voucher_detail_list: '[{"a":"b"}]', Zeta: '', _a: 'x' }],
    ['names that JavaScript knows', { constructor: '1', toString: '2' }],
  ]
  for (const [name, change, form = (body: string) => body] of rows) {
    const { alipay, shop, id } = await ordered(t)
    const body = form(alipay.signed({ ...alipay.notice(id), ...change }))
    const shuffled = body.split('&').reverse().join('&')
    t.same(await alipay.send(id, shuffled), ['200 success'], name)
    t.equal((await shop.order(id)).state, 'credited', name)
  }
})

t.test('what the states of a trade mean', async t => {
  const rows: [name: string, change: Fields, state: string, fen: number][] = [
    ['waiting', { trade_status: 'WAIT_BUYER_PAY' }, 'pending', 0],
    ['closed without a payment', { trade_status: 'TRADE_CLOSED' }, 'expired', 0],
    ['closed, and it says that nothing went back', { trade_status: 'TRADE_CLOSED', refund_fee: '0.00' }, 'expired', 0],
    ['finished is paid too', { trade_status: 'TRADE_FINISHED' }, 'credited', 10_000],
    ['a state that nobody knows', { trade_status: 'TRADE_PENDING' }, 'pending', 0],
    [
      'less was received because of a coupon',
      { receipt_amount: '88.00', buyer_pay_amount: '80.00' },
      'credited',
      10_000,
    ],
    ['another kind of notice', { notify_type: 'servicewindow_notify' }, 'pending', 0],
  ]
  for (const [name, change, state, fen] of rows) {
    const { alipay, shop, id } = await ordered(t)
    t.same(await alipay.send(id, alipay.signed({ ...alipay.notice(id), ...change })), ['200 success'], name)
    t.equal((await shop.order(id)).state, state, name)
    t.equal(await shop.balance(), fen, name)
  }
})

t.test('a trade without a number proves nothing', async t => {
  const { alipay, shop, id } = await ordered(t)
  t.same(await alipay.send(id, alipay.signed({ ...alipay.notice(id), trade_no: '' })), ['400 fail'])
  t.equal(await shop.balance(), 0)
})

t.test('later notices of an order that is credited change nothing', async t => {
  const { alipay, shop, id } = await ordered(t)
  for (const change of [
    {},
    {},
    { trade_status: 'TRADE_CLOSED' },
    { trade_status: 'TRADE_FINISHED' },
    { trade_status: 'WAIT_BUYER_PAY' },
  ])
    t.same(await alipay.send(id, alipay.signed({ ...alipay.notice(id), ...change })), ['200 success'])
  t.equal((await shop.order(id)).state, 'credited')
  t.equal(await shop.balance(), 10_000)
  t.same(await shop.exceptions(), [])
})

t.test('the notice comes after the order has expired: credited, and marked as late', async t => {
  const { alipay, shop, id } = await ordered(t, false)
  shop.clock.advance(29 * MINUTE_MS)
  alipay.ledger.pay(id)
  await shop.store.pay.endOrder(id, 'expired', null)
  await alipay.notify(id)
  t.match(await shop.order(id), { state: 'credited', late: true })
})

t.test('nothing but POST, nothing too large, and nothing without a length that ends', async t => {
  const { shop } = await open(t)
  const large = await fetch(`${shop.url}/pay/alipay`, { method: 'POST', body: 'a'.repeat(64 * 1024 + 1) })
  t.equal(large.status, 413)
  t.equal((await fetch(`${shop.url}/pay/wechat`, { method: 'POST', body: 'a' })).status, 404)
})
