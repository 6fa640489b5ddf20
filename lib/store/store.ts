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
import type { Act, Words } from '../base/people.ts'
import type { AccountStore } from './account-store.ts'
import type { ActionStore } from './action-store.ts'
import type { Audit } from './audit.ts'
import type { ChainStore } from './deposit-store.ts'
import type { DisputeStore } from './dispute-store.ts'
import type { EntryStore } from './entry-store.ts'
import type { ExportStore } from './export-store.ts'
import type { Mark, Said } from './marks.ts'
import type { PayStore } from './pay-store.ts'
import type { PeopleStore } from './people-store.ts'
import type { ModelEdit, PriceStore } from './price-store.ts'
import type { Purse, PurseId } from './purses.ts'
import type { RequestStore } from './request-store.ts'
import type { StatsStore } from './stats-store.ts'
import type { UsageStore } from './usage-store.ts'

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

export interface Store
  extends AccountStore,
    UsageStore,
    DisputeStore,
    EntryStore,
    PriceStore,
    ActionStore,
    RequestStore,
    StatsStore,
    ExportStore {
  /** Money that comes in: orders, proofs, refunds. */
  readonly pay: PayStore
  readonly chain: ChainStore
  readonly people: PeopleStore
  /** Name of the time zone in which periods begin. */
  readonly zone: string
  /** A statement that has no answer for so long fails with StoreUnavailable. */
  readonly timeoutMs: number
  /** Runs `prove`, then creates or upgrades the schema. Throws when a newer version of the program wrote the schema. */
  migrate(): Promise<void>
  /** Throws an Error that says what to do when the schema is not that of this program. */
  wantSchema(): Promise<void>
  /** Checks that the engine keeps the promises on which the books rest; throws an Error that names the broken one. */
  prove(): Promise<void>
  /** Resolves when the engine takes writes: a read-only engine throws StoreUnavailable too. */
  ping(): Promise<void>
  close(): Promise<void>
  /** The store's random id, which journals name, so that settlements never go into another store's books. */
  id(): Promise<number>
  /** The engine's clock in ms since 1970, exact to about a second; null when that is this machine's clock (SQLite). */
  now(): Promise<number | null>

  // --- catalogue; a change writes its line of the log of actions; a new price or multiplier becomes a version
  catalog(): Promise<Catalog>
  /** Encrypts the credentials of all channels and the second factors of all users under the present secret that were encrypted under the previous one. */
  reseal(): Promise<void>
  putGroup(group: Group, act: Act, mark?: Mark): Promise<void>
  putModel(model: Model, act: Act, mark?: Mark): Promise<void>
  /**
   * Reads a model and writes it in one transaction, so that nothing that another process changes meanwhile is undone.
   * `edit` may be called several times.
   */
  editModel(name: string, edit: ModelEdit, act: Act, mark?: Mark): Promise<void>
  putChannel(channel: Channel, act: Act, mark?: Mark): Promise<void>
  deleteGroup(name: string, act: Act): Promise<boolean>
  deleteModel(name: string, act: Act): Promise<boolean>
  deleteChannel(name: string, act: Act): Promise<boolean>

  // --- the catalogue file; every write with a mark throws AppliedElsewhere when another process was first
  /** The digests of every row that a catalogue file has said something of, by `markId`. */
  marks(): Promise<Map<string, Said>>
  /** Moves the digests of a row on without writing the row itself. */
  mark(mark: Mark): Promise<void>
  /** A keyed digest of `text`, made with the store's secret. */
  sign(text: string): string
  /** Whether `signed` is the signature of `text`; null when it was made under a secret unknown to this process. */
  signed(text: string, signed: string): boolean | null

  // --- changes
  /** The number of the newest change; 0 before the first. */
  changeSeq(): Promise<number>
  /** The changes after number `seq`, oldest first; null when some are deleted and the caller must reload everything. */
  changesSince(seq: number): Promise<Change[] | null>

  // --- books
  /** The purses that exist, in the order of `ids`. */
  purses(ids: PurseId[]): Promise<Purse[]>
  /**
   * Adds to the lease that `holder` has of a purse: at least `need` and at most `want`. When less than `need` is free
   * it grants nothing, or with `partial` all that is free. When little is free it grants exactly `need`, so that no
   * process keeps money idle that another one needs. A purse of a limit is made when it is first asked for. After StoreUnavailable nothing counts as granted: if the commit
   * did happen, the store gives the grant back later. Throws StoreConflict when the purse does not exist, or the holder
   * is not registered (or was buried meanwhile).
   */
  lease(purse: PurseId, holder: string, need: Micro, want: Micro, partial: boolean): Promise<Grant>
  /** Lowers a lease; after StoreUnavailable the store completes it with the next `lease`, `giveBack` or `beat`. */
  giveBack(purse: PurseId, holder: string, amount: Micro): Promise<void>
  /** Asks every process (by a change) to give back what it has leased of this purse and does not need. */
  recall(purse: PurseId): Promise<void>
  /**
   * Writes a batch of settlements in one transaction, idempotently by request id. `again`: some of them may have been
   * sent before. When the row that would show this may have been pruned, the settlement is returned as `unsure`.
   */
  settle(batch: readonly Settlement[], again?: boolean): Promise<Settled>
  /** Reports what the open requests of a process hold of each purse, for other processes and for the admin API. */
  reportHeld(holder: string, held: ReadonlyMap<PurseId, Micro>): Promise<void>
  /** The sum, for each purse (null: all), of what processes other than `exceptHolders` have reported as held. */
  heldByOthers(purses: PurseId[] | null, exceptHolders: readonly string[]): Promise<Map<PurseId, Micro>>
  audit(): Promise<Audit>

  // --- holders
  register(holder: Holder): Promise<void>
  /** Raises this process's counter. False when another process buried it: it has no leases and must register anew. */
  beat(holderId: string): Promise<boolean>
  holders(): Promise<Holder[]>
  /**
   * One step of the burial of a process: some of its leases go back to their purses. The caller repeats the call until
   * it returns true. From the first step on the process can neither raise its counter nor get new leases; settlements
   * of it that come later are charged to the purses. With `beat`, nothing happens unless the counter still has that
   * value: a process that has raised it is alive, and the call returns true.
   */
  bury(holderId: string, beat?: number): Promise<boolean>
  /** Deletes some empty leases of this process and returns how many; the caller repeats the call until it returns 0. */
  forgetLeases(holderId: string): Promise<number>
  /** Deletes some purses of periods that ended before `beforeMs`, and returns how many, for the caller to repeat. */
  forgetPurses(beforeMs: number): Promise<number>

  // --- rate windows
  /** The state of the account's rate limit, which all gateways share (see `lib/access/rate.ts`); null: none yet. */
  rateWindow(accountId: number): Promise<{ version: number; state: string } | null>
  /** Compare-and-swap: false when the window no longer has this version (0: when it exists), and nothing changed. */
  swapRateWindow(accountId: number, version: number, state: string): Promise<boolean>
}
