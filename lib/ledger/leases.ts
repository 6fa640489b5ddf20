/** Keeps the leases of this process by purse: makes them when they are first needed, sums them, and forgets unused ones. */
import { type Micro, micro } from '../base/money.ts'
import { accountPurse, keyPurse, type PurseId, type Settlement } from '../store/store.ts'
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

  [Symbol.iterator](): Iterator<Lease> {
    return this.#leases.values()
  }

  find(purse: PurseId): Lease | undefined {
    return this.#leases.get(purse)
  }

  /** A settlement is in the books. What its leases could not pay of it, its purses have paid. */
  booked({ row, fromAccountLease, fromKeyLease, limits }: Settlement): void {
    const { accountId, keyId, charge } = row
    if (fromAccountLease < charge) this.find(accountPurse(accountId))?.booked(charge - fromAccountLease)
    if (fromKeyLease < charge) this.find(keyPurse(keyId))?.booked(charge - fromKeyLease)
    for (const { purse, fromLease } of limits) if (fromLease < charge) this.find(purse)?.booked(charge - fromLease)
  }

  /** Whether any lease has money, so that some requests can be served without the store. */
  get any(): boolean {
    for (const lease of this.#leases.values()) if (lease.leased > 0) return true
    return false
  }

  /** The sum of the open holds of all accounts; holds of keys and budgets are parts of these. */
  get heldTotal(): Micro {
    let sum = 0
    for (const lease of this.#leases.values()) if (lease.purse.startsWith('a')) sum += lease.held
    return micro(sum)
  }

  /** The sum of the open holds of each purse that has any. */
  held(): Map<PurseId, Micro> {
    const held = new Map<PurseId, Micro>()
    for (const lease of this.#leases.values()) if (lease.held > 0) held.set(lease.purse, lease.heldMicro)
    return held
  }

  /** A lease that was not used since the last call gives its money back, and is forgotten at a later call. */
  forget(): void {
    for (const lease of this.#leases.values()) {
      if (!lease.unusedSinceLastAsked()) continue
      if (lease.leased > 0) lease.giveBackIdle()
      else this.#leases.delete(lease.purse)
    }
  }

  /** Is called when this process was taken for dead: the store has given all its leases back, so they are empty here too. */
  lost(): void {
    for (const lease of this.#leases.values()) lease.lost()
  }
}
