/**
 * The records that all rooms share: accounts, keys, groups, models and usage rows. They know nothing of SQL or HTTP.
 */
import type { Micro } from '../base/money.ts'
import type { Protocol } from '../protocols/table.ts'
import type { Fee, TokenClass, Usage } from '../protocols/usage.ts'
import type { Limit } from './limits.ts'

export { FORMS, PROTOCOLS, type Protocol, TEXT_PROTOCOLS } from '../protocols/table.ts'
export { FEES, type Fee, noUsage, TOKEN_CLASSES, type TokenClass, type Usage } from '../protocols/usage.ts'

/**
 * The columns of a usage row that count tokens. Each is a sum over text, sound and pictures, which `lines` tells apart.
 */
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

/** A rate limit: at most `requests` in any window of `minutes`; `requests: 0` = unlimited. */
export interface Rate {
  requests: number
  minutes: number
}

export interface Account {
  id: number
  /** Random; the id that is shown to people outside. */
  publicId: string
  name: string
  status: 'active' | 'banned'
  groups: string[]
  /** Overrides the rate limits of the group and of the config; null = they apply. */
  rate: Rate | null
  /** The most that the account may spend; null = no budget. */
  budget: Limit | null
  /** For payments of providers' test environments, and for no others. Set when the account is made, never changed. */
  sandbox: boolean
}

export interface Key {
  id: number
  /** Random; the id that is shown to people outside. */
  publicId: string
  accountId: number
  name: string
  /** SHA-256 of the secret in lower-case hexadecimal. The secret itself is kept nowhere. */
  hash: string
  /** `sk-…abcd`: enough for the owner to tell the key from others. */
  hint: string
  group: string
  status: 'enabled' | 'disabled'
  /** ms since 1970; null = never. */
  expiresAtMs: number | null
  /** The most that the key may spend; null = no cap. */
  cap: Limit | null
  /** Client addresses and CIDRs from which the key may be used; null = any. */
  allowIps: string[] | null
  /** Names of the models that the key may use; null = all of its group. */
  models: string[] | null
  /** The models that were ticked when the restriction was switched off; null = there is no such list. */
  modelsOff: string[] | null
  /** The user who made the key; null = it was not made by a user. */
  createdBy: number | null
}

export interface Group {
  name: string
  /** In millionths: 500_000 halves every price. */
  multiplier: number
  rate: Rate | null
  /** Hedging: how long a first attempt may be silent until a second one begins beside it; 0 = never. */
  hedgeMs: number
  /** Its models, prices and figures are shown to everybody. */
  public: boolean
}

/** Prices of tokens in micro-CNY per million tokens, which is the same number of pico-CNY per token. */
export type TokenPrices = Partial<Record<TokenClass, number>>

/** Prices per picture: `size/quality`, `size` or `default` → micro-CNY. */
export type Sizes = Record<string, number>

/** Prices in micro-CNY: per million for tokens and characters, per piece for all others. */
export interface PriceList extends TokenPrices {
  /** One price for all pictures, or prices by size; the two forms of these mean the same. */
  image?: number | Sizes | { sizes: Sizes }
  web_search?: number
  request?: number
  second?: number
  character?: number
}

/** The prices of requests whose prompt has more tokens than `tokens`. */
export interface OverList extends PriceList {
  tokens: number
}

/** What a model costs, in the form in which it was set. A class of tokens without a price costs as its parent class. */
export interface Price extends PriceList {
  /** `query` (the default): each web search is charged. `prompt`: a request that searched is charged once. */
  search_unit?: 'query' | 'prompt'
  /** Other price lists for large prompts, by rising `tokens`. */
  over?: OverList[]
  /** Factors in millionths: by service tier, by speed (`fast`), and by place (`geo:us`). */
  tiers?: Record<string, number>
  /** Only where the price is written in a format that this program does not know: its number, and nothing beside it. */
  format?: number
}

/**
 * One line of a receipt. The charge is the sum of `count` × `price` × `tier` over all lines, times the multiplier of
 * the row, rounded up once.
 */
export interface Line {
  model: string
  /** Version of the model's price; null = the row is older than price versions. */
  priceVersion: number | null
  /** Which price list of the model applied: `base`, or the `tokens` of an entry of `over`. */
  list: 'base' | number
  /** Factor of the service tier, in millionths. */
  tier: number
  /** Name of the service tier; null = none was reported or asked for. */
  tierName: string | null
  class: TokenClass | Fee
  count: number
  /** In micro-CNY, without the tier: per million of tokens or characters, per piece of all others. */
  price: number
}

