/**
 * The interface through which the ops listener asks the serving processes of this gateway, be it one or several
 * workers.
 */
import type { Running } from '../operations/deps.ts'

/** Whether new requests can be served now. The store may be away: memory can be enough. */
export interface Readiness {
  ready: boolean
  store: 'ok' | 'away'
  /** Why not, in words for people. */
  reason?:
    | 'leaving'
    | 'draining'
    | 'the ledger takes no new requests'
    | 'the store is away and nothing is leased'
    | 'no answer'
}

export interface Fleet extends Running {
  ready(): Promise<Readiness>
  /** The metrics of all processes together, as Prometheus text. */
  metrics(): Promise<string>
}
