/** Orders from their beginning to their end, with a provider that is away, slow, or paid at the worst moment. */
import t from 'tap'
import { OperationError } from '../../lib/operations/error.ts'
import { fund } from '../support/store.ts'
import type { Act } from '../../lib/base/people.ts'
import { ACT, type Desk, faultOf, openDesk, TestProvider } from './support.ts'

const MINUTE_MS = 60_000

t.test('amounts, methods and accounts that are refused', async t => {
  const desk = await openDesk(t)
  const amounts = ['4.99', '5.001', '-5', '0', '', 'x', '50000.01', '1e3', null, Number.NaN, {}]
  for (const amount of amounts) t.equal(await faultOf(desk.begin(amount)), 'invalid', String(amount))
  t.equal(await faultOf(desk.begin('5', 'card')), 'invalid', 'a method that is not configured')
  desk.provider.sandbox = true
  t.equal(await faultOf(desk.begin('5')), 'forbidden', 'a test environment credits no real account')
  t.same(await desk.store.pay.orders({ limit: 9 }), [])
  desk.provider.sandbox = false
  t.match(await desk.begin('5'), { state: 'pending', amount: 5_000_000, asked: 500, shown: { qr: /T/ } })
})

t.test('a test account pays in test environments only', async t => {
  const provider = new TestProvider()
  const first = await openDesk(t, { providers: [provider] })
  const account = await first.store.accounts.create({ name: 'sandbox', groups: [], sandbox: true }, ACT)
  const desk = await openDesk(t, { providers: [provider], store: first.store, account })
  t.equal(await faultOf(desk.begin('5')), 'forbidden')
  provider.sandbox = true
  t.match(await desk.begin('5'), { state: 'pending', sandbox: true })
})

t.test('at most five orders are open, and a bound per hour says so', async t => {
  const desk = await openDesk(t)
  for (let i = 0; i < 5; i++) await desk.begin('5')
  desk.provider.away = true
  t.equal(await faultOf(desk.begin('5')), 'throttled', 'none of them can be ended')
  t.equal((await desk.store.pay.orders({ states: ['pending'], limit: 9 })).length, 5)
  const card = new TestProvider('card')
  card.anHour = 2
  const other = await openDesk(t, { providers: [card] })
  for (let i = 0; i < 2; i++) await other.store.pay.endOrder((await other.begin('5')).id, 'expired', null)
  t.equal(await faultOf(other.begin('5')), 'throttled')
})

t.test('a provider that is away: the order stays, and looking at it makes it payable', async t => {
  const desk = await openDesk(t)
  desk.provider.away = true
  const order = await desk.begin('5')
  t.equal(order.state, 'created')
  desk.provider.away = false
  const again = await desk.orders.look(desk.account, order.id, '')
  t.match(again, { state: 'pending', shown: { qr: /T/ } })
  t.equal(desk.provider.trades.size, 1)
})

t.test('an order is seen by its account only, and the provider is not asked at every look', async t => {
  const desk = await openDesk(t)
  const { account: other } = await fund(desk.store, 'other', 0)
  const { id } = await desk.begin('5')
  t.equal(await desk.orders.look(other, id, ''), null)
  for (let i = 0; i < 5; i++) await desk.orders.look(desk.account, id, '')
  t.equal(desk.provider.asked, 1)
  desk.provider.pay(id)
  desk.clock.advance(5_000)
  t.match(await desk.orders.look(desk.account, id, ''), { state: 'credited' })
  t.same(desk.counted, ['repaired alipay query', 'credited alipay'])
})

t.test('a callback that never comes: asked by the schedule, credited, counted as a repair', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('5')
  desk.provider.pay(id)
  await desk.round()
  t.equal(await desk.state(id), 'pending', 'not due yet')
  desk.clock.advance(16_000)
  await desk.round()
  t.equal(await desk.state(id), 'credited')
  t.same(desk.counted, ['repaired alipay query', 'credited alipay'])
})

