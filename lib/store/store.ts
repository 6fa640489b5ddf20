/**
 * The store: accounts, keys, catalogue, books and usage. One interface, one SQL text for every engine, one test-suite.
 * Nothing here is called on the path of a request whose key, prices and lease are in memory.
 *
 * Purses carry all money. An account's balance is purse `a<id>`, a key's cap is purse `k<id>`. A purse has
 * `credit` (paid in, or the cap; null = no limit), `spent` (charged) and `leased` (promised to processes).
 * What may still be promised is `credit - spent - leased`; a lease row says how much of it which process holds.
 */
import type { Micro } from '../base/money.ts'
import type { Channel } from '../terms/channel.ts'
import type { Account, Group, Key, Model, UsageRow } from '../terms/records.ts'

/** The store did not answer or refused for a reason of its own (down, read-only, too many connections): try again later. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable'
}

/** What an administrator asked contradicts what is there; the message is for people. */
export class StoreConflict extends Error {
  override name = 'StoreConflict'
}

/** The row of a catalogue file is being written by another process, which was first. */
export class AppliedElsewhere extends Error {
  override name = 'AppliedElsewhere'
}

/** What a catalogue file said of a row, as digests. Empty ones: it is not known, the row is older than these digests. */
export interface Said {
  row: string
  price: string
  /** Made with the store's secret. */
  secret: string
}

/** A write that comes from a catalogue file, and how what it says of the row moves on with it. */
export interface Mark {
  kind: 'group' | 'model' | 'channel' | 'account' | 'key'
  /** Of keys: the account's name; else empty. */
  owner: string
  name: string
  before: Said | null
  after: Said
}

export const markId = (kind: string, owner: string, name: string): string => JSON.stringify([kind, owner, name])

export type PurseId = `a${number}` | `k${number}`
export const accountPurse = (id: number): PurseId => `a${id}`
export const keyPurse = (id: number): PurseId => `k${id}`

export interface Purse {
  id: PurseId
  credit: Micro | null
  spent: Micro
  leased: Micro
}

/** One process that may hold leases. Its life sign is a counter, so that nobody's wall clock matters. */
export interface Holder {
  id: string
  host: string
  beat: number
}

/** What this process may promise from a purse, as the store just granted it. */
export interface Grant {
  /** 0 when less than `need` was free (nothing is granted then, unless `partial`). */
  granted: Micro
  /** The purse after the grant. */
  purse: Purse
  /** What other processes have leased of it, and what of that is held by open requests, as they last told. */
  elsewhere: { leased: Micro; held: Micro }
}

/** A resolved exchange on its way into the books. */
export interface Settlement {
  row: UsageRow
  /** The process whose leases paid; other holders' are never touched. */
  holder: string
  /** Of the charge, what comes out of the lease of each purse. The rest lowers the purse without lease (an upstream above its hold). */
  fromAccountLease: Micro
  fromKeyLease: Micro
}

/** What a batch of settlements came to. */
export interface Settled {
  /** How many were new. */
  applied: number
  /** Those that are in the books already, or stand in the batch before. */
  repeated: readonly Settlement[]
  /** Not applied: another request is in the books under the same id. */
  clashing: readonly Settlement[]
  /** Not applied: rows as old may have been pruned, so nobody can say whether they have counted. */
  unsure: readonly Settlement[]
}

/** Something that processes keep in memory has changed. `ref`: a key's hash, an account's id, or empty. */
export interface Change {
  seq: number
  kind: 'key' | 'account' | 'catalog' | 'recall'
  ref: string
}

export interface Catalog {
  groups: Group[]
  models: Model[]
  channels: Channel[]
}

export interface NewAccount {
  name: string
  groups: string[]
  /** Its first credit, if any. */
  opening?: { amount: Micro; atMs: number }
}

export interface NewKey {
  accountId: number
  name: string
  hash: string
  hint: string
  group: string
  status: 'enabled' | 'disabled'
  expiresAtMs: number | null
  cap: Micro | null
  allowIps: string[] | null
  models: string[] | null
}

export interface UsageFilter {
  accountId?: number
  keyId?: number
  model?: string
  requestId?: string
  /** ms since 1970, inclusive. */
  fromMs?: number
  /** ms since 1970, exclusive. */
  toMs?: number
  limit: number
  /** Only rows older than this request id. */
  after?: string
}

/** The upstream that holds an earlier answer: other channels and keys do not know it. */
export interface AnswerMaker {
  channel: string
  /** `CompiledKey.fingerprint`. */
  key: string
}

export interface Audit {
  ok: boolean
  accounts: number
  credits: Micro
  charges: Micro
  balances: Micro
  leased: Micro
  /** Sum over accounts of what does not add up, without sign. */
  imbalance: Micro
  /** Internal ids of the accounts that do not add up. */
  broken: number[]
}

export interface Store {
  /** Creates or upgrades the schema, after `prove`. */
  migrate(): Promise<void>
  /** Throws, in words for people, when the engine does not keep the promises on which the books rest. */
  prove(): Promise<void>
  /** Throws StoreUnavailable when it cannot serve, also when it answers but takes no changes. */
  ping(): Promise<void>
  close(): Promise<void>
  /** A number that no other store has, so that nobody's settlements go into another's books. */
  id(): Promise<number>
  /** ms since 1970 by the store's own clock, to about a second; null when it has none but this machine's. */
  now(): Promise<number | null>

