/**
 * How much of an order a provider asks for, and which parts of that are frozen: a dispute has several where a refund that was
 * not sent stood in its way.
 */
import { type Micro, micro } from '../base/money.ts'
import type { NewRefund } from '../store/store.ts'
import type { Order, Refund } from '../terms/pay.ts'
import type { DisputeNotice } from './method.ts'
import { worth } from './numbers.ts'

/**
 * What the money that a provider names is worth in the balance. All of an order that is credited with another amount than it
 * asked for is what it was credited with.
 */
export const wantedOf = ({ asked: whole, credited, rate }: Order, asked: number): Micro =>
  asked === whole ? credited : worth(asked, rate)

export const freezeOf = ({ disputeId: id }: DisputeNotice) =>
  ({ id, providerId: id, kind: 'dispute', reason: 'disputed by the payer' }) as const

/** What is frozen, or was, for a dispute: once when it is told, and the rest when a refund has made room for it. */
export const partsOf = (refunds: readonly Refund[], { disputeId }: DisputeNotice): Refund[] =>
  refunds.filter(({ kind, providerId }) => kind === 'dispute' && providerId === disputeId)

/** A refund that was begun here, and of which the provider has not said that it took it. */
export const isSending = ({ kind, state, providerId }: Refund): boolean =>
  kind === 'refund' && state === 'frozen' && providerId === null

export const sumOf = (parts: readonly Refund[]): number => parts.reduce((sum, { amount }) => sum + amount, 0)

/** Whether the provider names more than what was `frozen`; nothing frozen is too little in any case. */
export function isMore(order: Order, asked: number, frozen: number): boolean {
  // In another currency the parts of an order are worth a little more than the order: what is asked for is rounded up.
  const rounding = order.rate === null ? 0 : worth(1, order.rate)
  return frozen === 0 || wantedOf(order, asked) - frozen > rounding
}

/** What is to be frozen for a dispute of what is `left`; null = it has all of it, or has ended as won. */
export function restOf(
  order: Order,
  refunds: readonly Refund[],
  notice: DisputeNotice,
  left: number,
): NewRefund | null {
  const parts = partsOf(refunds, notice)
  const frozen = sumOf(parts)
  const amount = micro(Math.min(wantedOf(order, notice.amount) - frozen, left))
  const isWon = parts.some(({ state }) => state === 'released')
  if (isWon || amount <= 0 || !isMore(order, notice.amount, frozen)) return null
  const { id: orderId, method } = order
  // The first part stands for all that the provider names.
  const named =
    parts.length === 0 ? { asked: notice.amount } : { id: `${notice.disputeId}:${parts.length + 1}`, asked: 0 }
  return { ...freezeOf(notice), ...named, method, orderId, amount }
}