t.test('an order at its end is closed, and asked about twice more', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('5')
  desk.clock.advance(31 * MINUTE_MS)
  await desk.round()
  t.equal(await desk.state(id), 'expired')
  const trade = desk.provider.trades.get(id)
  t.equal(trade?.state, 'ended')
  trade!.state = 'paid' // the provider took the money all the same
  desk.clock.advance(2 * 60 * MINUTE_MS + 11 * MINUTE_MS)
  await desk.round()
  t.match(await desk.store.pay.order(id), { state: 'credited', late: true })
  t.equal(await desk.balance(), 500)
})

t.test('the payer pays between the question and the closing', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('5')
  desk.provider.between = () => desk.provider.pay(id)
  desk.clock.advance(31 * MINUTE_MS)
  await desk.round()
  t.equal(await desk.state(id), 'credited')
  t.equal((await desk.store.pay.order(id))?.late, false)
})

t.test('a provider that is away at the end of an order: it stays open and is asked again', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('5')
  desk.provider.away = true
  desk.clock.advance(31 * MINUTE_MS)
  await desk.round()
  t.equal(await desk.state(id), 'pending')
  desk.provider.away = false
  desk.provider.pay(id)
  desk.clock.advance(MINUTE_MS)
  await desk.round()
  t.equal(await desk.state(id), 'credited')
})

t.test('a crash between the proof and the credit heals by itself', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('5')
  const { orderId, transactionId, amount, currency, digest, paidAtMs } = desk.provider.payment(id)
  const proof = { method: 'alipay', source: 'callback', actor: '', note: '' } as const
  await desk.store.pay.proveOrder({ ...proof, orderId, transactionId, amount, currency, digest, paidAtMs })
  t.equal(await desk.state(id), 'paid')
  desk.clock.advance(10_000)
  await desk.round()
  t.equal(await desk.state(id), 'credited')
  t.equal(await desk.balance(), 500)
})

t.test('another currency is asked for at the rate in force, and not without one', async t => {
  const desk = await openDesk(t, { providers: [new TestProvider('card', 'USD')] })
  t.equal(await faultOf(desk.begin('5')), 'conflict')
  const now = desk.clock.now()
  await desk.store.pay.setPayRate({ currency: 'USD', rate: 7_000_000, fromMs: now, untilMs: now + MINUTE_MS }, ACT)
  const order = await desk.begin('5')
  t.match(order, { asked: 72, currency: 'USD', rate: 7_000_000 })
  await desk.notices.take('card', desk.provider.payment(order.id), 'callback')
  t.equal(await desk.balance(), 500, 'what was ordered, not what the rounded amount is worth')
})

t.test('refunds', async t => {
  const paid = async (desk: Awaited<ReturnType<typeof openDesk>>) => {
    const { id } = await desk.begin('100')
    await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
    return id
  }
  const rows: [said: 'done' | 'undecided' | 'released', fen: number, state: string][] = [
    ['done', 6_000, 'credited'],
    ['undecided', 6_000, 'credited'],
    ['released', 10_000, 'credited'],
  ]
  for (const [said, fen, state] of rows) {
    const desk = await openDesk(t)
    const id = await paid(desk)
    desk.provider.refundSaid = said
    await desk.refunds.begin(id, '40', 'asked for', false, ACT)
    t.equal(await desk.balance(), fen, said)
    t.equal(await desk.state(id), state)
  }
  const desk = await openDesk(t)
  const id = await paid(desk)
  const wrong: [amount: unknown, reason: string, fault: string][] = [
    ['100.01', 'x', 'conflict'],
    ['0', 'x', 'invalid'],
    ['-1', 'x', 'invalid'],
    ['1.005', 'x', 'invalid'],
    ['1', ' ', 'invalid'],
  ]
  for (const [amount, reason, fault] of wrong)
    t.equal(await faultOf(desk.refunds.begin(id, amount, reason, false, ACT)), fault, `${amount}`)
  await t.rejects(desk.refunds.begin('T', '1', 'x', false, ACT), OperationError)

  desk.provider.away = true
  const frozen = await desk.refunds.begin(id, '40', 'asked for', false, ACT)
  t.equal(frozen.state, 'frozen', 'nobody knows, so the money stays out of the balance')
  t.equal(await desk.balance(), 6_000)
  desk.provider.away = false
  desk.clock.advance(60_000)
  await desk.round()
  t.match(await desk.store.pay.refund('alipay', frozen.id), { state: 'done' }, 'sent again under the same number')
  t.equal(desk.provider.sentBack.size, 1)
  await desk.notices.take(
    'alipay',
    { kind: 'refund', refundId: frozen.id, providerId: `pr-${frozen.id}`, orderId: id, amount: 4_000, state: 'done' },
    'callback',
  )
  t.equal(await desk.balance(), 6_000, 'our own refund comes back as a message and is booked once')
  await desk.refunds.begin(id, '60', 'the rest', false, ACT)
  t.equal(await desk.state(id), 'refunded')
  t.equal(
    [...desk.provider.sentBack.values()].reduce((sum, r) => sum + r.amount, 0),
    10_000,
  )
})

