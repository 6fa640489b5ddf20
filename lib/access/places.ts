/**
 * Places for open requests (`limits.concurrency`): an account has at most so many requests open, over all gateways. A row of the store
 * for each account says how many places each process has. A process takes places and gives them back by compare-and-swap; while it has a
 * free one it admits a request without asking the store, and what it has not used for IDLE_MS goes back (later, while no other process is
 * there that could need it). Where other processes have all places, a request waits for longer than that: some of these may be free by
 * now, and a client that keeps to its limit is not refused because its last request came to another process. Places of a process that
 * is no longer registered, because it is dead or has been renewed, count for nothing.
 *
 * While the store does not answer, each process counts for itself, and says so in the row when the store is back.
 */
import { type Clock, pause } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { invariant } from '../base/assert.ts'
import type { StoreHealth } from '../store/health.ts'
import type { Store } from '../store/store.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import { Turns } from './turns.ts'

/** An unused place has gone back after twice this time, which is less than a request waits for one (ANSWER_MS). */
const IDLE_MS = 300
/** While no other process is registered, an unused place is kept for so long. */
const LONE_IDLE_MS = 10_000
/** While requests wait, the store is asked again after this time, then after twice that … */
const POLL_MS = 100
/** … up to this, so that the store is asked for each request once more after an unused place has gone back. */
const MOST_POLL_MS = 200
/** A list of the registered processes is used for so long, for all accounts; a request that waits outlasts it. */
const LISTED_MS = 500
/** For this long after a request has waited in vain, others are refused without waiting. */
const REFUSED_MS = 250
/** The most attempts to write when other processes write at the same time; after that requests are refused. */
const MOST_SWAPS = 50
/**
 * In a row of more processes than this, those that are no longer registered are looked for also while their places are not needed: else
 * it would grow with each process that dies.
 */
const USUAL_PROCESSES = 16
/** The most accounts that give places back at the same time, so that no request waits long behind them at the store. */
const MOST_SETTLING = 4

interface Parts {
  store: { places: Store['places']; holders: Pick<Store['holders'], 'list'> }
  clock: Clock
  health: StoreHealth
  log: Pick<Logger, 'error'>
  /** The name under which this process is registered, which changes when it was taken for dead. */
  holder: () => string
  /** Whether no other process is registered. */
  alone: () => boolean
}

interface WaitingRequest {
  /** When it came (monotonic). */
  sinceMs: number
  resolve: (admitted: boolean) => void
  /** Ends its deadline. */
  cancel: () => void
}

class AccountPlaces {
  readonly id: number
  /** Under this name this process has `taken` places in the store. */
  holder: string
  limit = 0
  open = 0
  taken = 0
  /** The most requests that were open at once since the last sweep. */
  peak = 0
  /** The last sweep at which all of its places had been used since the one before (monotonic). */
  usedAtMs = 0
  /** The row may say another number than `taken`. */
  isDoubtful = false
  /** A store call is under way. */
  busy = false
  /** The account waits for its turn to give places back. */
  isQueued = false
  /** When the store last said that other processes have all places (monotonic). */
  fullAtMs = Number.NEGATIVE_INFINITY
  refusedUntilMs = 0
  /** In the order in which they came. */
  readonly waiting: WaitingRequest[] = []

  constructor(id: number, holder: string) {
    this.id = id
    this.holder = holder
  }

  admit(): true {
    this.open++
    this.peak = Math.max(this.peak, this.open)
    return true
  }

  /** Lets in the request that has waited longest. */
  admitFirst(): void {
    const { resolve, cancel } = this.waiting.shift() as WaitingRequest
    cancel()
    resolve(this.admit())
  }
}

export class Places {
  readonly #parts: Parts
  readonly #accounts = new Map<number, AccountPlaces>()
  /** Calls of the store that are under way. */
  readonly #writes = new Set<Promise<boolean>>()
  readonly #settling = new Turns(MOST_SETTLING, Number.POSITIVE_INFINITY)
  /** The processes that were registered when the store was last asked for them. */
  #listed = { ids: new Set<string>(), askedMs: Number.NEGATIVE_INFINITY }
  #cancelSweep: (() => void) | null = null
  #stopped = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Counts one more open request; false = the account has as many as `limit` (more than 0) allows. Whoever got true must call `leave` once.
   * The promise never rejects.
   */
  enter(accountId: number, limit: number): boolean | Promise<boolean> {
    const { clock, health } = this.#parts
    const account = this.#account(accountId)
    account.limit = limit
    if (account.open + account.waiting.length >= limit) return false
    if (account.waiting.length === 0 && (account.open < account.taken || health.state !== 'ok')) return account.admit()
    const nowMs = clock.monotonic()
    if (nowMs < account.refusedUntilMs) return false
    return new Promise(resolve => {
      const cancel = health.deadline(() => {
        account.waiting.splice(account.waiting.indexOf(waiting), 1)
        if (account.fullAtMs < waiting.sinceMs) return resolve(account.admit()) // the store did not answer
        account.refusedUntilMs = clock.monotonic() + REFUSED_MS
        resolve(false)
      })
      const waiting: WaitingRequest = { sinceMs: nowMs, resolve, cancel }
      account.waiting.push(waiting)
      if (!account.busy) void this.#serve(account)
    })
  }

  leave(accountId: number): void {
    const account = this.#accounts.get(accountId)
    invariant(account !== undefined && account.open > 0, `account ${accountId} leaves and has nothing open`)
    account.open--
    if (account.waiting.length > 0 && account.open < account.taken) account.admitFirst()
  }

