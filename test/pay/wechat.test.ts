/** WeChat Pay against its stand-in: what is credited, what is not, and what is sent back. */
import t from 'tap'
import type { PayExceptionKind } from '../../lib/terms/pay.ts'
import { FORGERIES, type How, type Json } from './doubles/wechat.ts'
import { ACT } from './support.ts'
import { openWechat, raw, type WechatShop } from './wechat-support.ts'

const MINUTE_MS = 60_000

t.test('an order is shown as a code, paid, told and credited', async t => {
  const shop = await openWechat(t)
  const { double } = shop
  const order = await shop.begin('12.34')
  t.match(order, {
    state: 'pending',
    asked: 1_234,
    merchant: double.mchid,
    shown: { qr: /^weixin:\/\// },
    sandbox: true,
  })
  const { order: made } = double.trades.get(order.id)!
  t.match(made, { mchid: double.mchid, appid: double.appid, amount: { total: 1_234, currency: 'CNY' } })
  t.ok(Date.parse(made.time_expire) - shop.clock.now() >= 5 * MINUTE_MS, 'a shorter life may not be closed')
  t.equal(Buffer.byteLength(String(made['description'])) <= 127, true)
  t.same(await shop.deliver(double.paid(order.id)), { status: 400, verdict: 'form' }, 'not paid yet')
  double.pay(order.id)
  t.same(await shop.deliver(double.paid(order.id)), { status: 204, verdict: 'taken' })
  t.equal(await shop.balance(), 1_234)
  const [proof] = await shop.store.pay.proofs(order.id)
  t.match(proof, { source: 'callback', amount: 1_234, paidAtMs: Math.floor(shop.clock.now() / 1_000) * 1_000 })
  t.same([...double.serials], [double.keys[0]?.id], 'every request names the key that the answer is to be signed by')
})

t.test('fifty deliveries at once, in any order, credit once', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('10')
  shop.double.pay(id)
  const same = shop.double.paid(id)
  const messages = Array.from({ length: 50 }, (_, i) => (i % 2 ? same : shop.double.paid(id)))
  const answers = await Promise.all(messages.map(message => shop.deliver(message)))
  t.same([...new Set(answers.map(({ status }) => status))], [204])
  t.equal(await shop.balance(), 1_000)
})

t.test('what counts is the total: coupons, further fields, either key, and no associated data', async t => {
  const rows: [name: string, change: Json, how: How][] = [
    ['a coupon', {}, {}],
    ['further fields', { extra: { a: [1] }, scene_info: null }, {}],
    ['the key of before', {}, { signer: 1 }],
    ['empty associated data', {}, { extra: '' }],
    ['none at all', {}, { extra: '', spoil: ({ associated_data: _, ...rest }) => rest }],
  ]
  for (const [name, change, how] of rows) {
    const shop = await openWechat(t)
    const { id } = await shop.begin('10')
    shop.double.pay(id, 300)
    t.same(await shop.deliver(shop.double.paid(id, change, how)), { status: 204, verdict: 'taken' }, name)
    t.equal(await shop.balance(), 1_000, name)
  }
})

t.test('messages that are not believed credit nothing', async t => {
  const flip = (text: string) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1)
  const rows: [name: string, verdict: string, how: How][] = [
    ['unsigned', 'signature', { forgery: 'unsigned' }],
    ['signed by a stranger', 'signature', { forgery: 'foreign key' }],
    ['another nonce', 'signature', { forgery: 'flipped' }],
    ['an id of no key', 'key', { forgery: 'unknown key' }],
    ['301 seconds old', 'age', { forgery: 'old' }],
    ['an hour ahead', 'age', { forgery: 'future' }],
    ['a probe', 'probe', { forgery: 'probe' }],
    ['encrypted for somebody else', 'key', { key: 'x'.repeat(32) }],
    ['a changed text', 'key', { spoil: r => ({ ...r, ciphertext: flip(String(r['ciphertext'])) }) }],
    ['another tag', 'key', { spoil: r => ({ ...r, ciphertext: `${String(r['ciphertext']).slice(0, -6)}AAAA==` }) }],
    ['no tag', 'form', { spoil: r => ({ ...r, ciphertext: 'AAAA' }) }],
    ['another algorithm', 'form', { spoil: r => ({ ...r, algorithm: 'AEAD_AES_128_GCM' }) }],
    ['other associated data', 'key', { spoil: r => ({ ...r, associated_data: 'refund' }) }],
    ['a long nonce', 'form', { spoil: r => ({ ...r, nonce: 'x'.repeat(13) }) }],
    ['no nonce', 'form', { spoil: ({ nonce: _, ...r }) => r }],
    ['no id', 'form', { id: '' }],
    ['a long id', 'form', { id: 'x'.repeat(65) }],
  ]
  const shop = await openWechat(t)
  const { id } = await shop.begin('10')
  shop.double.pay(id)
  for (const [name, verdict, how] of rows)
    t.same(await shop.deliver(shop.double.paid(id, {}, how)), { status: 400, verdict }, name)
  t.equal(await shop.balance(), 0)
  t.equal(await shop.state(id), 'pending')
  t.same(await shop.store.pay.exceptions({ limit: 9 }), [], 'nobody has to look at what anybody can send')
})