const CANCEL: Act = { ...ACT, operation: 'orders.cancel' }
const cancel = (desk: Desk, id: string) => desk.orders.cancel(desk.account, id, '', CANCEL)
const openOf = async ({ store, account }: Desk) =>
  (await store.pay.orders({ accountId: account.id, states: ['created', 'pending'], limit: 99 })).map(({ id }) => id)

t.test('the sixth order takes the place of the oldest, which its provider has ended', async t => {
  const desk = await openDesk(t)
  const ids: string[] = []
  for (let i = 0; i < 6; i++) {
    ids.push((await desk.begin('5')).id)
    desk.clock.advance(10)
  }
  const closed = ids.filter(id => desk.provider.trades.get(id)?.state === 'ended')
  t.equal(closed.length, 1)
  t.same((await openOf(desk)).sort(), ids.filter(id => id !== closed[0]).sort())
  const lines = await desk.store.actions.page({ accountId: desk.account.id, limit: 20 })
  t.same(
    lines.filter(({ operation }) => operation === 'orders.cancel').map(({ subject, after }) => [subject?.id, after]),
    [[closed[0], { state: 'expired' }]],
  )
})

t.test('the oldest was paid, and nobody has said so: it is credited, once, and makes room', async t => {
  const desk = await openDesk(t)
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push((await desk.begin('5')).id)
  for (const id of ids) desk.provider.pay(id)
  await desk.begin('7')
  t.equal(await desk.balance(), 500)
  t.equal((await openOf(desk)).length, 5)
  for (const id of ids) await desk.intake.take('alipay', desk.provider.payment(id), 'callback')
  t.equal(await desk.balance(), 5 * 500, 'the callbacks that come later credit what is not credited yet')
})

t.test(
  'forty orders at once, while some are being paid: no more than five are open, every payment counts once',
  async t => {
    const desk = await openDesk(t)
    const first: string[] = []
    for (let i = 0; i < 5; i++) first.push((await desk.begin('5')).id)
    const paying = first.map(async id => {
      desk.provider.pay(id)
      // those that were ended before cannot be paid
      if (desk.provider.trades.get(id)?.state === 'paid')
        await desk.intake.take('alipay', desk.provider.payment(id), 'callback')
    })
    const begun = await Promise.all([...Array.from({ length: 40 }, () => faultOf(desk.begin('5'))), ...paying])
    t.ok(begun.includes('nothing'))
    t.ok((await openOf(desk)).length <= 5)
    const paid = [...desk.provider.trades.values()].filter(({ state }) => state === 'paid').length
    t.equal(await desk.balance(), paid * 500)
  },
)

t.test('an account begins so many orders in an hour, however often it cancels', async t => {
  const desk = await openDesk(t)
  let made = 0
  while ((await faultOf(desk.begin('5'))) === 'nothing' && made < 99) made++
  t.equal(made, 30)
})

