/** The serving processes of this gateway, one or many, as the ops listener sees them. */
import type { Running } from '../operations/deps.ts'

/** Whether new requests can be served now, be it from memory. */
export interface Readiness {
  ready: boolean
  store: 'ok' | 'away'
  /** Why not, for people. */
  reason?: 'draining' | 'the ledger takes no new requests' | 'the store is away and nothing is leased' | 'no answer'
}

export interface Fleet extends Running {
  ready(): Promise<Readiness>
  /** Prometheus text of all of them. */
  metrics(): Promise<string>
}
