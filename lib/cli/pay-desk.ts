/** The desk of payments for one command, which works beside a running gateway on its store. */
import { systemClock } from '../base/clock.ts'
import { PaymentService } from '../pay/service.ts'
import type { Store } from '../store/store.ts'
import type { Config } from '../config/config.ts'
import { createLogger } from '../base/log.ts'
import { PayTallies } from '../terms/tallies.ts'
import { NOBODY } from './with-store.ts'

/** The gateways that run beside a command find in the store what it has changed. */
const FLEET = {
  ...NOBODY,
  held: async () => new Map(),
  holders: async () => [],
  channelStates: async () => new Map(),
  changed: async () => {},
}
const NOTHING_ASIDE = { settlements: 0, unreadable: 0, journals: 0 }

export function deskOf(store: Store, config: Config) {
  const log = createLogger('warn', { write: line => void process.stderr.write(line) })
  const deps = { store, clock: systemClock, log, fleet: FLEET, setAside: () => NOTHING_ASIDE }
  return { deps, desk: new PaymentService({ ...deps, config: () => config, counts: new PayTallies() }) }
}
