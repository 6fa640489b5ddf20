/** Asking Alipay: what its answers mean, answers that are not its own, and orders and refunds through every mishap. */
import t, { type Test } from 'tap'
import { AlipayDouble, type Fault, keyPair } from './doubles/alipay.ts'
import { ownOrders } from '../../lib/pay/own.ts'
import { openShop, type Shop } from './shop.ts'
import { ACT } from './support.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

async function open(t: Test, section: object = {}) {
  const alipay = await AlipayDouble.open(t)
  const shop = await openShop(t, { alipay: { ...alipay.section, ...section } })
  alipay.ledger.now = () => shop.clock.now()
  return { alipay, shop }
}

async function opened(t: Test, section: object = {}) {
  const { alipay, shop } = await open(t, section)
  const { id, shown } = await shop.begin()
  await fetch(shown?.redirect as string)
  return { alipay, shop, id }
}

async function credited(t: Test) {
  const { alipay, shop, id } = await opened(t)
  alipay.ledger.pay(id)
  await alipay.notify(id)
  t.equal(await shop.balance(), 10_000)
  return { alipay, shop, id }
}

t.test('no notice comes: the order is credited by asking, and the repair is counted', async t => {
  const { alipay, shop, id } = await opened(t)
  alipay.ledger.pay(id, 1_200)
  shop.clock.advance(16_000)
  await shop.round()
  t.match(await shop.order(id), { state: 'credited', late: false })
  t.equal(await shop.balance(), 10_000, 'a coupon is not ours to lose')
  t.match(await shop.store.pay.proofs(id), [{ source: 'query' }])
  t.match(shop.counts.samples('payRepairs'), [{ labels: { source: 'query' }, value: 1 }])
  t.same(await alipay.notify(id), ['200 success'], 'the notice comes after all')
  t.equal(await shop.balance(), 10_000)
})

t.test('answers that are not believed', async t => {
  for (const fault of ['unsigned', 'stranger', 'fault', 'drop', 'reset', 'busy'] satisfies Fault[]) {
    const { alipay, shop, id } = await opened(t)
    alipay.ledger.pay(id)
    alipay.faults.push(fault)
    shop.clock.advance(16_000)
    await shop.round()
    t.equal((await shop.order(id)).state, 'pending', fault)
    t.equal(await shop.balance(), 0, fault)
    shop.clock.advance(2 * MINUTE_MS)
    await shop.round()
    t.equal((await shop.order(id)).state, 'credited', `${fault}: asked again`)
  }
})

t.test('errors may have no signature, but no wrong one', async t => {
  for (const signsErrors of [true, false]) {
    const { alipay, shop } = await open(t)
    const { id } = await shop.begin()
    alipay.signsErrors = signsErrors
    t.same(await shop.method.query(await shop.order(id)), { kind: 'absent' })
    alipay.faults.push('stranger')
    await t.rejects(shop.method.query(await shop.order(id)), { name: 'ProviderAway' })
  }
})

t.test('our request is not ours: another key than the one that Alipay knows', async t => {
  const { alipay, shop } = await open(t, { private_key: keyPair().privateKey })
  const order = await shop.begin()
  t.equal(order.state, 'failed')
  t.same(alipay.forged, ['/v3/alipay/trade/precreate'])
  t.equal(alipay.ledger.codes.size, 0)
})

t.test('the answer to the making of an order is lost: it stays, and looking at it makes the same one', async t => {
  for (const fault of ['drop', 'reset', 'fault', 'busy'] satisfies Fault[]) {
    const { alipay, shop } = await open(t)
    alipay.faults.push(fault)
    const order = await shop.begin()
    t.equal(order.state, 'created', fault)
    const again = await shop.desk.orders.look(shop.account, order.id, '')
    t.match(again, { state: 'pending', shown: { qr: `https://qr.alipay.com/${order.id}` } })
    t.equal(alipay.ledger.codes.size, 1)
  }
})

