import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { changedLimit, everyAt, type Limit, periodOf, type SetLimit } from '../../lib/terms/records.ts'

const ZONE = 'Asia/Shanghai'
const NOON = Date.parse('2026-11-20T04:00:00Z')
const MIDNIGHT = Date.parse('2026-11-20T16:00:00Z')
const MONTH_END = Date.parse('2026-11-30T16:00:00Z')

const set = (amount: number, every: SetLimit['every']): SetLimit => ({ amount: micro(amount), every })
const limit = (amount: number, every: SetLimit['every'], before: Limit['before'] = null): Limit => ({
  ...set(amount, every),
  before,
})
const untilMidnight = { every: 'day', untilMs: MIDNIGHT } as const

const rows: [name: string, old: Limit | null, next: SetLimit | null, want: Limit | null][] = [
  ['none before', null, set(5, 'day'), limit(5, 'day')],
  ['none after', limit(5, 'day'), null, null],
  ['another amount', limit(5, 'day'), set(6, 'day'), limit(6, 'day')],
  ['another length', limit(5, 'day'), set(6, 'month'), limit(6, 'month', untilMidnight)],
  ['a month ends too', limit(5, 'month'), set(6, 'day'), limit(6, 'day', { every: 'month', untilMs: MONTH_END })],
  ['and another', limit(6, 'month', untilMidnight), set(7, 'week'), limit(7, 'week', untilMidnight)],
  ['and back', limit(6, 'month', untilMidnight), set(7, 'day'), limit(7, 'day')],
  ['for ever', limit(5, 'day'), set(6, null), limit(6, null)],
  ['no longer for ever', limit(5, null), set(6, 'week'), limit(6, 'week')],
]
for (const [name, old, next, want] of rows)
  t.test(name, async t => t.strictSame(changedLimit(old, next, NOON, ZONE), want))

t.test('what is in force', async t => {
  const changed = limit(6, 'month', untilMidnight)
  t.equal(everyAt(changed, MIDNIGHT - 1), 'day')
  t.equal(everyAt(changed, MIDNIGHT), 'month')
  t.match(periodOf(changed, MIDNIGHT, ZONE), { every: 'month', endMs: MONTH_END })
  t.equal(periodOf(limit(1, null), NOON, ZONE), null)
})
