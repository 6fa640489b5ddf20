/**
 * The record of a channel (an upstream and how it is asked) in the catalogue, and the state of a channel at run time.
 */
import type { SearchReports } from '../protocols/kinds.ts'
import type { MaximumName, Thoughts } from '../protocols/maxima.ts'
import type { Price, Protocol } from './records.ts'
import type { KindName } from './upstream-kinds.ts'

/** A credential at an upstream. The key leaves the process only in requests to its channel. */
export interface ChannelKey {
  key: string
  /** Most attempts open at once with this key, per process; 0 = unlimited. */
  maxConcurrency: number
}

export interface Channel {
  name: string
  baseUrl: string
  /** The kind of provider, which decides paths and headers; null = those of the protocols. */
  kind: KindName | null
  /** Paths that replace those of the kind or protocol; `{model}` and `{verb}` stand for those of the request. */
  paths: Partial<Record<Protocol, string>>
  /** Added to the query of every request. */
  query: Record<string, string>
  protocols: Protocol[]
  /** At least one. */
  keys: ChannelKey[]
  /** Header that carries the key; null = as the kind or the protocol says. */
  authHeader: string | null
  /** Name of a client's header → name under which it is sent upstream; `=text` instead of a name sets a constant. */
  headers: Record<string, string>
  /** Further client headers that are sent upstream unchanged. */
  passHeaders: string[]
  groups: string[]
  /** Model name → the upstream's name for the model. */
  models: Record<string, string>
  /** Share among the channels of one priority; 0 = only when no other of them can be asked. */
  weight: number
  /** Higher priorities are tried first. */
  priority: number
  /** Most attempts open at once at this channel, per process; 0 = unlimited. */
  maxConcurrency: number
  /** URL of the proxy, with its credentials; null = the upstream is reached directly. */
  proxy: string | null
  /** PEM certificates that are trusted beside those of the system. */
  ca: string | null
  http2: boolean
  /** The upstream may be at a link-local or reserved address. */
  private: boolean
  /**
   * What the upstream charges us: a factor of the model's price in millionths, or prices by model; null = not known.
   */
  cost: number | Record<string, Price> | null
  /** The protocols of clients whose requests are translated into one that the upstream speaks; true = all of text. */
  translate: true | Protocol[]
  /** Messages: `auto`: translated requests ask the upstream to cache, also where the client does not. */
  cacheMarks: CacheMarks
  /** Names of the maximum that the upstream reads beside those of its kind or protocol. */
  readsMax: MaximumName[]
  /** Where the upstream writes its thoughts: within the maximum or beside it; null = as its kind says, else beside. */
  thoughts: Thoughts | null
  /** Whether answers tell of searches (`reported`) or not (`unreported`); null = as its kind says. */
  searches: SearchReports | null
  status: 'enabled' | 'disabled'
  /**
   * The store holds the credentials encrypted under another secret. They cannot be read, so the channel cannot be used.
   */
  sealed?: true
}

export const CACHE_MARKS = ['off', 'auto'] as const
export type CacheMarks = (typeof CACHE_MARKS)[number]

/** States of a circuit breaker: requests pass, nothing passes, single requests probe. */
export type BreakerState = 'closed' | 'open' | 'half_open'

/** The state of a channel in one process; where several processes are summed up, the worst of their states. */
export interface ChannelState {
  state: BreakerState
  /** The state of each key, in the catalogue's order. */
  keys: BreakerState[]
  /** How many attempts are under way. */
  open: number
}
