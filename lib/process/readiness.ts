/**
 * Decides whether a serving process can take new requests, which `/readyz` answers. A store that is away does not
 * matter as long as this process has leases, because then requests are served from memory.
 */
import type { Clock } from '../base/clock.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Readiness } from '../ops/fleet.ts'
import type { Store } from '../store/store.ts'

/**
 * A store that does not answer a ping within this time counts as away. Load balancers wait longer than this for
 * `/readyz`.
 */
const STORE_ANSWER_MS = 1_000

export async function readinessOf(
  {
    store,
    ledger,
    clock,
  }: { store: Pick<Store, 'ping'>; ledger: Pick<Ledger, 'accepting' | 'hasLeases'>; clock: Clock },
  draining: () => boolean,
): Promise<Readiness> {
  const state = (await answers(store, clock)) ? 'ok' : 'away'
  if (draining()) return { ready: false, store: state, reason: 'draining' }
  if (!ledger.accepting) return { ready: false, store: state, reason: 'the ledger takes no new requests' }
  if (state === 'away' && !ledger.hasLeases)
    return { ready: false, store: state, reason: 'the store is away and nothing is leased' }
  return { ready: true, store: state }
}

const answers = (store: Pick<Store, 'ping'>, clock: Clock): Promise<boolean> =>
  new Promise(resolve => {
    const cancel = clock.after(STORE_ANSWER_MS, () => resolve(false))
    store
      .ping()
      .then(
        () => resolve(true),
        () => resolve(false),
      )
      .finally(cancel)
  })
