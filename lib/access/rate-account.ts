/**
 * One rate window (of one account and one length) as this process sees it. It reads and writes the row in the store by
 * compare-and-swap on behalf of the process's slots, and remembers the latest refusal.
 */
import type { Store } from '../store/store.ts'
import type { Offer } from './offer.ts'
import { Slots } from './slots.ts'
import { RateState } from './window.ts'

/**
 * The most attempts to write when other gateways write at the same time; after that the waiting requests are refused.
 */
const MOST_SWAPS = 50
/** For this long after the store had no free slot, requests are refused without asking again. */
const REFUSED_MS = 500

/** A request that waits for a slot. `resolve` gets 0 (admitted) or the whole seconds to wait. */
export interface Waiting {
  limit: number
  resolve: (waitS: number) => void
  /** Ends its deadline. */
  cancel: () => void
}

export class RateAccount {
  readonly slots: Slots
  /** Requests in the order in which they came. */
  readonly waiting: Waiting[] = []
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
