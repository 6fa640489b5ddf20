/**
 * The upstreams that are read on although their client has left ("read-ons"), so that leaving is never cheaper than staying. A
 * stream takes a place: an account has only so many of them, and when all accounts together have more than the process allows,
 * the oldest one of the account with most is given up. What ends soon, or must be waited for anyway, takes no place. How a whole
 * process drains when it ends is in `lib/process/server-drain.ts`.
 */
import type { CountedReadOn } from './exchange.ts'

/** An account with so many requests whose client has left is let in no more, whatever kind they are. */
const MOST_LEFT = 256

interface OfAccount {
  left: number
  /** The oldest first. */
  readonly places: Set<CountedReadOn>
}

export class ReadOns {
  readonly #accounts = new Map<number, OfAccount>()
  /** The number of upstreams that are read on, and of those that have a place. */
  size = 0
  taken = 0

  /** A client has left. */
  add({ accountId }: CountedReadOn): void {
    const of = this.#accounts.get(accountId)
    if (of === undefined) this.#accounts.set(accountId, { left: 1, places: new Set() })
    else of.left++
    this.size++
  }

  /** The upstream of a read-on is done with. */
  remove(readOn: CountedReadOn): void {
    const of = this.#accounts.get(readOn.accountId) as OfAccount
    this.freePlace(readOn)
    this.size--
    if (--of.left === 0) this.#accounts.delete(readOn.accountId)
  }

  /** Takes one of the account's `most` places. False: they are taken. `total`: the most places of all accounts. */
  takePlace(readOn: CountedReadOn, most: number, total: number): boolean {
    const { places } = this.#accounts.get(readOn.accountId) as OfAccount
    if (places.size >= Math.min(most, total)) return false
    places.add(readOn)
    if (++this.taken > total) this.#dropOldest()
    return true
  }

  /** A read-on needs its place no more. */
  freePlace(readOn: CountedReadOn): void {
    if (this.#accounts.get(readOn.accountId)?.places.delete(readOn)) this.taken--
  }

  #dropOldest(): void {
    let most: Set<CountedReadOn> | null = null
    for (const { places } of this.#accounts.values()) if (places.size > (most?.size ?? 0)) most = places
    const [oldest] = most ?? []
    if (oldest === undefined) return
    this.freePlace(oldest)
    oldest.dropped()
  }

  /** True when an account that has `most` places has taken all of them, or has left too many requests behind. */
  isFull(accountId: number, most: number, total: number): boolean {
    const of = this.#accounts.get(accountId)
    if (of === undefined) return false
    return of.left >= MOST_LEFT || (of.places.size > 0 && of.places.size >= Math.min(most, total))
  }
}
