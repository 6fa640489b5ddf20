/**
 * The interface of the store: the database that all processes of all gateways share, with accounts, keys, catalogue,
 * purses, leases and usage rows. `sql.ts` implements it for every engine. A request whose key, prices and lease are in
 * memory makes no call of the store.
 *
 * All money is in purses. Purse `a<id>` is an account's balance. Purse `k<id>` counts all that a key spends; a cap for
 * ever is its credit. A cap that renews has a purse for each period beside it, and so have budgets of accounts (see
 * `sql/limit-purses.ts`). A purse has `credit` (the sum of the top-ups, or the limit; null = no limit), `spent` (the sum of
 * the charges) and `leased` (the sum of its leases). A lease is a part of a purse that one process may spend without asking the store; `credit - spent - leased`
 * is what the store can still lease out.
 *
 * Every method throws StoreUnavailable when the engine cannot serve at the moment; the caller may try again later.
 */
import type { Micro } from '../base/money.ts'
import type { Channel, Group, Model, UsageRow } from '../terms/records.ts'
import type { Words } from '../base/people.ts'
import type { Purse, PurseId } from './purses.ts'

export * from './account-store.ts'
export * from './action-store.ts'
export type * from './audit.ts'
export type * from './deposit-store.ts'
export * from './dispute-store.ts'
export type * from './entry-store.ts'
export type * from './export-store.ts'
export * from './marks.ts'
export type * from './pay-store.ts'
export type * from './people-records.ts'
export type * from './people-store.ts'
export * from './price-store.ts'
export * from './purses.ts'
export type * from './request-store.ts'
export type * from './stats-store.ts'
export * from './usage-store.ts'
export { FIRST_BYTE_BOUNDS_MS } from './usage-sums.ts'

/** The engine does not answer or does not serve (down, read-only, too many connections). A later try may succeed. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
  /** The engine answers and takes no writes, so that what is only read may still be asked for. */
  readonly readsOnly: boolean = false
}

/** A request contradicts what the store has (a name is taken, an id does not exist); the message is for people. */
export class StoreConflict extends Error {
  override name = 'StoreConflict'
  /** The message in every language; null = only operators can come upon it, who read English. */
  readonly words: Words | null

  constructor(message: string | Words) {
    super(typeof message === 'string' ? message : message.en)
    this.words = typeof message === 'string' ? null : message
  }
}

/** There are as many rows of this kind as there may be: something must go before another one may come. */
export class StoreFull extends StoreConflict {
  override name = 'StoreFull'
}

/** Another process applies the same catalogue file and has written this row first; nothing was written here. */
export class AppliedElsewhere extends Error {
  override name = 'AppliedElsewhere'
}

/** A process that may have leases. It raises the counter `beat` while it lives; -1 means that its burial has begun. */
export interface Holder {
  id: string
  host: string
  beat: number
}

/** The result of `Store.lease`. */
export interface Grant {
  /** What was added to the lease. 0 when less than `need` was free, unless the call was `partial`. */
  granted: Micro
  /** The purse after the grant. */
  purse: Purse
  /** What other processes have leased of this purse, and what of that their open requests held when last reported. */
  elsewhere: { leased: Micro; held: Micro }
}

/** The charge of one finished exchange, to be written into the books: its usage row, and which leases pay for it. */
export interface Settlement {
  row: UsageRow
  /** The process whose leases pay. */
  holder: string
  /** How much of the charge each lease pays. The rest, of an upstream that used more than was held, the purse pays. */
  fromAccountLease: Micro
  fromKeyLease: Micro
  /**
   * The other purses of the hold, which the charge counts in too: of the budget, and of the period of a cap that
   * renews. They are named because the period of a hold may be over when its charge comes.
   */
  limits: readonly { purse: PurseId; fromLease: Micro }[]
}

/** The result of `Store.settle`. Each settlement of the batch is either new or in one of the three lists. */
export interface Settled {
  /** How many were new and are in the books now. */
  applied: number
  /** Settlements that were in the books already, or came twice in the batch; they have been counted once. */
  repeated: readonly Settlement[]
  /** Not counted: the books have a different request under the same id. */
  clashing: readonly Settlement[]
  /** Not counted: usage rows of that age have been pruned, so nobody can say whether it had been counted before. */
  unsure: readonly Settlement[]
}

/** A message to all processes: something that they cache has changed, or (`recall`) unused leases are wanted back. */
export interface Change {
  seq: number
  kind: 'key' | 'account' | 'catalog' | 'recall'
  /** For a key its hash, for an account its id, for a recall the purse's id, for the catalogue empty. */
  ref: string
}

export interface Catalog {
  groups: Group[]
  models: Model[]
  channels: Channel[]
  /** The versions of the models' prices; a model without price has none. */
  priceVersions: ReadonlyMap<string, number>
  /** Since when models are temporarily offline, by model and group; see OfflineSince. Models that are not are not in it. */
  offlineSince: ReadonlyMap<string, OfflineSince>
}

/** Stands for all groups. */
export const EVERYWHERE = '*'

/** ms since 1970 by group, or EVERYWHERE. */
export type OfflineSince = ReadonlyMap<string, number>