t.test('an order at its end', async t => {
  const rows: [name: string, before: 'nothing' | 'page', paysAt: string | null, state: string][] = [
    ['nobody has opened it', 'nothing', null, 'expired'],
    ['its page was opened', 'page', null, 'expired'],
    ['it is paid between the question and the closing', 'page', '/v3/alipay/trade/query', 'credited'],
    ['it is paid when it is to be closed', 'page', '/v3/alipay/trade/close', 'credited'],
  ]
  for (const [name, before, paysAt, state] of rows) {
    const { alipay, shop } = await open(t)
    const { id, shown } = await shop.begin()
    if (before === 'page') await fetch(shown?.redirect as string)
    // Alipay's clock is behind ours, so that the trade can still be paid when we close it.
    alipay.ledger.now = () => shop.clock.now() - 2 * MINUTE_MS
    shop.clock.advance(31 * MINUTE_MS)
    const push = alipay.asked.push.bind(alipay.asked)
    alipay.asked.push = path => {
      if (path === '/v3/alipay/trade/close' && paysAt !== null) alipay.ledger.pay(id)
      return push(path)
    }
    await shop.round()
    t.equal((await shop.order(id)).state, state, name)
    t.equal(await shop.balance(), state === 'credited' ? 10_000 : 0, name)
    t.equal(alipay.ledger.balance, state === 'credited' ? 10_000 : 0, name)
  }
})

t.test('closing an order that is paid tells of the payment', async t => {
  const { alipay, shop, id } = await opened(t)
  alipay.ledger.pay(id)
  t.match(await shop.method.close(await shop.order(id)), { kind: 'paid', orderId: id, amount: 10_000 })
  t.equal(alipay.ledger.trade(id).status, 'TRADE_SUCCESS')
})

t.test('Alipay has closed the trade: the order ends before its time', async t => {
  const { alipay, shop, id } = await opened(t)
  alipay.ledger.trade(id).status = 'TRADE_CLOSED'
  t.same(await shop.method.query(await shop.order(id)), { kind: 'ended' })
  shop.clock.advance(16_000)
  await shop.round()
  t.equal((await shop.order(id)).state, 'expired')
})

t.test('a code is scanned after the order has ended: the money is taken', async t => {
  const { alipay, shop } = await open(t)
  const { id } = await shop.begin()
  shop.clock.advance(31 * MINUTE_MS)
  await shop.round()
  t.equal((await shop.order(id)).state, 'expired')
  Object.assign(alipay.ledger.scan(id), { expiresAtMs: Number.POSITIVE_INFINITY })
  alipay.ledger.pay(id)
  shop.clock.advance(2 * HOUR_MS + 10 * MINUTE_MS)
  await shop.round()
  t.match(await shop.order(id), { state: 'credited', late: true })
})

t.test('a refund that was made at Alipay debits once, and never credits', async t => {
  const { alipay, shop, id } = await credited(t)
  const first = alipay.ledger.refundThere(id, 3_000)
  t.same(await alipay.notify(id, first, 5), Array(5).fill('200 success'))
  t.equal(await shop.balance(), 7_000)
  const second = alipay.ledger.refundThere(id, 2_000)
  await alipay.notify(id, second)
  await alipay.notify(id, first)
  t.equal(await shop.balance(), 5_000, 'the notice names the sum of both')
  await alipay.notify(id, alipay.ledger.refundThere(id, 5_000))
  t.equal(await shop.balance(), 0)
  t.equal((await shop.order(id)).state, 'refunded')
  t.same(await shop.exceptions(), [])
  t.equal((await shop.store.audit()).ok, true)
})

t.test('the notice of a refund comes before that of the payment', async t => {
  const { alipay, shop, id } = await opened(t)
  alipay.ledger.pay(id)
  const payment = alipay.signed(alipay.notice(id))
  const refund = alipay.signed(alipay.notice(id, alipay.ledger.refundThere(id, 4_000)))
  t.same(await alipay.send(id, refund), ['500 fail'], 'it has to come again')
  t.equal(await shop.balance(), 0)
  await alipay.send(id, payment)
  t.same(await alipay.send(id, refund), ['200 success'])
  t.equal(await shop.balance(), 6_000)
  t.same(shop.verdicts(), { early: 1, taken: 2 })
})

t.test('notices of refunds that say less than they should', async t => {
  const rows: [name: string, change: object, fault: Fault | null, answer: string, fen: number][] = [
    ['Alipay does not answer what it was', {}, 'drop', '500 fail', 10_000],
    ['its answer is not signed', {}, 'unsigned', '500 fail', 10_000],
    ['a refund that Alipay does not know', { out_biz_no: 'x' }, null, '500 fail', 10_000],
    ['no number', { out_biz_no: '' }, null, '500 fail', 10_000],
    ['of another application', { app_id: '2021000000000002' }, null, '200 success', 10_000],
    ['a trade becomes final', { out_biz_no: '', trade_status: 'TRADE_FINISHED' }, null, '200 success', 10_000],
    ['as it should be', {}, null, '200 success', 6_000],
  ]
  for (const [name, change, fault, answer, fen] of rows) {
    const { alipay, shop, id } = await credited(t)
    const number = alipay.ledger.refundThere(id, 4_000)
    if (fault !== null) alipay.faults.push(fault)
    t.same(await alipay.send(id, alipay.signed({ ...alipay.notice(id, number), ...change })), [answer], name)
    t.equal(await shop.balance(), fen, name)
  }
})