  // --- keys and accounts
  findKey(hash: string): Promise<{ key: Key; account: Account; keyPurse: Purse; accountPurse: Purse } | null>
  accounts(): Promise<Account[]>
  account(id: number): Promise<Account | null>
  accountByName(name: string): Promise<Account | null>
  createAccount(account: NewAccount, mark?: Mark): Promise<Account>
  updateAccount(id: number, change: Partial<Pick<Account, 'status' | 'groups' | 'rate'>>, mark?: Mark): Promise<Account>
  keys(accountId?: number): Promise<Key[]>
  key(id: number): Promise<Key | null>
  keyByName(accountId: number, name: string): Promise<Key | null>
  createKey(key: NewKey, mark?: Mark): Promise<Key>
  updateKey(
    id: number,
    change: Partial<Omit<NewKey, 'accountId' | 'hash' | 'hint'>> & { hash?: string; hint?: string },
    mark?: Mark,
  ): Promise<Key>
  deleteKey(id: number): Promise<boolean>
  /** Names by id, of deleted keys too: usage rows refer to them. */
  keyNames(ids: readonly number[]): Promise<Map<number, string>>

  // --- catalogue
  catalog(): Promise<Catalog>
  /** What stands under the previous secret stands under the present one then. */
  reseal(): Promise<void>
  putGroup(group: Group, mark?: Mark): Promise<void>
  putModel(model: Model, mark?: Mark): Promise<void>
  putChannel(channel: Channel, mark?: Mark): Promise<void>
  deleteGroup(name: string): Promise<boolean>
  deleteModel(name: string): Promise<boolean>
  deleteChannel(name: string): Promise<boolean>

  // --- the catalogue file; what is written with a mark throws AppliedElsewhere when another process was first
  /** What files said of rows when they were applied last, by `markId`. */
  marks(): Promise<Map<string, Said>>
  /** The file says something of a row that needs no writing. */
  mark(mark: Mark): Promise<void>
  /** A digest of secrets under the store's own. */
  sign(text: string): string
  /** Whether `signed` is that of `text`; null when it was made under a secret that is not known here. */
  signed(text: string, signed: string): boolean | null

  // --- changes
  /** The newest change's number. */
  changeSeq(): Promise<number>
  /** Changes after `seq`, oldest first; null when some of them are forgotten and everything must be read again. */
  changesSince(seq: number): Promise<Change[] | null>

  // --- books
  purses(ids: PurseId[]): Promise<Purse[]>
  /** Credits once per reference: `created`, `same` (again: nothing happens), `conflict` (another amount under it). */
  topUp(accountId: number, amount: Micro, reference: string, atMs: number): Promise<'created' | 'same' | 'conflict'>
  /**
   * Moves a slice of a purse to `holder`: at least `need` (or, when `partial`, whatever is free up to it), at most `want`;
   * near the purse's end no more than `need`, so that nobody strands what another needs.
   * After StoreUnavailable the process has nothing of it: should the commit have happened, the store gives it back.
   * Throws StoreConflict when there is no such purse, or the holder is not registered (never, or buried since).
   */
  lease(purse: PurseId, holder: string, need: Micro, want: Micro, partial: boolean): Promise<Grant>
  /** Counts as given back from the call on: after StoreUnavailable the store itself does it, with the next lease or beat. */
  giveBack(purse: PurseId, holder: string, amount: Micro): Promise<void>
  /** Asks every process (through the changes) to give back what it holds of this purse and does not need. */
  recall(purse: PurseId): Promise<void>
  /**
   * One transaction; settlements whose request id is in the books already change nothing. `again`: they may have been
   * sent before, so their rows may be pruned by now.
   */
  settle(batch: readonly Settlement[], again?: boolean): Promise<Settled>
  /** What every process currently holds open (not merely leases) per purse: for `held` in the admin API. */
  reportHeld(holder: string, held: ReadonlyMap<PurseId, Micro>): Promise<void>
  /** Held per purse by processes other than `exceptHolders`. */
  heldByOthers(purses: PurseId[] | null, exceptHolders: readonly string[]): Promise<Map<PurseId, Micro>>
  audit(): Promise<Audit>

  // --- holders
  register(holder: Holder): Promise<void>
  /** False when this holder was buried by another process: its leases are gone and it must register again. */
  beat(holderId: string): Promise<boolean>
  holders(): Promise<Holder[]>
  /**
   * A step of a dead process's burial: some of its leases go back; true when all have, call it until then. From the first
   * step on it counts as dead. Its settlements, if any come later, are charged in full without lease.
   * `beat`: only if its counter is still that; who has raised it meanwhile lives, and the burial is done.
   */
  bury(holderId: string, beat?: number): Promise<boolean>
  /** Some leases of this process that have nothing left; returns how many, call it until it finds none. */
  forgetLeases(holderId: string): Promise<number>

  // --- rate windows
  /** Compare-and-swap on the account's window: the state of all gateways' admissions, see `lib/access/rate.ts`. */
  rateWindow(accountId: number): Promise<{ version: number; state: string } | null>
  swapRateWindow(accountId: number, version: number, state: string): Promise<boolean>

  // --- usage
  /** null: the account has no row with this `answerId`. */
  answerMaker(accountId: number, answerId: string): Promise<AnswerMaker | null>
  /** Newest first. */
  usage(filter: UsageFilter): Promise<UsageRow[]>
  /** Deletes at most `limit` rows older than `beforeMs`; what they charged stays in the books. Returns how many went. */
  pruneUsage(beforeMs: number, limit: number): Promise<number>
}
