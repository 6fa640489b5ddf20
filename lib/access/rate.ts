/**
 * The rate limiter: a distributed sliding window, at most N requests of an account in any window over all gateways.
 *
 * The window of each account is one row of the store. A process takes slots (permissions for one request each) from it
 * by compare-and-swap, several at a time. For an account that is quiet or near its limit it takes exactly what is asked
 * for. For a busy account it takes slots ahead of need and renews them before they run out, so that a steady flow of
 * requests calls the store every few seconds and never waits for it.
 *
 * A request that finds no slot in hand waits in a queue. Per account one store call at a time is under way, on behalf
 * of all that wait. When the store does not answer, each process goes on alone with the window as it last knew it: at once
 * while that is known, else when a request has waited for a second.
 */
import type { Clock } from '../base/clock.ts'
import { latest } from '../base/lru.ts'
import type { StoreHealth } from '../store/health.ts'
import type { Store } from '../store/store.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import type { Rate } from '../terms/records.ts'
import { type SlotOffer, Slots } from './slots.ts'
import { RateState } from './window.ts'

/** The most windows in memory. The slots of a window that is evicted stay counted as used, so the limit still holds. */
const MOST_WINDOWS = 100_000
/**
 * Account id × this + minutes is the key of a window in memory; it must be more than the longest window has minutes.
 */
const KEYS_PER_ACCOUNT = 65_536
/** Slots that nobody used for this long may go back to the store, and how often that is checked. */
const IDLE_MS = 750
const SWEEP_MS = 500
/** While the store does not answer, it is tried again this often. */
const RETRY_MS = 1000

interface Log {
  warn(data: object, message: string): void
  error(data: object, message: string): void
}

export class RateLimiter {
  readonly #store: Store
  readonly #clock: Clock
  readonly #health: StoreHealth
  readonly #log: Log
  readonly #accounts = latest<number, RateAccount>(MOST_WINDOWS)
  readonly #holding = new Set<RateAccount>()
  /** ms since 1970: the wall-clock time at the start, and from then on the monotonic clock, which never jumps. */
  readonly #now: () => number
  #sweeping = false
  #down = false
  #retryMs = 0

  constructor(options: { store: Store; clock: Clock; health: StoreHealth; log: Log }) {
    const { clock } = options
    this.#store = options.store
    this.#clock = clock
    this.#health = options.health
    this.#log = options.log
    const startMs = clock.now() - clock.monotonic()
    this.#now = () => startMs + clock.monotonic()
  }

  /** Returns 0 when the request is admitted, else the whole seconds to wait, at least 1. The promise never rejects. */
  admit(accountId: number, rate: Rate): number | Promise<number> {
    const limit = rate.requests
    if (limit === 0) return 0
    const account = this.#account(accountId, rate.minutes)
    const { slots } = account
    slots.flow.add()
    const now = account.now()
    if (account.waiting.length === 0) {
      if (slots.use(now, limit)) {
        if (!account.busy && !this.#isAlone && slots.wantsRenewal(now)) void this.#renew(account, limit)
        return 0
      }
      if (account.isRefused(limit, now)) return account.waitS(now)
    }
    if (this.#isAlone) return this.#alone(account, limit)
    return new Promise(resolve => {
      const cancel = this.#health.deadline(() => {
        account.waiting.splice(account.waiting.indexOf(waiting), 1)
        resolve(this.#alone(account, limit))
      })
      const waiting: WaitingRequest = { limit, resolve, cancel }
      account.waiting.push(waiting)
      if (!account.busy) void this.#serve(account)
    })
  }

  /**
   * How many requests more the window admits, as far as the store has told this process, and in how many seconds it has room for
   * another one. The answer of a request that was just admitted or refused.
   */
  standing(accountId: number, rate: Rate): { left: number; moreInS: number } {
    const account = this.#account(accountId, rate.minutes)
    const now = account.now()
    if (account.isRefused(rate.requests, now)) return { left: 0, moreInS: account.waitS(now) }
    const { left, moreInMs } = account.slots.standing(now, rate.requests)
    return { left, moreInS: Math.max(1, Math.ceil(moreInMs / 1000)) }
  }

  #account(id: number, minutes: number): RateAccount {
    const key = id * KEYS_PER_ACCOUNT + minutes
    let account = this.#accounts.get(key)
    if (account === undefined) {
      account = new RateAccount(id, minutes, this.#store, this.#now)
      this.#accounts.set(key, account)
    }
    return account
  }

  /** Takes slots from the store until nobody waits any more. */
  async #serve(account: RateAccount): Promise<void> {
    account.busy = true
    const { waiting } = account
    for (handOut(account); waiting.length > 0; handOut(account)) {
      const { limit } = waiting[0] as WaitingRequest
      const others = waiting.findIndex(w => w.limit !== limit)
      if (await this.#take(account, limit, others < 0 ? waiting.length : others, true)) continue
      for (const w of waiting.splice(0)) {
        w.cancel()
        w.resolve(this.#alone(account, w.limit))
      }
    }
    account.busy = false
  }

  /** Takes slots ahead of need, for requests that will come. */
  async #renew(account: RateAccount, limit: number): Promise<void> {
    account.busy = true
    await this.#take(account, limit, 0, true)
    await this.#serve(account) // requests may have come meanwhile, and wait
  }

  async #giveBack(account: RateAccount): Promise<void> {
    account.busy = true
    await this.#take(account, account.slots.limit, 0, false)
    await this.#serve(account)
  }

