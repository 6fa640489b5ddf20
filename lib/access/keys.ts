/**
 * Keys in memory, by the SHA-256 of their secret; the secret itself is not kept. Keys that do not exist are remembered
 * too, in a list of their own, so that a flood of invented ones costs one look-up each and a bounded memory, and cannot
 * push out the real ones.
 */
import { hash } from 'node:crypto'
import type { BlockList } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { type Change, type Purse, type Store, StoreUnavailable } from '../store/store.ts'
import type { Account, Key } from '../terms/records.ts'
import { compileAddresses } from './ip.ts'

export class KeyEntry {
  readonly key: Key
  readonly account: Account
  /** null = from anywhere. */
  readonly allow: BlockList | null
  /** null = every model. */
  readonly models: ReadonlySet<string> | null
  /** As they were when the key was read. */
  readonly keyPurse: Purse
  readonly accountPurse: Purse
  readonly readMs: number

  constructor(key: Key, account: Account, keyPurse: Purse, accountPurse: Purse, readMs: number) {
    this.key = key
    this.account = account
    this.allow = key.allowIps === null ? null : compileAddresses(key.allowIps)
    this.models = key.models === null ? null : new Set(key.models)
    this.keyPurse = keyPurse
    this.accountPurse = accountPurse
    this.readMs = readMs
  }
}

const MOST_KEYS = 100_000
const MOST_UNKNOWN = 100_000
/** Look-ups under way; beyond that the store is in trouble and more would not help it. */
const MOST_LOOKUPS = 256
/** Changes are followed; this is for the one that was lost. */
const OLDEST_MS = 5 * 60_000
const LONGEST_SECRET = 256
const SECRET = /^sk-[\x21-\x7e]+$/

export class KeyCache {
  readonly #store: Store
  readonly #clock: Clock
  readonly #known: LRUCache<string, KeyEntry>
  readonly #unknown: LRUCache<string, true>
  readonly #lookups = new Map<string, Promise<KeyEntry | null>>()
  /** Grows with every change: a look-up that began before one does not leave its answer behind. */
  #generation = 0

  constructor(options: { store: Store; clock: Clock; max?: number; maxUnknown?: number }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#known = new LRUCache({ max: options.max ?? MOST_KEYS })
    this.#unknown = new LRUCache({ max: options.maxUnknown ?? MOST_UNKNOWN })
  }

  /** null = no such key. Rejects with StoreUnavailable when nobody can say. */
  find(secret: string): KeyEntry | null | Promise<KeyEntry | null> {
    if (secret.length > LONGEST_SECRET || !SECRET.test(secret)) return null
    const digest = hash('sha256', secret, 'hex')
    const entry = this.#known.get(digest)
    if (entry !== undefined) {
      if (this.#clock.monotonic() - entry.readMs > OLDEST_MS) this.#lookUp(digest).catch(() => {}) // the old one serves meanwhile
      return entry
    }
    if (this.#unknown.get(digest) === true) return null
    return this.#lookUp(digest)
  }

  #lookUp(digest: string): Promise<KeyEntry | null> {
    const underWay = this.#lookups.get(digest)
    if (underWay !== undefined) return underWay
    if (this.#lookups.size >= MOST_LOOKUPS)
      return Promise.reject(new StoreUnavailable('too many keys are being looked up'))
    const lookup = this.#read(digest).finally(() => this.#lookups.delete(digest))
    this.#lookups.set(digest, lookup)
    return lookup
  }

  async #read(digest: string): Promise<KeyEntry | null> {
    for (;;) {
      const generation = this.#generation
      const row = await this.#store.findKey(digest)
      if (generation !== this.#generation) continue // something changed meanwhile: it may have been this
      if (row === null) {
        this.#unknown.set(digest, true)
        this.#known.delete(digest)
        return null
      }
      const entry = new KeyEntry(row.key, row.account, row.keyPurse, row.accountPurse, this.#clock.monotonic())
      this.#known.set(digest, entry)
      return entry
    }
  }

  onChange(change: Change): void {
    if (change.kind === 'key') {
      this.#generation++
      this.#known.delete(change.ref)
      this.#unknown.delete(change.ref)
    } else if (change.kind === 'account') {
      this.#generation++
      const id = Number(change.ref)
      for (const [digest, entry] of this.#known.entries()) if (entry.account.id === id) this.#known.delete(digest)
    }
  }

  clear(): void {
    this.#generation++
    this.#known.clear()
    this.#unknown.clear()
  }
}