  /** Asks the store for nothing more; resolves when it has answered. Unregistering the process gives its places back. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelSweep?.()
    await Promise.all(this.#writes)
  }

  #account(id: number): AccountPlaces {
    const holder = this.#parts.holder()
    let account = this.#accounts.get(id)
    if (account === undefined) {
      this.#accounts.set(id, (account = new AccountPlaces(id, holder)))
      this.#sweepLater()
    }
    if (account.holder !== holder) {
      account.holder = holder
      account.taken = 0
      account.isDoubtful = true
    }
    return account
  }

  async #serve(account: AccountPlaces): Promise<void> {
    const { clock } = this.#parts
    const { waiting } = account
    account.busy = true
    let pollMs = POLL_MS
    while (waiting.length > 0) {
      const wanted = account.open + waiting.length
      const told = await this.#write(account, wanted)
      while (waiting.length > 0 && (!told || account.open < account.taken)) account.admitFirst()
      if (account.taken >= wanted || waiting.length === 0) continue
      account.fullAtMs = clock.monotonic()
      await pause(clock, pollMs)
      pollMs = Math.min(2 * pollMs, MOST_POLL_MS)
    }
    account.busy = false
  }

  /** Has so many places, or as many of them as there are. False: the store does not answer. */
  #write(account: AccountPlaces, wanted: number): Promise<boolean> {
    const write = this.#tryToWrite(account, wanted).finally(() => this.#writes.delete(write))
    this.#writes.add(write)
    return write
  }

  async #tryToWrite(account: AccountPlaces, wanted: number): Promise<boolean> {
    if (this.#stopped) return false
    const { health, log } = this.#parts
    try {
      await health.watch(this.#swap(account, wanted))
      return true
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'the places of an account failed')
      return false
    }
  }

  async #swap(account: AccountPlaces, wanted: number): Promise<void> {
    const { places } = this.#parts.store
    const { id, holder, limit } = account
    for (let i = 0; i < MOST_SWAPS; i++) {
      const row = await places.read(id)
      const others = new Map<string, number>(Object.entries(JSON.parse(row?.state ?? '{}') as Record<string, number>))
      const before = others.get(holder) ?? 0
      others.delete(holder)
      const isCrowded = sumOf(others) + wanted > limit || others.size > USUAL_PROCESSES
      const areGone = isCrowded && (await this.#dropDead(others))
      const taken = Math.max(account.open, Math.min(wanted, limit - sumOf(others)))
      if (this.#parts.holder() !== holder) return // it was taken for dead meanwhile, and nothing of this counts
      if (taken === before && !areGone) return this.#has(account, taken)
      // until the store has answered, the smaller number holds
      account.isDoubtful = true
      account.taken = Math.min(account.taken, taken)
      const state = JSON.stringify(Object.fromEntries(taken === 0 ? others : [...others, [holder, taken]]))
      const isDone = await places.swap(id, row?.version ?? 0, state)
      if (this.#parts.holder() !== holder) return
      if (isDone) return this.#has(account, taken)
    }
  }

  /**
   * Drops the processes that are not registered; true if there were any. Only a list that was asked for after the row was read says that
   * one is gone: an older one lacks those that have registered since.
   */
  async #dropDead(others: Map<string, number>): Promise<boolean> {
    const askedMs = this.#parts.clock.monotonic()
    const listed = this.#listed
    const { size } = others
    if (askedMs - listed.askedMs < LISTED_MS && [...others.keys()].every(id => listed.ids.has(id))) return false
    const ids = new Set((await this.#parts.store.holders.list()).map(one => one.id))
    this.#listed = { ids, askedMs }
    for (const other of others.keys()) if (!ids.has(other)) others.delete(other)
    return others.size < size
  }

  #has(account: AccountPlaces, taken: number): void {
    account.taken = taken
    account.isDoubtful = false
  }

  #sweepLater(): void {
    if (!this.#stopped) this.#cancelSweep ??= this.#parts.clock.after(IDLE_MS, () => this.#sweep())
  }

  /** What has not been used since the last time goes back, and the row is told what it does not know. */
  #sweep(): void {
    this.#cancelSweep = null
    const nowMs = this.#parts.clock.monotonic()
    const keptMs = this.#parts.alone() ? LONE_IDLE_MS : 0
    for (const account of this.#accounts.values()) {
      const { open, taken, peak, busy, isQueued, isDoubtful } = this.#account(account.id)
      account.peak = open
      if (peak >= taken) account.usedAtMs = nowMs
      if (busy || isQueued) continue
      if (open + taken === 0 && !isDoubtful) this.#accounts.delete(account.id)
      else if (nowMs - account.usedAtMs > keptMs || open > taken || isDoubtful) {
        account.isQueued = true
        void this.#settling.take(() => this.#settle(account, Math.min(peak, account.limit)))
      }
    }
    if (this.#accounts.size > 0) this.#sweepLater()
  }

  async #settle(account: AccountPlaces, wanted: number): Promise<void> {
    account.isQueued = false
    if (account.busy || this.#parts.health.state !== 'ok') return
    account.busy = true
    await this.#write(account, wanted)
    void this.#serve(account) // requests may have come meanwhile, and wait
  }
}

function sumOf(places: ReadonlyMap<string, number>): number {
  let sum = 0
  for (const count of places.values()) sum += count
  return sum
}
