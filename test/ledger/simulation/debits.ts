/**
 * Money that an operator takes out of an account, by the product's own operation. A chosen debit waits until the
 * gateways have given back what they do not need, and is refused when too little is free; a forced one always applies.
 */
import { formatMicro, micro, parseMicro } from '../../../lib/base/money.ts'
import { Entries } from '../../../lib/operations/billing/entries.ts'
import { OperationError } from '../../../lib/operations/error.ts'
import type { Store } from '../../../lib/store/store.ts'
import { ADMIN } from '../../support/store.ts'
import { Broken } from './books.ts'
import type { ProcessClock } from './timeline.ts'

/** The reason of each forced debit, by which the rules tell it from a chosen one. */
export const FORCED = 'a dispute was lost'

export class Debits {
  readonly #entries: Entries
  #count = 0

  /** The gateways hear of a debit from the store alone, as those of other machines do. */
  constructor(store: Store, clock: ProcessClock) {
    const log = { info: () => {}, warn: () => {}, error: () => {} } as never
    const fleet = {
      held: async () => new Map(),
      holders: async () => [],
      channelStates: async () => new Map(),
      changed: async () => {},
      settled: async () => {},
    }
    this.#entries = new Entries({ store, clock, log, fleet, setAside: () => ({}) as never })
  }

  /** Resolves with what could be taken at most when the debit is refused, or with null when it was made. */
  async take(account: string, amount: number, force: boolean): Promise<number | null> {
    const reference = `d${++this.#count}`
    try {
      const sent = { amount: formatMicro(micro(-amount)), reference, force, note: force ? FORCED : '' }
      await this.#entries.adjust(account, sent, ADMIN)
      return null
    } catch (error) {
      if (!(error instanceof OperationError)) throw error
      const available = parseMicro(error.details['available'] ?? '')
      if (force || available === null || available >= amount)
        throw new Broken(`a debit of ${amount} (${force ? 'forced' : 'chosen'}) was refused: ${error.message}`)
      return available
    }
  }
}
