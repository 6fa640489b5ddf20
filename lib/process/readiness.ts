/**
 * Decides whether a serving process can take new requests, which `/readyz` answers. A store that is away does not
 * matter as long as this process has leases, because then requests are served from memory.
 */
import type { Ledger } from '../ledger/ledger.ts'
import type { Readiness } from '../ops/server.ts'
import type { StoreHealth } from '../store/health.ts'

/** `away` is also said of a store that answers too late for requests. Load balancers wait longer than the probe takes. */
export async function readinessOf(
  { ledger }: { ledger: Pick<Ledger, 'accepting' | 'hasLeases'> & { health: Pick<StoreHealth, 'check'> } },
  draining: () => boolean,
): Promise<Readiness> {
  const state = (await ledger.health.check()) === 'ok' ? 'ok' : 'away'
  if (draining()) return { ready: false, store: state, reason: 'draining' }
  if (!ledger.accepting) return { ready: false, store: state, reason: 'the ledger takes no new requests' }
  if (state === 'away' && !ledger.hasLeases)
    return { ready: false, store: state, reason: 'the store is away and nothing is leased' }
  return { ready: true, store: state }
}
