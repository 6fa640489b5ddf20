/** Bills of providers against proofs and credits: what is made good, what waits for a person, and which days are read. */
import t from 'tap'
import { dueDays } from '../../lib/pay/bills.ts'
import type { BillLine, RefundNotice } from '../../lib/pay/method.ts'
import { ACT, type Desk, openDesk, passDay, TestProvider } from './support.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

t.test('the days whose bills are due', t => {
  const rows: [last: string, now: string, days: string[]][] = [
    ['2030-03-08', '2030-03-10T10:29:59+08:00', []],
    ['2030-03-08', '2030-03-10T10:30:00+08:00', ['2030-03-09']],
    ['2030-03-09', '2030-03-10T23:59:59+08:00', []],
    ['2030-02-26', '2030-03-02T11:00:00+08:00', ['2030-02-27', '2030-02-28', '2030-03-01']],
    ['2031-01-01', '2030-03-02T11:00:00+08:00', []],
  ]
  for (const [last, now, days] of rows) t.same(dueDays(last, Date.parse(now)), days, `${last} ${now}`)
  const many = dueDays('2029-01-01', Date.parse('2030-03-10T11:00:00+08:00'))
  t.same([many.length, many[0], many.at(-1)], [60, '2030-01-09', '2030-03-09'], 'providers keep bills for a time only')
  t.end()
})

/** A desk whose clock is past the time at which the bill of today is read. */
async function tomorrow(t: Parameters<typeof openDesk>[0], work: (desk: Desk) => Promise<void> = async () => {}) {
  const desk = await openDesk(t)
  await work(desk)
  passDay(desk.clock)
  return desk
}

const credited = async (desk: Desk): Promise<string> => {
  const { id } = await desk.begin('100')
  desk.provider.pay(id)
  await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
  return id
}
const exceptions = async (desk: Desk) => (await desk.store.pay.exceptions({ limit: 9 })).map(e => e.kind)

t.test('a bill that agrees changes nothing, and is read once', async t => {
  const desk = await tomorrow(t, async desk => void (await credited(desk)))
  for (let i = 0; i < 3; i++) {
    await desk.bills()
    desk.clock.advance(HOUR_MS)
  }
  t.equal(desk.provider.billed.length, 1)
  t.same(await exceptions(desk), [])
  t.equal(await desk.balance(), 10_000)
  t.match(await desk.store.pay.payMarks(), [
    { what: 'bill', value: desk.provider.billed[0] },
    { what: 'bill_since' },
    { what: 'bill_taken' },
  ])
})

t.test('a payment that nobody told is asked about, credited, and counted as a repair', async t => {
  const desk = await tomorrow(t, async desk => desk.provider.pay((await desk.begin('100')).id))
  await desk.bills()
  t.equal(await desk.balance(), 10_000)
  t.same(await exceptions(desk), [])
  t.same(desk.counted, ['repaired alipay bill', 'credited alipay'])
})

t.test('a payment that the provider does not confirm is not credited', async t => {
  const desk = await tomorrow(t)
  const { id } = await desk.begin('100')
  desk.provider.lines = [desk.provider.payment(id)]
  await desk.bills()
  t.equal(await desk.balance(), 0)
  t.same(await exceptions(desk), ['bill_missing'])
})

