/**
 * At most so many requests in any window, over all gateways. Slots are taken from the account's window in the store by
 * compare-and-swap, in slices: exactly what is asked for when the account is quiet or its limit is near, ahead of need
 * and before they run out when it is busy, so that a steady flow asks the store every few seconds and waits for it never.
 *
 * Whoever finds no slot in hand waits in line; one store call is under way per account, for all who wait. When the store
 * does not answer, each process goes on by the window as it last knew it.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { type Store, StoreUnavailable } from '../store/store.ts'
import type { Rate } from '../terms/records.ts'
import { type Offer, Slots } from './slots.ts'
import { RateState } from './window.ts'

/** Windows in memory; a window that is pushed out leaves its slots counted as used. */
const MOST_WINDOWS = 100_000
const KEYS_PER_ACCOUNT = 65_536
/** Many gateways at once on the last slots: whoever loses that often may come again. */
const MOST_SWAPS = 50
const IDLE_MS = 750
const SWEEP_MS = 500
/** For so long the store's word that nothing is free is believed. */
const REFUSED_MS = 500
/** While the store is away it is asked this often whether it is back. */
const RETRY_MS = 1000

interface Waiting {
  limit: number
  resolve: (waitS: number) => void
}

interface Log {
  warn(data: object, message: string): void
  error(data: object, message: string): void
}

class Account {
  readonly id: number
  readonly slots: Slots
  /** How far this process is behind the furthest of the others. */
  behindMs = 0
  version = 0
  /** `slots.state` is what the store holds, as far as is known. */
  fresh = false
  /** Others write too: what is in memory is old by the time it is needed. */
  contended = false
  waiting: Waiting[] = []
  busy = false
  refusedUntilMs = Number.NEGATIVE_INFINITY
  refusedLimit = 0
  freeAtMs = 0

  constructor(id: number, minutes: number) {
    this.id = id
    this.slots = new Slots(minutes)
  }
}

export class RateLimiter {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  readonly #accounts = new LRUCache<number, Account>({ max: MOST_WINDOWS })
  readonly #holding = new Set<Account>()
  /** Wall time at the start, less monotonic time then: from there on only the latter counts. */
  readonly #startMs: number
  #sweeping = false
  #down = false
  #retryMs = 0

  constructor(options: { store: Store; clock: Clock; log: Log }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#log = options.log
    this.#startMs = options.clock.now() - options.clock.monotonic()
  }

  /** 0 = admitted, else whole seconds to wait, at least 1. Never rejects. */
  admit(accountId: number, rate: Rate): number | Promise<number> {
    const limit = rate.requests
    if (limit === 0) return 0
    const account = this.#account(accountId, rate.minutes)
    const { slots } = account
    slots.asked()
    const now = this.#now(account)
    if (account.waiting.length === 0) {
      if (slots.use(now, limit)) {
        if (!account.busy && !this.#down && slots.wantsRenewal(now)) void this.#serve(account, limit)
        return 0
      }
      if (this.#isRefused(account, limit)) return this.#waitS(account)
    }
    if (this.#down) return this.#alone(account, limit)
    return new Promise(resolve => {
      account.waiting.push({ limit, resolve })
      if (!account.busy) void this.#serve(account, 0)
    })
  }

  #account(id: number, minutes: number): Account {
    const key = id * KEYS_PER_ACCOUNT + minutes
    let account = this.#accounts.get(key)
    if (account === undefined) this.#accounts.set(key, (account = new Account(id, minutes)))
    return account
  }

  #now(account: Account): number {
    return this.#startMs + this.#clock.monotonic() + account.behindMs
  }

  #isRefused(account: Account, limit: number): boolean {
    return limit <= account.refusedLimit && this.#clock.monotonic() < account.refusedUntilMs
  }

