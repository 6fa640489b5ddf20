/**
 * A process that died between a step and the exception that belongs to it left the step done and nobody told: of a refund at the
 * provider that was more than was left of its order, 33.63 CNY were never debited; of a second payment of an order, nobody
 * knew. So whatever a process dies at, the same message once more has to tell the same as one that nothing kept from it.
 */
// The bug behind these rows: a crash before a person is told.
import t, { type Test } from 'tap'
import type { DisputeNotice, Notice, RefundNotice } from '../../lib/pay/method.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { mortal } from './chaos/mortal.ts'
import { ACT, openDesk } from './support.ts'

const DISPUTE: Omit<DisputeNotice, 'orderId'> = { kind: 'dispute', disputeId: 'd', amount: 10_000, state: 'open' }
const REFUND: Omit<RefundNotice, 'orderId'> = {
  kind: 'refund',
  refundId: null,
  providerId: 're',
  amount: 10_000,
  state: 'done',
}

/** An order of 100 CNY that is credited, of which `begun` is under way back to the payer, and a message about it. */
const SCENES: Record<string, { begun?: string; notice: (orderId: string, again: Notice) => Notice; kinds: string[] }> =
  {
    'all sent back while a part was frozen': {
      begun: '33.63',
      notice: orderId => ({ ...REFUND, orderId }),
      kinds: ['refund_amount'],
    },
    'all sent back after all of it was frozen': {
      begun: '100',
      notice: orderId => ({ ...REFUND, orderId }),
      kinds: ['refund_amount'],
    },
    'all disputed while a part was frozen': {
      begun: '33.63',
      notice: orderId => ({ ...DISPUTE, orderId, dueAtMs: 1 }),
      kinds: ['dispute', 'refund_amount'],
    },
    'a dispute that is lost': {
      notice: orderId => ({ ...DISPUTE, orderId, state: 'lost' }),
      kinds: [],
    },
    'a second payment': { notice: (_, again) => again, kinds: ['duplicate'] },
    'a warning of fraud': {
      notice: orderId => ({ kind: 'warning', reference: 'w', orderId, detail: 'fraud', refund: true }),
      kinds: ['fraud_warning'],
    },
  }
const DEATHS = ['before', 'after'] as const
/** More calls of the store than any scene makes. */
const MOST_CALLS = 40

async function open(t: Test, begun: string | undefined) {
  const desk = await openDesk(t)
  const { id } = await desk.begin('100')
  await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
  desk.provider.refundSaid = 'undecided'
  if (begun !== undefined) await desk.refunds.begin(id, begun, 'asked for', false, ACT)
  return { desk, id }
}

for (const [name, { begun, notice, kinds }] of Object.entries(SCENES))
  t.test(name, async t => {
    for (const when of DEATHS)
      for (let calls = 0, alive = false; !alive; calls++) {
        t.ok(calls < MOST_CALLS)
        const { desk, id } = await open(t, begun)
        const said = notice(id, desk.provider.payment(id, { transactionId: 'again' }))
        const life = mortal(desk.store, () => desk.clock.now())
        const dying = await openDesk(t, { store: life.store, account: desk.account })
        life.arm(calls, when)
        const died = await dying.notices.take('alipay', said, 'callback').then(
          () => false,
          error => error instanceof StoreUnavailable,
        )
        alive = !died && !life.isDead()
        await desk.notices.take('alipay', said, 'callback')
        const told = await desk.store.pay.exceptions({ limit: 9 })
        t.same(told.map(({ kind }) => kind).sort(), kinds, `it died ${when} call ${calls}`)
        t.equal((await desk.store.audit()).ok, true)
      }
  })