t.test('what differs waits for a person, once', async t => {
  const rows: [name: string, lines: (desk: Desk, id: string) => BillLine[], kinds: string[]][] = [
    ['no line', () => [], ['bill_missing']],
    ['less', (desk, id) => [desk.provider.payment(id, { amount: 9_999 })], ['bill_amount']],
    ['more', (desk, id) => [desk.provider.payment(id, { amount: 10_001 })], ['bill_amount']],
    ['other money', (desk, id) => [desk.provider.payment(id, { currency: 'USD' })], ['bill_amount']],
    ['another number, same day', (desk, id) => [desk.provider.payment(id, { transactionId: 'of the bill' })], []],
    [
      'paid twice',
      (desk, id) => [desk.provider.payment(id), desk.provider.payment(id, { transactionId: 'again' })],
      ['duplicate'],
    ],
    [
      'an order that is not here',
      (desk, id) => [desk.provider.payment(id), desk.provider.payment(id, { orderId: 'T9', transactionId: 'x' })],
      ['unknown_order'],
    ],
  ]
  for (const [name, lines, kinds] of rows)
    await t.test(name, async t => {
      let id = ''
      const desk = await tomorrow(t, async desk => void (id = await credited(desk)))
      desk.provider.lines = lines(desk, id)
      await desk.bills()
      t.same(await exceptions(desk), kinds)
      const [day] = desk.provider.billed as [string]
      const before = new Date(Date.parse(day) - DAY_MS).toISOString().slice(0, 10)
      await desk.store.pay.setPayMark('alipay', 'bill', before)
      desk.clock.advance(HOUR_MS)
      await desk.bills()
      t.same(await exceptions(desk), kinds, 'the same bill again says nothing new')
      t.equal(await desk.balance(), 10_000)
    })
})

t.test('refunds in the bill', async t => {
  const line = (orderId: string, change: Partial<RefundNotice> = {}): RefundNotice => ({
    kind: 'refund',
    refundId: null,
    providerId: 'theirs',
    orderId,
    amount: 4_000,
    state: 'done',
    ...change,
  })
  const rows: [
    name: string,
    said: 'undecided' | 'done' | 'released' | null,
    change: Partial<RefundNotice>,
    fen: number,
    kinds: string[],
  ][] = [
    ['made at the provider', null, {}, 6_000, []],
    ['made at the provider, undecided', null, { state: 'undecided' }, 10_000, ['refund_unknown']],
    ['ours, known as done', 'done', {}, 6_000, []],
    ['ours, undecided until now', 'undecided', {}, 6_000, []],
    ['ours, of another amount', 'done', { amount: 4_100 }, 6_000, ['refund_amount']],
    ['ours, given back to the balance', 'released', {}, 10_000, ['refund_unknown']],
  ]
  for (const [name, said, change, fen, kinds] of rows)
    await t.test(name, async t => {
      let [id, refundId] = ['', null as string | null]
      const desk = await tomorrow(t, async desk => {
        id = await credited(desk)
        if (said === null) return
        desk.provider.refundSaid = said
        refundId = (await desk.refunds.begin(id, '40', 'asked for', false, ACT)).id
      })
      const providerId = refundId === null ? 'theirs' : `pr-${refundId}`
      desk.provider.lines = [line(id, { refundId, providerId, ...change }), desk.provider.payment(id)]
      await desk.bills()
      t.equal(await desk.balance(), fen)
      t.same(await exceptions(desk), kinds)
    })
  const desk = await tomorrow(t, async desk => desk.provider.pay((await desk.begin('100')).id))
  const [id] = [...desk.provider.trades.keys()] as [string]
  desk.provider.lines = [line(id), desk.provider.payment(id)]
  await desk.bills()
  t.equal(await desk.balance(), 6_000, 'a payment and its refund that nobody told: both are made good')
})

t.test('a bill that cannot be had is asked for again later, and missed days are made up for', async t => {
  const desk = await tomorrow(t)
  desk.provider.away = true
  await desk.bills()
  desk.provider.away = false
  await desk.bills()
  t.same(desk.provider.billed, [], 'it rests a while')
  desk.clock.advance(HOUR_MS / 2)
  await desk.bills()
  t.equal(desk.provider.billed.length, 1)
  desk.clock.advance(3 * DAY_MS)
  await desk.bills()
  t.equal(new Set(desk.provider.billed).size, 4, 'three days more, each once')
})

t.test('of two gateways one reads the bill, for every method', async t => {
  const providers = [new TestProvider('alipay'), new TestProvider('wechat')]
  const one = await openDesk(t, { providers })
  const two = await openDesk(t, { providers, store: one.store, account: one.account })
  await Promise.all([one.bills(), two.bills()])
  t.same(
    providers.map(({ billed }) => billed.length),
    [1, 1],
  )
})