  #waitS(account: Account): number {
    return Math.max(1, Math.ceil((account.freeAtMs - this.#clock.monotonic()) / 1000))
  }

  /** Until nobody waits. With `renew`, the limit of those who will come, slots for them first. */
  async #serve(account: Account, renew: number): Promise<void> {
    account.busy = true
    try {
      if (renew > 0) await this.#take(account, renew, 0, true)
      for (this.#handOut(account); account.waiting.length > 0; this.#handOut(account)) {
        const { limit } = account.waiting[0] as Waiting
        const others = account.waiting.findIndex(w => w.limit !== limit)
        await this.#take(account, limit, others < 0 ? account.waiting.length : others, true)
      }
    } catch (error) {
      this.#storeFailed(error)
      for (const w of account.waiting.splice(0)) w.resolve(this.#alone(account, w.limit))
    }
    account.busy = false
  }

  /** Slots in hand to those who wait, in the order they came; and the store's refusal to those it is about. */
  #handOut(account: Account): void {
    const { waiting, slots } = account
    let served = 0
    for (const { limit, resolve } of waiting) {
      if (slots.use(this.#now(account), limit)) resolve(0)
      else if (this.#isRefused(account, limit)) resolve(this.#waitS(account))
      else break
      served++
    }
    waiting.splice(0, served)
  }

  /** Puts slots for `need` in hand, as far as there are any; else notes the refusal. Throws what the store throws. */
  async #take(account: Account, limit: number, need: number, ahead: boolean): Promise<void> {
    let looked = false
    account.fresh &&= !account.contended
    for (let i = 0; i < MOST_SWAPS; i++) {
      if (!account.fresh) {
        await this.#read(account)
        looked = true
      }
      const offer = account.slots.offer(this.#now(account), limit, need, ahead)
      if (offer.granted < need && !looked) {
        account.fresh = false // others may have given back meanwhile
        continue
      }
      if (offer.idle || (await this.#swap(account, offer))) {
        if (offer.granted < need) this.#refuse(account, limit, offer.freeInMs)
        return
      }
    }
    if (need > 0) this.#refuse(account, limit, 0)
  }

  async #read(account: Account): Promise<void> {
    const row = await this.#store.rateWindow(account.id)
    this.#down = false
    const version = row?.version ?? 0
    account.contended = version !== account.version
    account.version = version
    account.slots.see(row?.state ?? '', version)
    account.fresh = true
    const { writtenMs } = new RateState(account.slots.state)
    account.behindMs += Math.max(0, writtenMs - this.#now(account))
  }

  async #swap(account: Account, offer: Offer): Promise<boolean> {
    const { slots } = account
    const { inHand } = slots
    slots.sent()
    account.fresh = false
    try {
      account.fresh = await this.#store.swapRateWindow(account.id, account.version, offer.text)
    } catch (error) {
      slots.inDoubt(offer, account.version)
      throw error
    }
    this.#down = false
    if (account.fresh) {
      account.version++
      slots.taken(offer, this.#now(account), inHand - slots.inHand)
      this.#hold(account)
    } else {
      slots.notTaken(offer)
      account.contended = true
    }
    return account.fresh
  }

  #refuse(account: Account, limit: number, freeInMs: number): void {
    const now = this.#clock.monotonic()
    account.freeAtMs = now + freeInMs
    account.refusedUntilMs = now + Math.min(REFUSED_MS, Math.max(1, freeInMs))
    account.refusedLimit = limit
  }

  // --- slots that nobody uses

  #hold(account: Account): void {
    this.#holding.add(account)
    if (this.#sweeping) return
    this.#sweeping = true
    this.#clock.after(SWEEP_MS, () => this.#sweep())
  }

  #sweep(): void {
    for (const account of this.#holding) {
      const now = this.#now(account)
      if (!account.slots.holds) this.#holding.delete(account)
      else if (!account.busy && !this.#down && account.slots.shouldReturn(now, IDLE_MS)) void this.#giveBack(account)
    }
    this.#sweeping = this.#holding.size > 0
    if (this.#sweeping) this.#clock.after(SWEEP_MS, () => this.#sweep())
  }

  async #giveBack(account: Account): Promise<void> {
    account.busy = true
    try {
      await this.#take(account, account.slots.limit, 0, false)
    } catch (error) {
      this.#storeFailed(error)
    }
    await this.#serve(account, 0) // who came meanwhile
  }

  // --- without the store

  #storeFailed(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) this.#log.error({ err: error }, 'a rate window failed')
    else if (!this.#down)
      this.#log.warn({ err: error.message }, 'the store does not answer: rate limits hold per process')
    this.#down = true
    this.#retryMs = this.#clock.monotonic() + RETRY_MS
  }

  /** Nobody can say what the other gateways admit: the window as last known goes on here alone. */
  #alone(account: Account, limit: number): number {
    if (this.#clock.monotonic() >= this.#retryMs && !account.busy) {
      this.#retryMs = this.#clock.monotonic() + RETRY_MS
      void this.#serve(account, limit)
    }
    const waitMs = account.slots.useAlone(this.#now(account), limit)
    return waitMs === 0 ? 0 : Math.max(1, Math.ceil(waitMs / 1000))
  }
}
