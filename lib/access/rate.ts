/**
 * At most so many requests in any window, over all gateways. Slots are taken from the account's window in the store by
 * compare-and-swap, in slices: exactly what is asked for when the account is quiet or its limit is near, ahead of need
 * and before they run out when it is busy, so that a steady flow asks the store every few seconds and waits for it never.
 *
 * Whoever finds no slot in hand waits in line; one store call is under way per account, for all who wait. When the store
 * does not answer, each process goes on by the window as it last knew it.
 */
import type { Clock } from '../base/clock.ts'
import { latest } from '../base/lru.ts'
import { type Store, StoreUnavailable } from '../store/store.ts'
import type { Rate } from '../terms/records.ts'
import { RateAccount, type Waiting } from './rate-account.ts'

/** Windows in memory; a window that is pushed out leaves its slots counted as used. */
const MOST_WINDOWS = 100_000
/** More than the longest window has minutes. */
const KEYS_PER_ACCOUNT = 65_536
const IDLE_MS = 750
const SWEEP_MS = 500
/** While the store is away it is asked this often whether it is back. */
const RETRY_MS = 1000

interface Log {
  warn(data: object, message: string): void
  error(data: object, message: string): void
}

export class RateLimiter {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  readonly #accounts = latest<number, RateAccount>(MOST_WINDOWS)
  readonly #holding = new Set<RateAccount>()
  /** Wall time at the start, and from there on by a clock that does not step. */
  readonly #now: () => number
  #sweeping = false
  #down = false
  #retryMs = 0

  constructor(options: { store: Store; clock: Clock; log: Log }) {
    const { clock } = options
    this.#store = options.store
    this.#clock = clock
    this.#log = options.log
    const startMs = clock.now() - clock.monotonic()
    this.#now = () => startMs + clock.monotonic()
  }

  /** 0 = admitted, else whole seconds to wait, at least 1. Never rejects. */
  admit(accountId: number, rate: Rate): number | Promise<number> {
    const limit = rate.requests
    if (limit === 0) return 0
    const account = this.#account(accountId, rate.minutes)
    const { slots } = account
    slots.flow.add()
    const now = account.now()
    if (account.waiting.length === 0) {
      if (slots.use(now, limit)) {
        if (!account.busy && !this.#down && slots.wantsRenewal(now)) void this.#renew(account, limit)
        return 0
      }
      if (account.isRefused(limit, now)) return account.waitS(now)
    }
    if (this.#down) return this.#alone(account, limit)
    return new Promise(resolve => {
      account.waiting.push({ limit, resolve })
      if (!account.busy) void this.#serve(account)
    })
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

  /** Until nobody waits. */
  async #serve(account: RateAccount): Promise<void> {
    account.busy = true
    const { waiting } = account
    for (handOut(account); waiting.length > 0; handOut(account)) {
      const { limit } = waiting[0] as Waiting
      const others = waiting.findIndex(w => w.limit !== limit)
      if (await this.#take(account, limit, others < 0 ? waiting.length : others, true)) continue
      for (const w of waiting.splice(0)) w.resolve(this.#alone(account, w.limit))
    }
    account.busy = false
  }

  /** Slots for those who will come. */
  async #renew(account: RateAccount, limit: number): Promise<void> {
    account.busy = true
    await this.#take(account, limit, 0, true)
    await this.#serve(account) // who came meanwhile
  }

  async #giveBack(account: RateAccount): Promise<void> {
    account.busy = true
    await this.#take(account, account.slots.limit, 0, false)
    await this.#serve(account)
  }

  /** False: the store is away. */
  async #take(account: RateAccount, limit: number, need: number, ahead: boolean): Promise<boolean> {
    try {
      await account.take(limit, need, ahead)
      this.#down = false
      if (account.slots.holds) this.#hold(account)
      return true
    } catch (error) {
      this.#storeFailed(error)
      return false
    }
  }

  // --- slots that nobody uses

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
      else if (!busy && !this.#down && slots.shouldReturn(account.now(), IDLE_MS)) void this.#giveBack(account)
    }
    this.#sweeping = this.#holding.size > 0
    if (this.#sweeping) this.#clock.after(SWEEP_MS, () => this.#sweep())
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
  #alone(account: RateAccount, limit: number): number {
    if (this.#clock.monotonic() >= this.#retryMs && !account.busy) {
      this.#retryMs = this.#clock.monotonic() + RETRY_MS
      void this.#renew(account, limit)
    }
    const waitMs = account.slots.useAlone(account.now(), limit)
    return waitMs === 0 ? 0 : Math.max(1, Math.ceil(waitMs / 1000))
  }
}

/** Slots in hand to those who wait, in the order they came; and the store's refusal to those it is about. */
function handOut(account: RateAccount): void {
  const { waiting, slots } = account
  const now = account.now()
  let served = 0
  for (const { limit, resolve } of waiting) {
    if (slots.use(now, limit)) resolve(0)
    else if (account.isRefused(limit, now)) resolve(account.waitS(now))
    else break
    served++
  }
  waiting.splice(0, served)
}
