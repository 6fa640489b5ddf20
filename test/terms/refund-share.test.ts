/** The parts of an order that are sent back are together what was received, whatever became of parts in between. */
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { refundShare } from '../../lib/store/payments/money.ts'
import { seeded } from '../support/random.ts'

t.test('the share of an amount', async t => {
  const rows: [received: number, credited: number, amount: number, before: number, sent: number, share: number][] = [
    [10_000, 100_000_000, 33_330_000, 0, 0, 3_333],
    [1_403, 100_000_000, 33_330_000, 0, 0, 467],
    [1_403, 100_000_000, 66_670_000, 33_330_000, 467, 936],
    [1_403, 100_000_000, 66_670_000, 33_330_000, 468, 935], // another part had failed between the two
    [1_403, 100_000_000, 10_000, 0, 0, 0], // less than a cent
    [1_403, 100_000_000, 10_000, 10_000, 1, 0],
  ]
  for (const [received, credited, amount, before, sent, share] of rows) {
    const paid = { received, credited: micro(credited) }
    t.equal(refundShare(paid, micro(amount), micro(before), sent), share, `${amount} of ${credited}`)
  }
})

t.test('parts come and go, and the last one takes the rest', async t => {
  const random = seeded(t)
  for (let i = 0; i < 500; i++) {
    const credited = micro(random.int(500, 100_000) * 10_000)
    const paid = { received: random.int(50, 200_000), credited }
    const parts: { amount: number; asked: number }[] = []
    const sum = (of: 'amount' | 'asked'): number => parts.reduce((all, part) => all + part[of], 0)
    for (let steps = random.int(1, 8); sum('amount') < credited; steps--) {
      const left = credited - sum('amount')
      const amount = steps <= 0 ? left : Math.min(left, random.int(1, credited / 10_000) * 10_000)
      parts.push({ amount, asked: refundShare(paid, micro(amount), micro(sum('amount')), sum('asked')) })
      t.ok(sum('asked') <= paid.received)
      // A bank sends one back: it did not go.
      if (steps > 0 && random.next() < 0.3) parts.splice(random.int(0, parts.length - 1), 1)
    }
    t.equal(sum('asked'), paid.received)
  }
})