  /** Calls the store for slots; false = it does not answer. */
  async #take(account: RateAccount, limit: number, need: number, ahead: boolean): Promise<boolean> {
    try {
      await this.#health.watch(account.take(limit, need, ahead))
      this.#down = false
      if (account.slots.holds) this.#hold(account)
      return true
    } catch (error) {
      this.#storeFailed(error)
      return false
    }
  }

  // --- giving back slots that nobody uses

  #hold(account: RateAccount): void {
    this.#holding.add(account)
    if (this.#sweeping) return
    this.#sweeping = true
    this.#clock.after(SWEEP_MS, () => this.#sweep())
  }

  #sweep(): void {
    for (const account of this.#holding) {
      const { slots, busy } = account
      if (!slots.holds) this.#holding.delete(account)
      else if (!busy && !this.#isAlone && slots.shouldReturn(account.now(), IDLE_MS)) void this.#giveBack(account)
    }
    this.#sweeping = this.#holding.size > 0
    if (this.#sweeping) this.#clock.after(SWEEP_MS, () => this.#sweep())
  }

  // --- when the store does not answer

  get #isAlone(): boolean {
    return this.#down || this.#health.state !== 'ok'
  }

  #storeFailed(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) this.#log.error({ err: error }, 'a rate window failed')
    else if (!this.#down)
      this.#log.warn({ err: error.message }, 'the store does not answer: rate limits hold per process')
    this.#down = true
    this.#retryMs = this.#clock.monotonic() + RETRY_MS
  }

  /**
   * Admits by the window as last known, because nobody can tell what the other gateways admit. Now and then it tries
   * the store again. Returns what `admit` returns.
   */
  #alone(account: RateAccount, limit: number): number {
    if (this.#health.state === 'ok' && this.#clock.monotonic() >= this.#retryMs && !account.busy) {
      this.#retryMs = this.#clock.monotonic() + RETRY_MS
      void this.#renew(account, limit)
    }
    const waitMs = account.slots.useAlone(account.now(), limit)
    return waitMs === 0 ? 0 : Math.max(1, Math.ceil(waitMs / 1000))
  }
}

/**
 * Gives slots in hand, or the refusal that the store's answer means, to those who wait, in the order in which they
 * came.
 */
function handOut(account: RateAccount): void {
  const { waiting, slots } = account
  const now = account.now()
  let served = 0
  for (const { limit, resolve, cancel } of waiting) {
    if (slots.use(now, limit)) resolve(0)
    else if (account.isRefused(limit, now)) resolve(account.waitS(now))
    else break
    cancel()
    served++
  }
  waiting.splice(0, served)
}

// --- one window

/**
 * The most attempts to write when other gateways write at the same time; after that the waiting requests are refused.
 */
const MOST_SWAPS = 50
/** For this long after the store had no free slot, requests are refused without asking again. */
const REFUSED_MS = 500

