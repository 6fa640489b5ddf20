/** The records that cross layers: rows of the store, free of SQL and of HTTP. */
import type { Micro } from '../base/money.ts'

export const PROTOCOLS = ['messages', 'chat', 'responses', 'images', 'generate'] as const
export type Protocol = (typeof PROTOCOLS)[number]

/**
 * Disjoint classes of tokens, each with a price of its own: cached input is not in `input`, sound and pictures are not in
 * the class of text beside them, reasoning is in `output`.
 */
export const TOKEN_CLASSES = [
  'input',
  'input_audio',
  'input_image',
  'cache_read',
  'cache_read_audio',
  'cache_read_image',
  'cache_write_5m',
  'cache_write_1h',
  'output',
  'output_audio',
  'output_image',
] as const
export type TokenClass = (typeof TOKEN_CLASSES)[number]

/** What an answer used: whole numbers from 0 to 10^9 each. */
export interface Usage extends Record<TokenClass, number> {
  /** Pictures that are charged by the piece. */
  images: number
  /** Web searches that the upstream made. */
  searches: number
  /** Seconds of sound or film, rounded up once for the whole request. */
  seconds: number
  /** Code points of text that was spoken. */
  characters: number
}

export const noUsage = (): Usage => ({
  input: 0,
  input_audio: 0,
  input_image: 0,
  cache_read: 0,
  cache_read_audio: 0,
  cache_read_image: 0,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output: 0,
  output_audio: 0,
  output_image: 0,
  images: 0,
  searches: 0,
  seconds: 0,
  characters: 0,
})

/** The columns of a usage row that count tokens: the sums over text, sound and pictures. Its lines tell these apart. */
export const ROW_CLASSES = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output'] as const
export interface RowCounts extends Record<(typeof ROW_CLASSES)[number], number> {
  images: number
}

export const rowCounts = (usage: Usage): RowCounts => ({
  input: usage.input + usage.input_audio + usage.input_image,
  cache_read: usage.cache_read + usage.cache_read_audio + usage.cache_read_image,
  cache_write_5m: usage.cache_write_5m,
  cache_write_1h: usage.cache_write_1h,
  output: usage.output + usage.output_audio + usage.output_image,
  images: usage.images,
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

/** What is charged by the piece: each has its price in CNY a piece, but characters, which have theirs a million. */
export const FEES = ['image', 'web_search', 'request', 'second', 'character'] as const
export type Fee = (typeof FEES)[number]

/** Millionths of a CNY per million tokens, which is pico-CNY a token. */
export type TokenPrices = Partial<Record<TokenClass, number>>

/** A price list of a model, in millionths of a CNY. A class without price takes its parent's. */
export interface Price extends TokenPrices {
  image?: number
  request?: number
}

/** One product of a charge: `count` × `price` × `tier`, summed over the lines, × the multiplier of the row, rounded up once. */
export interface Line {
  model: string
  /** Version of the model's price; null = made before versions were kept. */
  priceVersion: number | null
  /** `base`, or the `tokens` of the entry of `over` that prices the request. */
  list: 'base' | number
  /** Millionths. */
  tier: number
  /** The service tier; null = none was reported or asked for. */
  tierName: string | null
  class: TokenClass | Fee
  count: number
  /** Millionths of a CNY per million (tokens, characters) or per piece (the other fees), without tier. */
  price: number
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
export interface UsageRow extends RowCounts {
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
  /** Version of the asked model's price, and the group's multiplier in millionths, both as they were at the hold. */
  priceVersion: number | null
  multiplier: number | null
  /** The receipt: what the charge is made of. */
  lines: readonly Line[]
  /** What was set aside when the request ended, growth included. */
  held: Micro | null
  /** What the upstream takes for it; null = not known. */
  cost: Micro | null
  /** ms from its arrival until the first upstream was asked. */
  askedMs: number | null
  attempts: readonly AttemptNote[]
  /** The upstream's id of the answer, as its headers say it. */
  upstreamId: string | null
  /** The id that the client gave its request. */
  clientRequestId: string | null
  /** The protocol that the upstream was asked in, where it is not the client's. */
  via: Protocol | null
}

/** One try at one channel. `status` 0: no answer; `error`: why it failed, in a word. */
export interface AttemptNote {
  channel: string
  status: number
  error: string | null
  ms: number
}

/** What rows do not say that were written by versions which did not record it. */
export const NOT_RECORDED = {
  priceVersion: null,
  multiplier: null,
  lines: [],
  held: null,
  cost: null,
  askedMs: null,
  attempts: [],
  upstreamId: null,
  clientRequestId: null,
  via: null,
} satisfies Partial<UsageRow>
