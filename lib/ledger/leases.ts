/** All leases of one process, by purse. */
import { type Micro, micro } from '../base/money.ts'
import type { PurseId } from '../store/store.ts'
import { Lease, type LeaseOptions } from './lease.ts'

export class Leases {
  readonly #options: LeaseOptions
  readonly #leases = new Map<PurseId, Lease>()

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  of(purse: PurseId): Lease {
    let lease = this.#leases.get(purse)
    if (lease === undefined) this.#leases.set(purse, (lease = new Lease(purse, this.#options)))
    return lease
  }

  find(purse: PurseId): Lease | undefined {
    return this.#leases.get(purse)
  }

  /** Some money is here. */
  get any(): boolean {
    for (const lease of this.#leases.values()) if (lease.leased > 0) return true
    return false
  }

  /** Of all accounts. */
  get heldTotal(): Micro {
    let sum = 0
    for (const lease of this.#leases.values()) if (lease.purse.startsWith('a')) sum += lease.held
    return micro(sum)
  }

  /** Open holds per purse. */
  held(): Map<PurseId, Micro> {
    const held = new Map<PurseId, Micro>()
    for (const lease of this.#leases.values()) if (lease.held > 0) held.set(lease.purse, lease.heldMicro)
    return held
  }

  /** A purse that nobody has used since the last time gives back what it has; then nothing of it need be remembered. */
  forget(): void {
    for (const lease of this.#leases.values()) {
      if (!lease.unusedSinceLastAsked()) continue
      if (lease.leased > 0) lease.giveBackIdle()
      else this.#leases.delete(lease.purse)
    }
  }

  /** The store has taken all of them back. */
  lost(): void {
    for (const lease of this.#leases.values()) lease.lost()
  }
}