t.test('not one character of a message may be another', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('10')
  shop.double.pay(id)
  const message = shop.double.paid(id)
  const other = (text: string, at: number) => text.slice(0, at) + (text[at] === 'B' ? 'C' : 'B') + text.slice(at + 1)
  const signed = ['timestamp', 'nonce', 'serial', 'signature'].map(name => `wechatpay-${name}`)
  let tried = 0
  for (const name of signed) {
    const value = message.headers[name] as string
    for (let at = 0; at < value.length; at++, tried++) {
      const headers = { ...message.headers, [name]: other(value, at) }
      await t.rejects(shop.method.verify(raw({ ...message, headers })), { name: 'NotVerified' }, `${name} ${at}`)
    }
  }
  for (let at = 0; at < message.body.length; at += 7, tried++)
    await t.rejects(shop.method.verify(raw({ ...message, body: other(message.body, at) })), { name: 'NotVerified' })
  t.ok(tried > 400)
  t.match(await shop.method.verify(raw(message)), { notices: [{ kind: 'paid', orderId: id }] }, 'as it was sent')
})

t.test('a verified payment that does not fit its order waits for a person', async t => {
  const rows: [change: Json, kind: PayExceptionKind][] = [
    [{ amount: { total: 999, payer_total: 999, currency: 'CNY' } }, 'amount'],
    [{ amount: { total: 1_001, payer_total: 1_001, currency: 'CNY' } }, 'amount'],
    [{ amount: { total: '1000', currency: 'CNY' } }, 'amount'],
    [{ amount: { total: 10.5, currency: 'CNY' } }, 'amount'],
    [{ amount: { payer_total: 1_000, currency: 'CNY' } }, 'amount'],
    [{ amount: { total: 1_000, currency: 'USD' } }, 'currency'],
    [{ amount: { total: 1_000 } }, 'currency'],
    [{ amount: null }, 'currency'],
    [{ mchid: '1900000001' }, 'merchant'],
    [{ appid: 'wx0000000000000000' }, 'merchant'],
    [{ out_trade_no: `T${'0'.repeat(26)}` }, 'unknown_order'],
  ]
  for (const [change, kind] of rows)
    await t.test(JSON.stringify(change), async t => {
      const shop = await openWechat(t)
      const { id } = await shop.begin('10')
      shop.double.pay(id)
      for (let i = 0; i < 2; i++) t.match(await shop.deliver(shop.double.paid(id, change)), { status: 204 })
      t.equal(await shop.balance(), 0)
      t.match(await shop.store.pay.exceptions({ limit: 9 }), [{ kind }])
    })
})

t.test('an event of another kind is taken and ignored', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('10')
  shop.double.pay(id)
  t.same(await shop.deliver(shop.double.message('COUPON.USE', shop.double.payment(id))), {
    status: 204,
    verdict: 'taken',
  })
  t.equal(await shop.balance(), 0)
})

t.test('a callback that never comes, and answers that are not believed', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('10')
  shop.double.pay(id)
  for (const fault of [...FORGERIES, 'html', '500', '429', 'reset'] as const) {
    shop.double.faults.push(fault)
    shop.clock.advance(MINUTE_MS)
    await shop.round()
    t.equal(await shop.state(id), 'pending', fault)
  }
  shop.clock.advance(MINUTE_MS)
  await shop.round()
  t.equal(await shop.state(id), 'credited')
  t.match(shop.counts.samples('payRepairs'), [{ labels: { source: 'query' }, value: 1 }])
})