t.test('a full refund that was asked for without a number has the number of the order', async t => {
  const { alipay, shop, id } = await credited(t)
  alipay.ledger.refund(id, id, 10_000)
  t.same(await alipay.send(id, alipay.signed({ ...alipay.notice(id, id), out_biz_no: '' })), ['200 success'])
  t.equal((await shop.order(id)).state, 'refunded')
  t.equal(await shop.balance(), 0)
})

t.test('our refunds: the money is frozen first, and moves once', async t => {
  for (const fault of ['none', 'drop', 'reset', 'fault', 'unsigned', 'stranger', 'busy'] satisfies Fault[]) {
    const { alipay, shop, id } = await credited(t)
    alipay.faults.push(fault)
    const refund = await shop.desk.refunds.begin(id, '40', 'asked for', false, ACT)
    t.equal(refund.state, fault === 'none' ? 'done' : 'frozen', fault)
    t.equal(await shop.balance(), 6_000, fault)
    for (let i = 0; i < 3; i++) {
      shop.clock.advance(MINUTE_MS)
      await shop.round()
    }
    t.equal((await shop.store.pay.refund('alipay', refund.id))?.state, 'done', fault)
    t.equal(await shop.balance(), 6_000, fault)
    t.equal(alipay.ledger.back(id), 4_000, fault)
    t.same(await alipay.notify(id, refund.id), ['200 success'])
    t.equal(await shop.balance(), 6_000, `${fault}: its own notice is not a second refund`)
    t.equal((await shop.store.audit()).ok, true)
  }
})

t.test('a refund that Alipay refuses is released when it is certain that there is none', async t => {
  const { alipay, shop, id } = await credited(t)
  alipay.broke = true
  const { id: number } = await shop.desk.refunds.begin(id, '40', 'asked for', false, ACT)
  const at = async () => (await shop.store.pay.refund('alipay', number))?.state
  for (let minutes = 0; minutes < 29; minutes++) {
    shop.clock.advance(MINUTE_MS)
    await shop.round()
  }
  t.equal(await at(), 'frozen', 'the last request may still be under way')
  t.equal(await shop.balance(), 6_000)
  for (let minutes = 29; minutes < 70; minutes++) {
    shop.clock.advance(MINUTE_MS)
    await shop.round()
  }
  t.equal(await at(), 'released')
  t.equal(await shop.balance(), 10_000)
  t.equal(alipay.ledger.back(id), 0)
})

t.test('a refund that Alipay takes late ends as done', async t => {
  const { alipay, shop, id } = await credited(t)
  alipay.broke = true
  const { id: number } = await shop.desk.refunds.begin(id, '40', 'asked for', false, ACT)
  shop.clock.advance(MINUTE_MS)
  await shop.round()
  alipay.broke = false
  shop.clock.advance(5 * MINUTE_MS)
  await shop.round()
  t.equal((await shop.store.pay.refund('alipay', number))?.state, 'done')
  t.equal(await shop.balance(), 6_000)
  t.equal(alipay.ledger.back(id), 4_000)
})

t.test('that no money moved now is not yet a refund', async t => {
  const { alipay, shop, id } = await credited(t)
  alipay.slow = true
  const { id: number, state } = await shop.desk.refunds.begin(id, '40', 'asked for', false, ACT)
  t.equal(state, 'frozen')
  shop.clock.advance(MINUTE_MS)
  await shop.round()
  t.equal((await shop.store.pay.refund('alipay', number))?.state, 'frozen')
  alipay.slow = false
  shop.clock.advance(2 * MINUTE_MS)
  await shop.round()
  t.equal((await shop.store.pay.refund('alipay', number))?.state, 'done')
  t.equal(alipay.ledger.back(id), 4_000)
})

