/** One account's window of one length, as this process sees it: its slots, the store's text behind them, the last refusal. */
import type { Store } from '../store/store.ts'
import type { Offer } from './offer.ts'
import { Slots } from './slots.ts'
import { RateState } from './window.ts'

/** Many gateways at once on the last slots: whoever loses that often may come again. */
const MOST_SWAPS = 50
/** For so long the store's word that nothing is free is believed. */
const REFUSED_MS = 500

export interface Waiting {
  limit: number
  resolve: (waitS: number) => void
}

export class RateAccount {
  readonly slots: Slots
  /** In the order they came. */
  readonly waiting: Waiting[] = []
  /** A store call is under way. */
  busy = false
  readonly #id: number
  readonly #store: Store
  /** Monotonic, but counted from 1970. */
  readonly #clock: () => number
  /** How far this process is behind the furthest of the others. */
  #behindMs = 0
  #version = 0
  /** `slots.state` is what the store holds, as far as is known. */
  #fresh = false
  /** Others write too: what is in memory is old by the time it is needed. */
  #contended = false
  #refusedUntilMs = 0
  #refusedLimit = 0
  #freeAtMs = 0

  constructor(id: number, minutes: number, store: Store, clock: () => number) {
    this.slots = new Slots(minutes)
    this.#id = id
    this.#store = store
    this.#clock = clock
  }

  /** ms on the account's own time line, which never goes back. */
  now(): number {
    return this.#clock() + this.#behindMs
  }

  /** The store has just said that nothing is free. */
  isRefused(limit: number, now: number): boolean {
    return limit <= this.#refusedLimit && now < this.#refusedUntilMs
  }

  /** Whole seconds until it may be, at least 1. */
  waitS(now: number): number {
    return Math.max(1, Math.ceil((this.#freeAtMs - now) / 1000))
  }

  /**
   * Puts slots for `need` in hand, as far as there are any, else notes the refusal; with `ahead` some more. Without it,
   * and for nobody's need, what is in hand goes back. Throws what the store throws.
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
    const row = await this.#store.rateWindow(this.#id)
    const version = row?.version ?? 0
    this.#contended = version !== this.#version
    this.#version = version
    this.slots.see(row?.state ?? '', version)
    this.#fresh = true
    const { writtenMs } = new RateState(this.slots.state)
    this.#behindMs += Math.max(0, writtenMs - this.now())
  }

  async #swap(offer: Offer): Promise<boolean> {
    const { slots } = this
    const { inHand } = slots
    slots.sent(offer)
    this.#fresh = false
    try {
      this.#fresh = await this.#store.swapRateWindow(this.#id, this.#version, offer.text)
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
