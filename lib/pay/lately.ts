/**
 * How often providers are asked about orders because somebody looks at them. Pages that stand open look again and again, and
 * whoever looks at many old orders, one after the other, must not use up what a provider answers us.
 */
import { SECOND_MS } from '../base/clock.ts'
import type { Order, OrderMethod } from '../terms/pay.ts'

/** Most names that either of the two keeps. */
const MOST_KEPT = 1_000
const ORDER_EVERY_MS = 5_000
/** How often an account may ask about all its orders together. */
const ACCOUNT_EVERY_MS = 500
/** How often a method is asked in a second, for all orders together. Whoever comes too late sees what the schedule learns. */
const MOST_OF_METHOD = 10

export class AskedLately {
  /** When it was, by order and by account; the oldest first. */
  readonly #at = new Map<string, number>()
  /** How many were asked about in this second, by method. */
  readonly #counts = new Map<OrderMethod, number>()
  #second = 0

  /** Whether the provider may be asked about an order now; then it counts as asked. `now`: ms of a clock that never jumps. */
  take({ id, accountId, method }: Order, now: number): boolean {
    const account = `account ${accountId}`
    if (this.#isRecent(id, now - ORDER_EVERY_MS) || this.#isRecent(account, now - ACCOUNT_EVERY_MS)) return false
    if (!this.#count(method, Math.floor(now / SECOND_MS))) return false
    for (const name of [id, account]) {
      this.#at.delete(name)
      if (this.#at.size >= MOST_KEPT) this.#at.delete(this.#at.keys().next().value as string)
      this.#at.set(name, now)
    }
    return true
  }

  #count(method: OrderMethod, second: number): boolean {
    if (second !== this.#second) this.#counts.clear()
    this.#second = second
    const count = this.#counts.get(method) ?? 0
    this.#counts.set(method, count + 1)
    return count < MOST_OF_METHOD
  }

  #isRecent(name: string, since: number): boolean {
    return (this.#at.get(name) ?? Number.NEGATIVE_INFINITY) > since
  }
}

const KEPT_MS = 60_000

/**
 * Addresses of pages that are signed when they are shown. A signature has a time in it, and providers take it for minutes only, while
 * an order lives for half an hour and more. Whoever looks again and again gets the same address for a while: a signature costs most
 * of a millisecond.
 */
export class SignedPages {
  /** By order and place to return to; the oldest first. */
  readonly #made = new Map<string, { at: number; address: string }>()

  /** `now`: ms of a clock that never jumps. */
  of(key: string, now: number, sign: () => string): string {
    const known = this.#made.get(key)
    if (known !== undefined && now - known.at < KEPT_MS) return known.address
    const address = sign()
    this.#made.delete(key)
    if (this.#made.size >= MOST_KEPT) this.#made.delete(this.#made.keys().next().value as string)
    this.#made.set(key, { at: now, address })
    return address
  }
}
