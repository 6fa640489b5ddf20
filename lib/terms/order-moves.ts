/**
 * Which state of an order leads to which, and what moves it there. The store makes no other move. docs/topups.md draws this
 * table, and a test compares them.
 */
import { invariant } from '../base/assert.ts'
import type { OrderState } from './pay.ts'

type Move = readonly [from: OrderState, to: OrderState, because: string]

export const ORDER_MOVES: readonly Move[] = [
  ['created', 'pending', 'the provider has the order'],
  ['created', 'failed', 'the provider refuses it'],
  ['pending', 'failed', 'the provider refuses it'],
  ['created', 'expired', 'its time is over'],
  ['pending', 'expired', 'its time is over'],
  ['failed', 'expired', 'the provider ended it'],
  ['created', 'paid', 'a proof'],
  ['pending', 'paid', 'a proof'],
  ['expired', 'paid', 'a late proof'],
  ['failed', 'paid', 'a late proof'],
  ['paid', 'credited', 'the entry is booked'],
  ['credited', 'refunded', 'all of it went back'],
  ['credited', 'reversed', 'disputes took the rest'],
  ['refunded', 'credited', 'a refund failed later'],
  ['reversed', 'credited', 'a dispute was won later'],
]

/** The state that the order gets. Anything that the table does not have is a fault of ours. */
export function moved(from: OrderState, to: OrderState): OrderState {
  const known = from === to || ORDER_MOVES.some(move => move[0] === from && move[1] === to)
  invariant(known, `an order may not go from ${from} to ${to}`)
  return to
}
