/** A channel as the catalogue has it, and how it fares. */
import type { Protocol } from './records.ts'
import type { KindName } from './upstream-kinds.ts'

/** An upstream credential: leaves the process only in requests to its channel. */
export interface ChannelKey {
  key: string
  /** Attempts open at once, per process; 0 = unlimited. */
  maxConcurrency: number
}

export interface Channel {
  name: string
  baseUrl: string
  /** How its provider wants to be asked; null = as the protocols say. */
  kind: KindName | null
  /** In the place of a protocol's path; `{model}` and `{verb}` stand for those of the request. */
  paths: Partial<Record<Protocol, string>>
  /** Added to the query of every request. */
  query: Record<string, string>
  protocols: Protocol[]
  /** One or more. */
  keys: ChannelKey[]
  /** Header that carries the credential; null = the protocol's own. */
  authHeader: string | null
  /** Client header name → name sent upstream; a value that begins with `=` sets a constant. */
  headers: Record<string, string>
  passHeaders: string[]
  groups: string[]
  /** Model name → the name the upstream knows it by. */
  models: Record<string, string>
  weight: number
  /** Higher first. */
  priority: number
  /** Attempts open at once, per process; 0 = unlimited. */
  maxConcurrency: number
  /** How it is reached: a URL with its credentials; null = directly. */
  proxy: string | null
  /** PEM certificates that are trusted beside the system's. */
  ca: string | null
  http2: boolean
  /** It may be at a link-local or reserved address. */
  private: boolean
  status: 'enabled' | 'disabled'
  /** Its credentials stand in the store under another secret: they cannot be read, so that it cannot be used. */
  sealed?: true
}

export type BreakerState = 'closed' | 'open' | 'half_open'

/** How a channel fares in one process, or at worst in several. */
export interface ChannelState {
  state: BreakerState
  /** One for each key, in the catalogue's order. */
  keys: BreakerState[]
  /** Attempts under way. */
  open: number
}