t.test('an answer about another order pays nothing', async t => {
  const shop = await openWechat(t)
  const [mine, theirs] = [await shop.begin('10'), await shop.begin('10')]
  shop.double.pay(theirs.id)
  shop.double.trades.set(mine.id, shop.double.trades.get(theirs.id)!)
  const payment = shop.double.payment.bind(shop.double)
  shop.double.payment = () => payment(theirs.id)
  await t.rejects(shop.method.query(mine), { name: 'ProviderAway' })
})

t.test('an order that was made although nobody said so is the same one when it is asked for again', async t => {
  for (const fault of ['500 after', 'reset', '500', 'unsigned', 'probe'] as const) {
    const shop = await openWechat(t)
    shop.double.faults.push(fault)
    const order = await shop.begin('10')
    t.equal(order.state, 'created', fault)
    const again = await shop.orders.look(shop.account, order.id, '')
    t.match(again, { state: 'pending', shown: { qr: /^weixin/ } }, fault)
    t.equal(shop.double.trades.size, 1)
  }
})

t.test('an order that nobody pays is closed at its end, and not shown again after it', async t => {
  const shop = await openWechat(t)
  shop.double.faults.push('500 after')
  const order = await shop.begin('10')
  shop.clock.advance(29 * MINUTE_MS)
  t.match(await shop.orders.look(shop.account, order.id, ''), { state: 'created' }, 'a code would revive it')
  shop.clock.advance(2 * MINUTE_MS)
  await shop.round()
  t.equal(await shop.state(order.id), 'expired')
  t.equal(shop.double.trades.get(order.id)?.state, 'CLOSED')
  t.equal(shop.double.asked.filter(line => line.endsWith('/native')).length, 1)
})

t.test('the payer pays between the question and the closing', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('10')
  shop.clock.advance(31 * MINUTE_MS)
  shop.double.between = () => shop.double.pay(id)
  await shop.round()
  t.equal(await shop.state(id), 'credited')
  t.ok(shop.double.asked.includes(`POST /v3/pay/transactions/out-trade-no/${id}/close`))
  t.equal(shop.double.trades.get(id)?.state, 'SUCCESS')
})

t.test('a payment that is told after the end of its order is credited and flagged', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('10')
  shop.clock.advance(31 * MINUTE_MS)
  await shop.round()
  t.equal(await shop.state(id), 'expired')
  shop.double.trades.get(id)!.state = 'NOTPAY'
  shop.double.pay(id)
  await shop.deliver(shop.double.paid(id))
  t.match(await shop.store.pay.order(id), { state: 'credited', late: true })
})

t.test('what was sent back before it was known here is not credited by asking', async t => {
  const shop = await openWechat(t)
  const { id } = await shop.begin('10')
  shop.double.pay(id)
  shop.double.sendBack(id, 1_000)
  shop.clock.advance(MINUTE_MS)
  await shop.round()
  t.equal(await shop.state(id), 'expired')
  t.equal(await shop.balance(), 0)
})

const credited = async (shop: WechatShop) => {
  const { id } = await shop.begin('10')
  shop.double.pay(id)
  await shop.deliver(shop.double.paid(id))
  return id
}

t.test('a refund: asked for, told, and booked once', async t => {
  const ends = [
    ['SUCCESS', 'done', 600],
    ['CLOSED', 'released', 1_000],
    ['ABNORMAL', 'frozen', 600],
    ['PROCESSING', 'frozen', 600],
  ] as const
  for (const [status, state, balance] of ends)
    for (const told of [true, false]) {
      if (told && status === 'PROCESSING') continue
      const shop = await openWechat(t)
      const id = await credited(shop)
      const { id: refundId, state: begun } = await shop.refunds.begin(id, '4', 'asked for', false, ACT)
      t.equal(begun, 'frozen', 'that it was taken is not that it was done')
      t.equal(await shop.balance(), 600)
      const refund = shop.double.refunds.get(refundId)!
      refund.status = status
      if (told) for (let i = 0; i < 2; i++) t.match(await shop.deliver(shop.double.refunded(refund)), { status: 204 })
      else {
        shop.clock.advance(MINUTE_MS)
        await shop.round()
      }
      t.match(
        await shop.store.pay.refund('wechat', refundId),
        { state, providerId: refund.refundId },
        `${status} ${told}`,
      )
      t.equal(await shop.balance(), balance, `${status} ${told}`)
      if (state !== 'frozen') t.equal(shop.double.ledger, balance)
    }
})

