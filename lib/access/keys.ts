/**
 * The cache of client keys, by the SHA-256 of their secret; secrets themselves are not kept. Keys that do not exist are
 * cached too (negative caching), in an LRU of their own. So each invented key costs one look-up and a bounded memory,
 * and a flood of them cannot evict the real keys.
 *
 * For a while after a key got another secret it may be used with the earlier one. The store says how much of that time is
 * left when the entry is read; when it is over, the secret counts as unknown, and nobody has to be asked.
 *
 * `onChange` invalidates entries. A look-up that is under way while its key or account changes reads again, so nothing
 * that was read before a change is kept after it. In case a change was never announced, entries older than five minutes
 * are refreshed in the background. The old entry serves meanwhile, and as long as the store does not answer. A request
 * with a key that is not in memory waits for the store as long as `lib/store/health.ts` says.
 */
import { hash } from 'node:crypto'
import type { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { latest } from '../base/lru.ts'
import type { StoreHealth } from '../store/health.ts'
import type { Store } from '../store/store.ts'
import type { Change } from '../store/base/changes.ts'
import type { FoundKey, KeyUse } from '../store/accounts/keys.ts'
import type { Purse } from '../store/books/purses.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import type { Account, Key } from '../terms/records.ts'
import { AddressList } from './ip.ts'
import { Turns } from './turns.ts'
import { Rounds } from '../base/rounds.ts'
import type { Logger } from '../base/log.ts'

/** A key with its account, as one look-up found them. */
export class KeyEntry {
  readonly key: Key
  readonly account: Account
  /** Addresses from which the key may be used; null = any. */
  readonly allow: AddressList | null
  /** Models that the key may use; null = all. */
  readonly models: ReadonlySet<string> | null
  /** The money of the key and of the account when the key was read. */
  readonly keyPurse: Purse
  readonly accountPurse: Purse
  /** The SHA-256 of the secret that it was found by. */
  readonly digest: string
  /** From this monotonic time (ms) on, the secret no longer works; Infinity for the key's own secret. */
  readonly endsMs: number
  /** From this monotonic time (ms) on, the entry is refreshed when it is used. Not after `endsMs`. */
  staleMs: number

  constructor(digest: string, { key, account, keyPurse, accountPurse, endsInMs }: FoundKey, nowMs: number) {
    this.digest = digest
    this.endsMs = endsInMs === null ? Number.POSITIVE_INFINITY : nowMs + endsInMs
    this.staleMs = Math.min(nowMs + OLDEST_MS, this.endsMs)
    this.key = key
    this.account = account
    this.allow = key.allowIps === null ? null : new AddressList(key.allowIps)
    this.models = key.models === null ? null : new Set(key.models)
    this.keyPurse = keyPurse
    this.accountPurse = accountPurse
  }
}

/** A look-up in the store, shared by all requests with the same key that come while it is under way. */
class LookUp {
  /** The key has changed since the store was last read. */
  changed = false
  /** All accounts that have changed since, because only the answer tells to which account the key belongs; null = none has. */
  changedAccounts: Set<number> | null = null
  answer: Promise<KeyEntry | null> | null = null

  /** The store is read from now on. */
  begin(): void {
    this.changed = false
    this.changedAccounts = null
  }
}

const MOST_KEYS = 100_000
const MOST_UNKNOWN = 100_000
/** The most look-ups at the store at once. */
const MOST_READING = 64
/** When this many more look-ups wait, the store is in trouble, and further ones are refused. */
const MOST_WAITING = 10_000
/** An entry that is older is refreshed when it is used. */
const OLDEST_MS = 5 * 60_000
/** An entry is refreshed at most this often, so that a store which does not answer is not flooded. */
const REFRESH_PAUSE_MS = 10_000
/** A key that changes during this many reads in a row is answered as last read, and not cached. */
const MOST_READS = 4
const LONGEST_SECRET = 256
const SECRET = /^sk-[\x21-\x7e]+$/

export class KeyCache {
  readonly #store: Store
  readonly #clock: Clock
  readonly #health: StoreHealth
  readonly #known: LRUCache<string, KeyEntry>
  /** Keys that do not exist: digest → monotonic ms from which on the store is asked again. */
  readonly #unknown: LRUCache<string, number>
  readonly #ofAccount = new Map<number, Set<string>>()
  /** The secret that came last on each connection, with its digest: clients send the same one again and again. */
  readonly #sent = new WeakMap<object, { secret: string; digest: string }>()
  readonly #lookUps = new Map<string, LookUp>()
  readonly #turns = new Turns(MOST_READING, MOST_WAITING)

  constructor(options: { store: Store; clock: Clock; health: StoreHealth; max?: number; maxUnknown?: number }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#health = options.health
    this.#known = latest(options.max ?? MOST_KEYS, (entry, digest) => this.#leaveAccount(entry.account.id, digest))
    this.#unknown = latest(options.maxUnknown ?? MOST_UNKNOWN)
  }

  /**
   * null = there is no such key. Rejects with StoreUnavailable when the store does not answer. `connection`: on which the secret came;
   * null = it is not known.
   */
  find(secret: string, connection: object | null = null): KeyEntry | null | Promise<KeyEntry | null> {
    const sent = connection === null ? undefined : this.#sent.get(connection)
    if (sent?.secret === secret) return this.byDigest(sent.digest)
    if (secret.length > LONGEST_SECRET || !SECRET.test(secret)) return null
    const digest = hash('sha256', secret, 'hex')
    if (sent !== undefined) {
      sent.secret = secret
      sent.digest = digest
    } else if (connection !== null) this.#sent.set(connection, { secret, digest })
    return this.byDigest(digest)
  }

  /** Finds a key by the SHA-256 of its secret, in hexadecimal, as `find` does by the secret itself. */
  byDigest(digest: string): KeyEntry | null | Promise<KeyEntry | null> {
    const now = this.#clock.monotonic()
    const entry = this.#known.get(digest)
    if (entry !== undefined) return now < entry.staleMs ? entry : this.#stale(entry, now)
    const staleMs = this.#unknown.get(digest)
    if (staleMs === undefined) return this.#lookUp(digest)
    if (now >= staleMs) {
      this.#unknown.set(digest, now + REFRESH_PAUSE_MS)
      this.#refresh(digest)
    }
    return null
  }

  /** An entry that is too old: it goes on serving while it is read again, unless its secret has ended. */
  #stale(entry: KeyEntry, now: number): KeyEntry | null {
    const { digest } = entry
    if (now >= entry.endsMs) {
      this.#keep(digest, null, now + OLDEST_MS)
      return null
    }
    entry.staleMs = Math.min(now + REFRESH_PAUSE_MS, entry.endsMs)
    this.#refresh(digest)
    return entry
  }

  /** The key as it is now, read again if it has changed since it was found; null = the key was deleted. */
  current({ digest }: KeyEntry): KeyEntry | null | Promise<KeyEntry | null> {
    return this.#known.get(digest) ?? (this.#unknown.has(digest) ? null : this.#lookUp(digest))
  }

  #refresh(digest: string): void {
    this.#lookUp(digest).catch(() => {}) // the old entry goes on serving
  }

  #lookUp(digest: string): Promise<KeyEntry | null> {
    const underWay = this.#lookUps.get(digest)?.answer
    if (underWay != null) return underWay
    if (this.#turns.full) return Promise.reject(new StoreUnavailable('too many keys are being looked up'))
    const lookUp = new LookUp()
    this.#lookUps.set(digest, lookUp)
    const waits = this.#turns.busy
    const read = this.#read(digest, lookUp)
    return (lookUp.answer = waits ? this.#health.within(read) : read) // each call of the store is bounded by itself
  }

  /** Reads, when its turn comes, until what was read did not change meanwhile. */
  async #read(digest: string, lookUp: LookUp): Promise<KeyEntry | null> {
    if (!this.#turns.begin()) await this.#turns.come()
    try {
      for (let reads = 1; ; reads++) {
        lookUp.begin()
        const readMs = this.#clock.monotonic() // before the store says what is left of a time
        const row = await this.#health.ask(() => this.#store.keys.find(digest))
        const entry = row === null ? null : new KeyEntry(digest, row, readMs)
        const changed = lookUp.changed || (entry !== null && lookUp.changedAccounts?.has(entry.account.id) === true)
        if (!changed) this.#keep(digest, entry, readMs + OLDEST_MS)
        if (!changed || reads === MOST_READS) return entry
      }
    } finally {
      this.#turns.end()
      this.#lookUps.delete(digest)
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
    for (const lookUp of this.#lookUps.values()) (lookUp.changedAccounts ??= new Set()).add(accountId)
  }

  clear(): void {
    this.#known.clear()
    this.#unknown.clear()
    for (const lookUp of this.#lookUps.values()) lookUp.changed = true
  }
}

// --- when keys were last used

const WRITE_MS = 60_000
/** Notes of further keys are dropped until the next write. */
const MOST_NOTES = 100_000

interface KeyUsesOptions {
  store: { keys: Pick<Store['keys'], 'recordUses'> }
  clock: Clock
  log: Logger
}

/**
 * The notes when and from which address keys were last used. A request leaves its note here when it is over; once a minute the
 * newest notes of all keys are written to the store together. What is not written when the process dies is lost,
 * which harms nobody: it is shown to people, and nothing is decided by it.
 */
export class KeyUses {
  readonly #o: KeyUsesOptions
  readonly #rounds: Rounds
  #notes = new Map<number, KeyUse>()

  constructor(options: KeyUsesOptions) {
    this.#o = options
    this.#rounds = new Rounds(options.clock, WRITE_MS, () => this.#write())
  }

  start(): void {
    this.#rounds.start()
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    await this.#rounds.stop()
    await this.#write()
  }

  note(keyId: number, ip: string, atMs: number): void {
    const there = this.#notes.get(keyId)
    if (there !== undefined) {
      there.atMs = atMs
      there.ip = ip
    } else if (this.#notes.size < MOST_NOTES) this.#notes.set(keyId, { keyId, atMs, ip })
  }

  async #write(): Promise<void> {
    const notes = this.#notes
    if (notes.size === 0) return
    this.#notes = new Map()
    try {
      await this.#o.store.keys.recordUses([...notes.values()])
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) this.#o.log.error({ err: error }, 'uses of keys are not kept')
    }
  }
}