export interface Model {
  name: string
  price: Price | null
  /** The most output tokens that the model can produce; null = not known. */
  maxOutput: number | null
  /** Output tokens held for a request that names no maximum. */
  defaultOutput: number
  /** In millionths: the input tokens of a text are estimated as its bytes / 4 × this factor. */
  inputFactor: number
  /**
   * Tokens held for each document by URL and for a continued answer; also the most that one document is estimated at.
   */
  maxInput: number
  /** Tokens estimated for a picture and for each page of a document. */
  mediaInput: number
  /** Tokens that each use of a tool which the upstream runs may add to the input. */
  toolInput: number
  /** How many uses of such a tool are held when the request does not limit them. */
  maxSearches: number
  /** The family under which the catalogue lists it; null = none. */
  family: string | null
  offline: Offline
  /** The form in which the upstream of an image model gives its pictures; null = not known. */
  imageForm: ImageForm | null
  /** What follows is asked only when a request is translated for the model. null = as its protocol is usually asked. */
  thinking: ThinkingForm | null
  /** The efforts that it knows; empty = all. `none`: thinking can be switched off. */
  efforts: ModelEffort[]
  sampling: SamplingForm
  /** Messages: system turns may stand in the middle of a conversation. */
  systemTurns: boolean
}

/** How a model takes it that it shall think: `effort` a word, `adaptive` when it likes, `budget` a number of tokens. */
export const THINKING_FORMS = ['none', 'effort', 'adaptive', 'budget'] as const
export type ThinkingForm = (typeof THINKING_FORMS)[number]
export const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]
export const MODEL_EFFORTS = ['none', ...EFFORTS] as const
export type ModelEffort = (typeof MODEL_EFFORTS)[number]
/** Whether temperature and top-p may be set: both, one of them, or none. */
export const SAMPLING_FORMS = ['all', 'one', 'none'] as const
export type SamplingForm = (typeof SAMPLING_FORMS)[number]

/** Where a model is temporarily offline: everywhere, or in these groups. */
export type Offline = true | string[]

export const isOffline = ({ offline }: Pick<Model, 'offline'>, group: string): boolean =>
  offline === true || offline.includes(group)

/** `url`: links, unless base64 is asked for; `base64`: base64 only. */
export const IMAGE_FORMS = ['url', 'base64'] as const
export type ImageForm = (typeof IMAGE_FORMS)[number]

/** How a request ended; `docs/charging.md` says what each end costs. */
export const ENDS = ['completed', 'client_gone', 'upstream_error', 'upstream_cut'] as const
export type End = (typeof ENDS)[number]
/** What a charge is based on: usage that the upstream reported, our own counting, or nothing. */
export const BASES = ['reported', 'counted', 'none'] as const
export type Basis = (typeof BASES)[number]

/**
 * One request that reached an upstream, as billed. `requestId` is the primary key and contains the time (`timeOfId`).
 */
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
  /** Time to the first byte of the answer; null when none came. */
  firstByteMs: number | null
  durationMs: number
  /** The `id` in the body of an answer that a later request may continue; null = the answer cannot be continued. */
  answerId: string | null
  /** Fingerprint (`CompiledKey.fingerprint`) of the upstream key that made the answer; null when `answerId` is null. */
  upstreamKey: string | null
  /** Version of the model's price when the money was held; null = not recorded. */
  priceVersion: number | null
  /** Multiplier of the group, in millionths, when the money was held; null = not recorded. */
  multiplier: number | null
  /** The receipt: the products that the charge is the sum of. */
  lines: readonly Line[]
  /** The money held when the request ended, growth included; null = not recorded. */
  held: Micro | null
  /** What the upstream charges for the request; null = not known. */
  cost: Micro | null
  /** Time from the arrival of the request until the first upstream was asked; null = not recorded. */
  askedMs: number | null
  attempts: readonly AttemptNote[]
  /** The id that the upstream gave its answer in a header; null = none. */
  upstreamId: string | null
  /** The id that the client gave its request; null = none. */
  clientRequestId: string | null
  /** The protocol in which the upstream was asked; null = the client's own. */
  via: Protocol | null
}

/** One attempt at one channel. */
export interface AttemptNote {
  channel: string
  /** HTTP status of the answer; 0 = there was none. */
  status: number
  /** Why the attempt failed, in a word; null = it did not. */
  error: string | null
  ms: number
}

/** The values of fields that rows of earlier versions did not record. */
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