t.test('a refund that the payer’s account does not take waits for a person, frozen', async t => {
  const shop = await openWechat(t)
  const { id: refundId } = await shop.refunds.begin(await credited(shop), '4', 'asked for', false, ACT)
  shop.double.refunds.get(refundId)!.status = 'ABNORMAL'
  for (const kinds of [[], [], ['refund_stuck'], ['refund_stuck']]) {
    t.same(await shop.exceptions(), kinds)
    shop.clock.advance(1.6 * 86_400_000)
    await shop.round()
  }
  t.equal(await shop.balance(), 600)
  shop.double.refunds.get(refundId)!.status = 'SUCCESS'
  await shop.deliver(shop.double.refunded(shop.double.refunds.get(refundId)!))
  t.match(await shop.store.pay.refund('wechat', refundId), { state: 'done' })
})

t.test('a refund whose answer is lost is asked for again under its number, and happens once', async t => {
  for (const fault of ['500 after', 'reset', '500', '429', 'unsigned', 'foreign key'] as const) {
    const shop = await openWechat(t)
    const id = await credited(shop)
    shop.double.faults.push(fault)
    const { id: refundId } = await shop.refunds.begin(id, '4', 'asked for', false, ACT)
    t.match(await shop.store.pay.refund('wechat', refundId), { state: 'frozen', providerId: null }, fault)
    shop.clock.advance(MINUTE_MS)
    await shop.round()
    shop.double.refunds.get(refundId)!.status = 'SUCCESS'
    shop.clock.advance(5 * MINUTE_MS)
    await shop.round()
    t.match(await shop.store.pay.refund('wechat', refundId), { state: 'done' }, fault)
    t.equal(shop.double.refunds.size, 1)
    t.equal(shop.double.ledger, await shop.balance())
  }
})

t.test('a refund that WeChat Pay refuses stays frozen', async t => {
  const shop = await openWechat(t)
  const id = await credited(shop)
  shop.double.sendBack(id, 700)
  const { id: refundId } = await shop.refunds.begin(id, '4', 'asked for', false, ACT)
  shop.clock.advance(5 * MINUTE_MS)
  await shop.round()
  t.match(await shop.store.pay.refund('wechat', refundId), { state: 'frozen', providerId: null })
})

t.test('a refund that was made on WeChat Pay’s own pages debits its order', async t => {
  const shop = await openWechat(t)
  const id = await credited(shop)
  const refund = shop.double.sendBack(id, 400)
  refund.status = 'SUCCESS'
  for (let i = 0; i < 3; i++) t.match(await shop.deliver(shop.double.refunded(refund)), { status: 204 })
  t.equal(await shop.balance(), 600)
  t.same(await shop.deliver(shop.double.paid(id, { trade_state: 'SUCCESS' })), { status: 204, verdict: 'taken' })
  t.equal(await shop.balance(), 600, 'a late repeat of the payment adds nothing')
  const other = await openWechat(t)
  const { id: unpaid } = await other.begin('10')
  other.double.pay(unpaid)
  const early = other.double.sendBack(unpaid, 400)
  early.status = 'SUCCESS'
  t.same(await other.deliver(other.double.refunded(early)), { status: 500, verdict: 'early' }, 'it must come again')
})

t.test('messages about refunds that contradict themselves', async t => {
  const shop = await openWechat(t)
  const id = await credited(shop)
  const refund = shop.double.sendBack(id, 400)
  refund.status = 'SUCCESS'
  for (const change of [{ refund_status: 'CLOSED' }, { mchid: '1900000001' }, { refund_id: '' }, { out_trade_no: '' }])
    t.same(
      await shop.deliver(shop.double.refunded(refund, change)),
      { status: 400, verdict: 'form' },
      JSON.stringify(change),
    )
  t.equal(await shop.balance(), 1_000)
})
