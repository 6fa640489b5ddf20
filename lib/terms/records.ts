/** The records that cross layers: rows of the store, free of SQL and of HTTP. */
import type { Micro } from '../base/money.ts'

export const PROTOCOLS = ['messages', 'chat', 'responses', 'images', 'generate'] as const
export type Protocol = (typeof PROTOCOLS)[number]

/** Disjoint classes of tokens: cached input is not in `input`, reasoning is in `output`. */
export const TOKEN_CLASSES = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output'] as const

/** What an answer used: whole numbers from 0 to 10^9 each. */
export interface Usage {
  input: number
  cache_read: number
  cache_write_5m: number
  cache_write_1h: number
  output: number
  images: number
}

export const noUsage = (): Usage => ({
  input: 0,
  cache_read: 0,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output: 0,
  images: 0,
})

/** At most `requests` in any `minutes`; `requests: 0` = unlimited. */
export interface Rate {
  requests: number
  minutes: number
}

export interface Account {
  id: number
  name: string
  status: 'active' | 'banned'
  groups: string[]
  /** Overrides the group's and the config's when set. */
  rate: Rate | null
}

export interface Key {
  id: number
  accountId: number
  name: string
  /** Lower-case hex SHA-256 of the secret; the secret itself is kept nowhere. */
  hash: string
  /** `sk-…abcd`: enough for its owner to tell it from others. */
  hint: string
  group: string
  status: 'enabled' | 'disabled'
  /** ms since 1970. */
  expiresAtMs: number | null
  cap: Micro | null
  /** Addresses or CIDRs. */
  allowIps: string[] | null
  /** Names of the models the key may use; null = all. */
  models: string[] | null
}

export interface Group {
  name: string
  /** Millionths: 500_000 halves every price. */
  multiplier: number
  rate: Rate | null
  /** Silence of a first attempt after which a second one is made beside it; 0 = never. */
  hedgeMs: number
}

/** Prices in millionths of a CNY: per million tokens (so also pico-CNY per token), per image, per answered request. */
export interface Price {
  input?: number
  output?: number
  cache_read?: number
  cache_write_5m?: number
  cache_write_1h?: number
  image?: number
  request?: number
}

export interface Model {
  name: string
  price: Price | null
  /** The model's own ceiling of output tokens. */
  maxOutput: number | null
  /** Output tokens estimated when a request names no maximum. */
  defaultOutput: number
  /** Millionths: estimated input tokens = bytes of text / 4 × this. */
  inputFactor: number
  /** Tokens held for what a request names and does not carry: a document by URL, a continued answer. */
  maxInput: number
  /** Tokens of a picture, or of a page of a document. */
  mediaInput: number
  /** Tokens that each use of a tool of the upstream may add to the input. */
  toolInput: number
  /** How often such a tool is used at most, where the request does not say. */
  maxSearches: number
}

export const ENDS = ['completed', 'client_gone', 'upstream_error', 'upstream_cut'] as const
export type End = (typeof ENDS)[number]
export const BASES = ['reported', 'counted', 'none'] as const
export type Basis = (typeof BASES)[number]

/** One request that reached an upstream, as billed. Its id is the primary key, and tells when it came (`timeOfId`). */
export interface UsageRow extends Usage {
  requestId: string
  accountId: number
  keyId: number
  group: string
  protocol: Protocol
  model: string
  channel: string
  status: number
  end: End
  basis: Basis
  charge: Micro
  /** null when no byte came. */
  firstByteMs: number | null
  durationMs: number
  /** The `id` in the body of an answer that a later request may continue; null where there is none. */
  answerId: string | null
  /** Fingerprint of the upstream key that the answer was made with (`CompiledKey.fingerprint`); null with `answerId`. */
  upstreamKey: string | null
}
