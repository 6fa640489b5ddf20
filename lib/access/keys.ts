/**
 * Keys in memory, by the SHA-256 of their secret; the secret itself is not kept. Keys that do not exist are remembered
 * too, in a list of their own, so that a flood of invented ones costs one look-up each and a bounded memory, and cannot
 * push out the real ones.
 *
 * Changes are told by `onChange`. A look-up that was under way when its key or account changed reads again, so nothing
 * that was true before a change is kept after it. What was read long ago is read again in the background, should a change
 * have been lost; the old answer serves meanwhile, and for as long as the store does not answer.
 */
import { hash } from 'node:crypto'
import type { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { latest } from '../base/lru.ts'
import { type Change, type Purse, type Store, StoreUnavailable } from '../store/store.ts'
import type { Account, Key } from '../terms/records.ts'
import { AddressList } from './ip.ts'
import { Turns } from './turns.ts'

export class KeyEntry {
  readonly key: Key
  readonly account: Account
  /** null = from anywhere. */
  readonly allow: AddressList | null
  /** null = every model. */
  readonly models: ReadonlySet<string> | null
  /** As they were when the key was read. */
  readonly keyPurse: Purse
  readonly accountPurse: Purse
  /** Monotonic ms from which on it is time to read again. */
  staleMs: number

  constructor(key: Key, account: Account, keyPurse: Purse, accountPurse: Purse, staleMs: number) {
    this.key = key
    this.account = account
    this.allow = key.allowIps === null ? null : new AddressList(key.allowIps)
    this.models = key.models === null ? null : new Set(key.models)
    this.keyPurse = keyPurse
    this.accountPurse = accountPurse
    this.staleMs = staleMs
  }
}

/** One question to the store, shared by all who ask it meanwhile. */
class LookUp {
  /** The key has changed since it was last read. */
  changed = false
  /** Accounts that have changed since: whose key it is shows only in the answer. */
  readonly changedAccounts = new Set<number>()
  answer: Promise<KeyEntry | null> | null = null
}

const MOST_KEYS = 100_000
const MOST_UNKNOWN = 100_000
const MOST_READING = 64
/** More than these and the store is in trouble, which more would not help. */
const MOST_WAITING = 10_000
const OLDEST_MS = 5 * 60_000
/** A refresh that failed is tried again after this. */
const REFRESH_PAUSE_MS = 10_000
/** A key that changes faster than it can be read is answered as last read, and not kept. */
const MOST_READS = 4
const LONGEST_SECRET = 256
const SECRET = /^sk-[\x21-\x7e]+$/

export class KeyCache {
  readonly #store: Store
  readonly #clock: Clock
  readonly #known: LRUCache<string, KeyEntry>
  /** Digest → when it is time to ask again. */
  readonly #unknown: LRUCache<string, number>
  readonly #ofAccount = new Map<number, Set<string>>()
  readonly #lookUps = new Map<string, LookUp>()
  readonly #turns = new Turns(MOST_READING, MOST_WAITING)

  constructor(options: { store: Store; clock: Clock; max?: number; maxUnknown?: number }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#known = latest(options.max ?? MOST_KEYS, (entry, digest) => this.#leaveAccount(entry.account.id, digest))
    this.#unknown = latest(options.maxUnknown ?? MOST_UNKNOWN)
  }

  /** null = no such key. Rejects with StoreUnavailable when nobody can say. */
  find(secret: string): KeyEntry | null | Promise<KeyEntry | null> {
    if (secret.length > LONGEST_SECRET || !SECRET.test(secret)) return null
    const digest = hash('sha256', secret, 'hex')
    const now = this.#clock.monotonic()
    const entry = this.#known.get(digest)
    if (entry !== undefined) {
      if (now >= entry.staleMs) {
        entry.staleMs = now + REFRESH_PAUSE_MS
        this.#refresh(digest)
      }
      return entry
    }
    const staleMs = this.#unknown.get(digest)
    if (staleMs === undefined) return this.#lookUp(digest)
    if (now >= staleMs) {
      this.#unknown.set(digest, now + REFRESH_PAUSE_MS)
      this.#refresh(digest)
    }
    return null
  }

  /** The same key as it is now; null = there is none any more. What has changed since it was found is read anew. */
  current({ key }: KeyEntry): KeyEntry | null | Promise<KeyEntry | null> {
    return this.#known.get(key.hash) ?? (this.#unknown.has(key.hash) ? null : this.#lookUp(key.hash))
  }

  #refresh(digest: string): void {
    this.#lookUp(digest).catch(() => {}) // what is in memory serves on
  }

  #lookUp(digest: string): Promise<KeyEntry | null> {
    const underWay = this.#lookUps.get(digest)?.answer
    if (underWay != null) return underWay
    if (this.#turns.full) return Promise.reject(new StoreUnavailable('too many keys are being looked up'))
    const lookUp = new LookUp()
    this.#lookUps.set(digest, lookUp)
    lookUp.answer = this.#turns.take(() => this.#read(digest, lookUp)).finally(() => this.#lookUps.delete(digest))
    return lookUp.answer
  }

  async #read(digest: string, lookUp: LookUp): Promise<KeyEntry | null> {
    for (let reads = 1; ; reads++) {
      lookUp.changed = false
      lookUp.changedAccounts.clear()
      const row = await this.#store.findKey(digest)
      const staleMs = this.#clock.monotonic() + OLDEST_MS
      const entry = row === null ? null : new KeyEntry(row.key, row.account, row.keyPurse, row.accountPurse, staleMs)
      const changed = lookUp.changed || (entry !== null && lookUp.changedAccounts.has(entry.account.id))
      if (!changed) this.#keep(digest, entry, staleMs)
      if (!changed || reads === MOST_READS) return entry
    }
  }

  #keep(digest: string, entry: KeyEntry | null, staleMs: number): void {
    if (entry === null) {
      this.#known.delete(digest)
      this.#unknown.set(digest, staleMs)
      return
    }
    this.#unknown.delete(digest)
    this.#known.set(digest, entry)
    const digests = this.#ofAccount.get(entry.account.id)
    if (digests === undefined) this.#ofAccount.set(entry.account.id, new Set([digest]))
    else digests.add(digest)
  }

  #leaveAccount(accountId: number, digest: string): void {
    const digests = this.#ofAccount.get(accountId)
    if (digests?.delete(digest) && digests.size === 0) this.#ofAccount.delete(accountId)
  }

  onChange(change: Change): void {
    if (change.kind === 'key') this.#keyChanged(change.ref)
    else if (change.kind === 'account') this.#accountChanged(Number(change.ref))
  }

  #keyChanged(digest: string): void {
    this.#known.delete(digest)
    this.#unknown.delete(digest)
    const lookUp = this.#lookUps.get(digest)
    if (lookUp !== undefined) lookUp.changed = true
  }

  #accountChanged(accountId: number): void {
    for (const digest of [...(this.#ofAccount.get(accountId) ?? [])]) this.#known.delete(digest)
    for (const lookUp of this.#lookUps.values()) lookUp.changedAccounts.add(accountId)
  }

  clear(): void {
    this.#known.clear()
    this.#unknown.clear()
    for (const lookUp of this.#lookUps.values()) lookUp.changed = true
  }
}
