/** The result of an audit of the books, which `sql/audit.ts` makes. */
import type { Micro } from '../base/money.ts'

export interface Audit {
  ok: boolean
  accounts: number
  /** The sum of all entries, with their signs. */
  credits: Micro
  /** The part of it that people credited: openings, top-ups, adjustments, and orders that a person decided to credit. */
  byHand: Micro
  /** The part of that which orders are. */
  resolved: Micro
  /** The sum of the payments that providers prove. */
  proven: Micro
  charges: Micro
  balances: Micro
  leased: Micro
  /** The sum over all accounts of the size of their imbalance; 0 when the books add up. */
  imbalance: Micro
  /** Ids of the accounts with an imbalance. */
  broken: number[]
  /** References of payments that do not fit their orders or deposits; at most twenty. */
  unfit: string[]
}
