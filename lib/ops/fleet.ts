/** The serving processes of this gateway, one or many, as the ops listener sees them. */
import type { Micro } from '../base/money.ts'
import type { PurseId } from '../store/store.ts'
import type { ChannelState } from '../terms/channel.ts'

/** Whether new requests can be served now, be it from memory. */
export interface Readiness {
  ready: boolean
  store: 'ok' | 'away'
  /** Why not, for people. */
  reason?: 'draining' | 'the ledger takes no new requests' | 'the store is away and nothing is leased' | 'no answer'
}

export interface Fleet {
  ready(): Promise<Readiness>
  /** Prometheus text of all of them. */
  metrics(): Promise<string>
  /** Money set aside for open requests, per purse. */
  held(): Promise<Map<PurseId, Micro>>
  /** The names under which they hold leases in the store. */
  holders(): string[]
  /** Channels that are not listed are closed. */
  channelStates(): Promise<Map<string, ChannelState>>
  /** Resolves when every one of them follows what was just written to the store. */
  changed(): Promise<void>
  /** Resolves when the store holds what they have settled so far, or after a moment without it. */
  settled(): Promise<void>
}
