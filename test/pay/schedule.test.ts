import t from 'tap'
import { nextCheck } from '../../lib/pay/orders.ts'
import { nextRefundCheck } from '../../lib/pay/refunds.ts'

const MINUTE_MS = 60_000

t.test('an order is asked about often at first, at its end, and twice after it', async t => {
  const order = { createdAtMs: 0, expiresAtMs: 30 * MINUTE_MS }
  const times: number[] = []
  for (let at: number | null = 0; (at = nextCheck(order, at)) !== null; ) times.push(at / 1_000)
  t.same(times, [15, 30, 60, 120, 240, 480, 960, 1_800, 1_800 + 7_800, 1_800 + 90_000])
})

t.test('a short order is not asked about after its end by the schedule of its beginning', async t => {
  t.equal(nextCheck({ createdAtMs: 0, expiresAtMs: 5 * MINUTE_MS }, 4 * MINUTE_MS), 5 * MINUTE_MS)
})

t.test('a refund is asked about at longer and longer intervals, at most an hour', async t => {
  t.same(
    [0, 1, 2, 7, 8, 60].map(checks => nextRefundCheck({ checks }, 0) / 1_000),
    [15, 30, 60, 1_920, 3_600, 3_600],
  )
})
