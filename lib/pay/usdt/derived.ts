/**
 * What the addresses of the store must be. Whoever could change a row there would have people pay to an address of his own, and
 * nothing would be missed until they ask for their money: so no address is shown that the operator's key does not give.
 */
import type { DepositAddress } from '../../terms/deposits.ts'
import { addressAt } from '../../config/xpub.ts'

/** Deriving one takes milliseconds, and pages ask for the same ones again and again. */
const MOST_KEPT = 1_000

export class Derived {
  readonly #xpub: string
  readonly #kept = new Map<number, string>()

  constructor(xpub: string) {
    this.#xpub = xpub
  }

  has({ number, address }: Pick<DepositAddress, 'number' | 'address'>): boolean {
    const derived = this.#kept.get(number) ?? addressAt(this.#xpub, number)
    if (!this.#kept.has(number) && this.#kept.size >= MOST_KEPT) this.#kept.clear()
    this.#kept.set(number, derived)
    return derived === address
  }
}