t.test('answers about something else', async t => {
  const { alipay, shop, id } = await credited(t)
  const order = await shop.order(id)
  const other = await shop.begin('7')
  await fetch(other.shown?.redirect as string)
  alipay.ledger.pay(other.id)
  // A proxy that answers from memory: the signature is good, and the order another one.
  const answers = alipay.ledger.trades
  const swapped = answers.get(other.id)!
  answers.set(id, swapped)
  await t.rejects(shop.method.query(order), { name: 'ProviderAway', message: /another order/ })
  swapped.refunds.set('R1', 100)
  const refund = { id: 'R1', orderId: id, atMs: 0 } as Parameters<typeof shop.method.queryRefund>[0]
  await t.rejects(shop.method.queryRefund(refund, order, 0), { name: 'ProviderAway', message: /another refund/ })
  await t.rejects(shop.method.refund({ ...refund, id: 'R2' }, order, 100), { name: 'ProviderAway' })
})

const stuck = async ({ store }: Shop) =>
  (await store.pay.exceptions({ kind: 'refund_stuck', limit: 9 })).map(({ reference, detail, resolution }) => ({
    reference,
    detail,
    resolution,
  }))

t.test('the end of a refund that was stuck is told: what is open says what is true', async t => {
  const rounds = async (shop: Shop, minutes: number) => {
    for (let i = 0; i < minutes; i++) {
      shop.clock.advance(MINUTE_MS)
      await shop.round()
    }
  }
  await t.test('the merchant has money again', async t => {
    const { alipay, shop, id } = await credited(t)
    alipay.broke = true
    await shop.desk.refunds.begin(id, '40', 'asked for', false, ACT)
    t.same(await shop.exceptions(), ['refund_stuck'])
    alipay.broke = false
    await rounds(shop, 5)
    t.equal((await shop.order(id)).refunded, 40_000_000)
    t.match(await stuck(shop), [{ resolution: 'closed: the refund is done' }])
    t.same(await shop.exceptions(), [])
  })
  await t.test('it never has', async t => {
    const { alipay, shop, id } = await credited(t)
    alipay.broke = true
    const { id: number } = await shop.desk.refunds.begin(id, '40', 'asked for', false, ACT)
    await rounds(shop, 70)
    t.equal(await shop.balance(), 10_000)
    t.match(await stuck(shop), [
      { reference: `released:${number}`, detail: /in the balance again: do not send it back/, resolution: null },
      { reference: number, detail: /stays frozen/, resolution: /^closed: the refund is released/ },
    ])
    await rounds(shop, 5)
    t.same(await shop.exceptions(), ['refund_stuck'], 'once')
  })
  await t.test('the process dies before it is told', async t => {
    const { alipay, shop, id } = await credited(t)
    alipay.broke = true
    const { id: number } = await shop.desk.refunds.begin(id, '40', 'asked for', false, ACT)
    await shop.store.pay.endFreeze('alipay', number, 'done', ACT)
    t.same(await shop.exceptions(), ['refund_stuck'])
    await shop.round()
    t.same(await shop.exceptions(), [])
  })
  await t.test('nobody was told of it', async t => {
    const { shop, id } = await credited(t)
    await shop.desk.refunds.begin(id, '40', 'asked for', false, ACT)
    await rounds(shop, 5)
    t.same(await stuck(shop), [])
  })
})

t.test('the address of a page is signed when it is shown', async t => {
  const { alipay, shop } = await open(t)
  const first = await shop.begin()
  t.notMatch((await shop.order(first.id)).shown, { redirect: /./ }, 'none is kept')
  const look = () => shop.desk.orders.look(shop.account, first.id, 'https://here.example/topup')
  const page = async (order: { shown: { redirect?: string } | null } | null) =>
    (await fetch(order?.shown?.redirect as string)).text()
  t.match(await page(first), /Pay 100.00/)
  t.equal((await look())?.shown?.redirect, first.shown?.redirect, 'who looks again and again gets the same one')
  shop.clock.advance(25 * MINUTE_MS)
  t.match(await page(first), /isv.invalid-timestamp/, 'Alipay does not take the one of the beginning any more')
  const later = await look()
  t.match(await page(later), /Pay 100.00/, 'it takes the one that is shown now')
  const list = await ownOrders(
    { store: shop.store, service: shop.desk, returnTo: 'https://here.example/topup' },
    shop.account,
    { sort: '-created' },
  )
  t.equal(list.data[0]?.redirect, later?.shown?.redirect, 'in a list too')
  alipay.ledger.pay(first.id)
  shop.clock.advance(6_000)
  t.match(await look(), { state: 'credited', shown: {} })
  t.equal((await look())?.shown?.redirect, undefined, 'what is paid is not offered again')

  const other = await shop.begin()
  shop.clock.advance(30 * MINUTE_MS + 1)

  const over = await shop.order(other.id)
  t.equal(shop.desk.orders.shown(over, '').shown?.redirect, undefined, 'nor is one whose time is over')
})
