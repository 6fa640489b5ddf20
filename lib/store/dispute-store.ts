/**
 * The part of the store's interface that is about disputes: what upstreams reported above what their requests can have caused,
 * and what became of it. Nobody is charged for it unless somebody decides so, and a row of the usage log never changes.
 */
import type { Micro } from '../base/money.ts'
import type { Act } from '../base/people.ts'
import type { Booked, NewEntry } from './entry-store.ts'

/** How long something may be decided. What was not is waived then. */
export const DISPUTE_DAYS = 30

/** `open`: nothing is decided. `charged`: an entry of the account takes it, or a part of it. */
export const DISPUTE_STATES = ['open', 'charged', 'waived'] as const
export type DisputeState = (typeof DISPUTE_STATES)[number]

export interface Dispute {
  requestId: string
  accountId: number
  channel: string
  /** What was not charged, and what was charged of it since. */
  amount: Micro
  state: DisputeState
  charged: Micro
}

/**
 * `created`: it is decided now. `same`: it was decided so before. `conflict`: it was decided otherwise. `short`: the debit is
 * more than what is available, and nothing is decided.
 */
export type Decided = { outcome: 'created' | 'same' | 'conflict' } | Extract<Booked, { outcome: 'short' }>

export interface DisputeStore {
  /** null = nothing of the request was disputed. */
  dispute(requestId: string): Promise<Dispute | null>
  /** Decides a dispute once. `entry`: the debit of its account, a chosen one; null = it is waived, for this reason. */
  decideDispute(dispute: Dispute, entry: NewEntry | null, reason: string, act: Act): Promise<Decided>
}
