/**
 * What one process of a gateway does in the background for all of them, be it alone or the primary: housekeeping, the rounds of
 * payments, and the deletion of old pictures.
 */
import { systemClock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import { countDeadLetters } from '../ledger/dead-letters.ts'
import type { Fleet } from '../ops/server.ts'
import { PictureSweep } from '../exchange/pictures/sweep.ts'
import type { Config } from '../config/config.ts'
import { Housekeeping } from './housekeeping.ts'
import { PayRounds } from './pay-rounds.ts'
import type { ServeParts } from './serve-parts.ts'

export interface Upkeep {
  /** What the latest audit of the books found; 0 = they add up. */
  imbalanceMicro(): Micro
  stop(): void
}

/** `current`: the config, which a reload may change. */
export function startUpkeep({ config, log, metrics, store }: ServeParts, fleet: Fleet, current: () => Config): Upkeep {
  const parts = { store, clock: systemClock, log, setAside: () => countDeadLetters(config.journal) }
  const housekeeping = new Housekeeping({
    ...parts,
    retentionMs: () => current().usageRetentionMs,
    addressesMs: () => current().addressRetentionMs,
    pay: metrics.pay,
  })
  const payRounds = new PayRounds({ ...parts, fleet, config: current, counts: metrics.pay })
  const sweep = new PictureSweep({ clock: systemClock, log, metrics, settings: () => current().images })
  housekeeping.start()
  payRounds.start()
  sweep.start()
  return {
    imbalanceMicro: () => housekeeping.imbalance,
    stop() {
      housekeeping.stop()
      payRounds.stop()
      void sweep.stop() // a sweep under way may go on: what is deleted is deleted
    },
  }
}
