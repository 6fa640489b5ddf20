/**
 * At most so many requests in any window, over all gateways. Slots are taken from the account's window in the store by
 * compare-and-swap, in slices: exactly what is asked for when the limit is near or the account is quiet, ahead of need
 * when it is busy, so that a steady flow asks the store every few seconds and not per request.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import { type Store, StoreUnavailable } from '../store/store.ts'
import type { Rate } from '../terms/records.ts'
import { RateWindow } from './window.ts'

/** Slots taken ahead are for the next parts of the window, and count as if used in the last of them. */
const AHEAD_PARTS = 5
/** Of what is free, at most this share is taken ahead of need: nobody strands what another gateway needs. */
const AHEAD_SHARE = 1 / 16
const MOST_ACCOUNTS = 100_000
const MOST_SWAPS = 50

class Account {
  /** In hand, usable up to and including part `until`. */
  slots = 0
  until = 0
  /** Requests since the last slice, for the size of the next. */
  asked = 0
  version = 0
  state = ''
  /** `state` is what the store said or took; otherwise it must be read first. */
  fresh = false
  waiting: ((waitS: number) => void)[] = []
  busy = false
}

export class RateLimiter {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: { warn(data: object, message: string): void }
  readonly #accounts = new LRUCache<number, Account>({ max: MOST_ACCOUNTS })
  #warned = false

  constructor(options: { store: Store; clock: Clock; log: { warn(data: object, message: string): void } }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#log = options.log
  }

  /** 0 = admitted, else whole seconds to wait. */
  admit(accountId: number, rate: Rate): number | Promise<number> {
    if (rate.requests === 0) return 0
    let account = this.#accounts.get(accountId)
    if (account === undefined) this.#accounts.set(accountId, (account = new Account()))
    account.asked++
    if (account.slots > 0 && account.waiting.length === 0 && this.#part(rate) <= account.until) {
      account.slots--
      return 0
    }
    return new Promise(resolve => {
      account.waiting.push(resolve)
      if (!account.busy) void this.#serve(accountId, account, rate)
    })
  }

  #part(rate: Rate): number {
    return new RateWindow(rate.minutes, '').partAt(this.#clock.now())
  }

  /** One store call at a time per account; everybody who came meanwhile is in the next. */
  async #serve(accountId: number, account: Account, rate: Rate): Promise<void> {
    account.busy = true
    while (account.waiting.length > 0) {
      const batch = account.waiting
      account.waiting = []
      const [admitted, waitS] = await this.#take(accountId, account, rate, batch.length)
      for (let i = 0; i < batch.length; i++) batch[i]?.(i < admitted ? 0 : waitS)
    }
    account.busy = false
  }

  /** How many of `need` are admitted, and how long the others must wait. */
  async #take(accountId: number, account: Account, rate: Rate, need: number): Promise<[number, number]> {
    try {
      for (let i = 0; i < MOST_SWAPS; i++) {
        if (!account.fresh) await this.#read(accountId, account)
        const offer = this.#offer(account, rate, need)
        if (offer.text === account.state) return [offer.admitted, offer.waitS]
        account.fresh = await this.#store.swapRateWindow(accountId, account.version, offer.text)
        if (!account.fresh) continue
        account.version++
        this.#keep(account, offer)
        return [offer.admitted, offer.waitS]
      }
      return [0, 1] // many gateways at once on the last slots: whoever lost that often may come again
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return this.#withoutStore(account, rate, need)
    }
  }

  async #read(accountId: number, account: Account): Promise<void> {
    const row = await this.#store.rateWindow(accountId)
    account.version = row?.version ?? 0
    account.state = row?.state ?? ''
    account.fresh = true
    this.#warned = false
  }

  #keep(account: Account, offer: Offer): void {
    account.state = offer.text
    account.slots = offer.ahead
    account.until = offer.until
    account.asked = 0
  }

  /** What can be given of the window as known, and how it reads afterwards. */
  #offer(account: Account, rate: Rate, need: number): Offer {
    const now = this.#clock.now()
    const window = new RateWindow(rate.minutes, account.state)
    const part = window.partAt(now)
    if (account.slots > 0) window.add(account.until, -account.slots) // not used in time: back
    const free = rate.requests - window.used(now)
    if (free <= 0)
      return {
        admitted: 0,
        ahead: 0,
        until: part,
        waitS: window.retryAfterS(now),
        text: account.slots > 0 ? window.toString() : account.state,
      }
    const admitted = Math.min(need, free)
    const ahead = Math.min(Math.max(0, account.asked - need), Math.floor((free - admitted) * AHEAD_SHARE))
    const until = part + (ahead > 0 ? AHEAD_PARTS : 0)
    window.add(part, admitted)
    if (ahead > 0) window.add(until, ahead)
    return { admitted, ahead, until, waitS: window.retryAfterS(now), text: window.toString() }
  }

  /** Nobody can say what the other gateways admit: the window as last known goes on here alone. */
  #withoutStore(account: Account, rate: Rate, need: number): [number, number] {
    if (!this.#warned) this.#log.warn({}, 'the store does not answer: rate limits hold per process')
    this.#warned = true
    const offer = this.#offer(account, rate, need)
    this.#keep(account, offer)
    account.fresh = false
    return [offer.admitted, offer.waitS]
  }
}

interface Offer {
  admitted: number
  ahead: number
  until: number
  waitS: number
  text: string
}
