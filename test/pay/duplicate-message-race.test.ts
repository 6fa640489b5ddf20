/**
 * A provider tells of one refund in several messages at the same moment. The one that was taken second found that nothing was
 * left of the order, because the first one had just frozen it, and told a person that more went back than there was.
 */
// The bug behind these rows: the same message twice at once.
import t from 'tap'
import type { Notice } from '../../lib/pay/method.ts'
import { heldUp } from './chaos/through.ts'
import { openDesk } from './support.ts'

const GONE: Record<string, (orderId: string) => Notice> = {
  'a refund': orderId => ({
    kind: 'refund',
    refundId: null,
    providerId: 're',
    orderId,
    amount: 10_000,
    state: 'done',
  }),
  'a dispute': orderId => ({ kind: 'dispute', disputeId: 'dp', orderId, amount: 10_000, state: 'open' }),
}

/** More calls of the store than one message makes. */
const MOST_CALLS = 40

for (const [name, notice] of Object.entries(GONE))
  t.test(`${name} of all of an order`, async t => {
    for (let calls = 0, more = true; more; calls++) {
      t.ok(calls < MOST_CALLS)
      const desk = await openDesk(t)
      const { id } = await desk.begin('100')
      await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
      const other = () => desk.notices.take('alipay', notice(id), 'callback')
      const slow = heldUp(desk.store, calls, other)
      const { notices } = await openDesk(t, { store: slow.store, account: desk.account })
      await notices.take('alipay', notice(id), 'callback')
      more = slow.wasHeldUp()
      t.same(await desk.store.pay.exceptions({ limit: 9 }), [], `held up at call ${calls}`)
      t.equal(await desk.balance(), 0)
    }
  })