t.test('cancelled: ended at the provider first, and nothing of it can be paid any more', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('5')
  t.match(await cancel(desk, id), { state: 'expired' })
  t.equal(desk.provider.trades.get(id)?.state, 'ended')
  const asked = desk.provider.asked
  t.match(await cancel(desk, id), { state: 'expired' }, 'once more changes nothing')
  t.equal(desk.provider.asked, asked)
  t.equal((await openOf(desk)).length, 0)
})

t.test('cancelled at the moment in which it is paid: credited, never lost (race)', async t => {
  const desk = await openDesk(t)
  const rows: [when: string, set: (id: string) => void][] = [
    ['before the closing', id => desk.provider.pay(id)],
    ['while it is closed', id => void (desk.provider.trades.get(id)!.transactionId += 'x')],
  ]
  for (const [when, set] of rows) {
    const { id } = await desk.begin('5')
    set(id)
    if (when === 'while it is closed') {
      const close = desk.provider.close.bind(desk.provider)
      desk.provider.close = async order => {
        desk.provider.pay(order.id) // the provider takes the money, and its answer to the closing gets lost on the way
        return { kind: 'absent' }
      }
      t.match(await cancel(desk, id), { state: 'credited' }, when)
      desk.provider.close = close
    } else t.match(await cancel(desk, id), { state: 'credited' }, when)
    desk.clock.advance(1_000)
  }
  t.equal(await desk.balance(), 1_000)
  const { id } = await desk.begin('5')
  desk.provider.pay(id)
  await Promise.all([
    cancel(desk, id).catch(() => {}),
    ...Array.from({ length: 20 }, () => desk.intake.take('alipay', desk.provider.payment(id), 'callback')),
  ])
  t.equal(await desk.state(id), 'credited')
  t.equal(await desk.balance(), 1_500, 'once')
})

t.test('a provider that will not close a young order: it is asked to again, and late money counts', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('5')
  const close = desk.provider.close.bind(desk.provider)
  desk.provider.close = async () => ({ kind: 'open' })
  t.match(await cancel(desk, id), { state: 'expired' })
  t.equal(desk.provider.trades.get(id)?.state, 'open')
  desk.provider.close = close
  desk.clock.advance(16_000)
  await desk.round()
  t.equal(desk.provider.trades.get(id)?.state, 'ended')
  const { id: other } = await desk.begin('5')
  desk.provider.close = async () => ({ kind: 'open' })
  await cancel(desk, other)
  desk.provider.pay(other)
  await desk.intake.take('alipay', desk.provider.payment(other), 'callback')
  t.match(await desk.store.pay.order(other), { state: 'credited', late: true })
})

t.test('cancelling: a provider that is away, the order of somebody else, one that does not exist', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('5')
  const { account: other } = await fund(desk.store, 'other', 0)
  t.equal(await desk.orders.cancel(other, id, '', CANCEL), null)
  t.equal(await cancel(desk, 'T00000000000000000000000000'), null)
  t.equal(await desk.state(id), 'pending')
  desk.provider.away = true
  t.equal(await faultOf(cancel(desk, id)), 'conflict')
  t.equal(await desk.state(id), 'pending')
  desk.provider.away = false
  t.equal(await faultOf(cancel(desk, id)), 'conflict', 'nobody asks a provider without end')
  desk.clock.advance(6_000)
  t.match(await cancel(desk, id), { state: 'expired' })
})

t.test('a cancelled order counts for the day until its own end: its code may still be paid', async t => {
  const desk = await openDesk(t)
  for (let i = 0; i < 2; i++) {
    await cancel(desk, (await desk.begin('50000')).id)
    desk.clock.advance(1_000)
  }
  t.equal(await faultOf(desk.begin('5')), 'throttled')
})

t.test('an order that another bound refuses ends none of those that are open', async t => {
  const card = new TestProvider('card')
  card.anHour = 5
  const desk = await openDesk(t, { providers: [card] })
  for (let i = 0; i < 5; i++) await desk.begin('5')
  t.equal(await faultOf(desk.begin('5')), 'throttled')
  t.equal((await openOf(desk)).length, 5)
  t.ok([...card.trades.values()].every(({ state }) => state === 'open'))
})