/** A request that waits for a slot. `resolve` gets 0 (admitted) or the whole seconds to wait. */
interface WaitingRequest {
  limit: number
  resolve: (waitS: number) => void
  /** Ends its deadline. */
  cancel: () => void
}

/**
 * One rate window (of one account and one length) as this process sees it. It reads and writes the row in the store
 * by compare-and-swap on behalf of the process's slots, and remembers the latest refusal.
 */
class RateAccount {
  readonly slots: Slots
  /** Requests in the order in which they came. */
  readonly waiting: WaitingRequest[] = []
  /** A store call is under way. */
  busy = false
  readonly #id: number
  readonly #store: Store
  /** ms since 1970, which never jumps. */
  readonly #clock: () => number
  /** How far the clock of this process is behind the latest time that another process wrote. */
  #behindMs = 0
  /** Version of the row in the store, as last seen. */
  #version = 0
  /** `slots.state` is what the store has, as far as this process knows. */
  #fresh = false
  /** Other processes write this row too, so it must be read again before each write. */
  #contended = false
  /** Until this time requests with `#refusedLimit` or a lower limit are refused. */
  #refusedUntilMs = 0
  #refusedLimit = 0
  #freeAtMs = 0

  constructor(id: number, minutes: number, store: Store, clock: () => number) {
    this.slots = new Slots(minutes)
    this.#id = id
    this.#store = store
    this.#clock = clock
  }

  /** The time of this window in ms: it never goes back, and is never behind what other processes wrote. */
  now(): number {
    return this.#clock() + this.#behindMs
  }

  /** Whether the store has just had no free slot under this limit. */
  isRefused(limit: number, now: number): boolean {
    return limit <= this.#refusedLimit && now < this.#refusedUntilMs
  }

  /** Whole seconds until a slot is free, at least 1. */
  waitS(now: number): number {
    return Math.max(1, Math.ceil((this.#freeAtMs - now) / 1000))
  }

  /**
   * Takes slots for `need` waiting requests from the store, and with `ahead` some for later ones. When there are fewer,
   * the refusal is noted. Without `ahead` and with `need` 0, the slots in hand are given back. Throws what the store
   * throws.
   */
  async take(limit: number, need: number, ahead: boolean): Promise<void> {
    let looked = false
    this.#fresh &&= !this.#contended
    for (let i = 0; i < MOST_SWAPS; i++) {
      if (!this.#fresh) {
        await this.#read()
        looked = true
      }
      const offer = this.slots.offer(this.now(), limit, need, ahead)
      if (offer.granted < need && !looked) {
        this.#fresh = false // others may have given back meanwhile
        continue
      }
      if (offer.idle || (await this.#swap(offer))) {
        if (offer.granted < need) this.#refuse(limit, offer.freeInMs)
        return
      }
    }
    if (need > 0) this.#refuse(limit, 0)
  }

  async #read(): Promise<void> {
    const row = await this.#store.rateWindows.read(this.#id)
    const version = row?.version ?? 0
    this.#contended = version !== this.#version
    this.#version = version
    this.slots.see(row?.state ?? '', version)
    this.#fresh = true
    const { writtenMs } = new RateState(this.slots.state)
    this.#behindMs += Math.max(0, writtenMs - this.now())
  }

  async #swap(offer: SlotOffer): Promise<boolean> {
    const { slots } = this
    const { inHand } = slots
    slots.sent(offer)
    this.#fresh = false
    try {
      this.#fresh = await this.#store.rateWindows.swap(this.#id, this.#version, offer.text)
    } catch (error) {
      slots.inDoubt(offer, this.#version)
      throw error
    }
    if (this.#fresh) {
      this.#version++
      slots.taken(offer, this.now(), inHand - slots.inHand)
    } else {
      slots.notTaken(offer)
      this.#contended = true
    }
    return this.#fresh
  }

  #refuse(limit: number, freeInMs: number): void {
    const now = this.now()
    this.#freeAtMs = now + freeInMs
    this.#refusedUntilMs = now + Math.min(REFUSED_MS, Math.max(1, freeInMs))
    this.#refusedLimit = limit
  }
}
