/**
 * The records that all rooms share: accounts, keys, groups, models, prices, channels and limits. They know nothing of SQL or
 * HTTP.
 */
import { formatMicro, type Micro } from '../base/money.ts'
import { type Every, type Period, periodAt } from '../base/periods.ts'
import type { KindName, SearchReports } from '../protocols/words/kinds.ts'
import type { MaximumName, Thoughts } from '../protocols/words/maxima.ts'
import type { ContainerSize } from '../protocols/words/server-tools.ts'
import type { Protocol } from '../protocols/names.ts'
import type { TokenClass } from '../protocols/words/usage.ts'

/** The kinds of rows of the catalogue. */
export const CATALOG_KINDS = ['groups', 'models', 'channels', 'accounts', 'keys'] as const
export type CatalogKind = (typeof CATALOG_KINDS)[number]

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
  createdAtMs: number
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
  /** Most streams of one account that are read on at once after their client has left, per process. */
  readOns: number
  /** The group's models, prices and figures are shown to everybody. */
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
  /** Price of a call of maps, or of a request that used them, as `search_unit` says; this and the next are tools of the upstream, in micro-CNY. */
  maps?: number
  /** A container, by the memory that it is asked for with. */
  container?: Partial<Record<ContainerSize, number>>
  /** A request that ran code. */
  code_execution?: number
  /** A call of a tool, by its name. */
  tools?: Record<string, number>
  /** `query` (the default): each web search is charged. `prompt`: a request that searched is charged once. */
  search_unit?: 'query' | 'prompt'
  /** Other price lists for large prompts, by rising `tokens`. */
  over?: OverList[]
  /** Factors in millionths: by service tier, by speed (`fast`), and by place (`geo:us`). */
  tiers?: Record<string, number>
  /** Only where the price is written in a format that this program does not know: its number, and nothing beside it. */
  format?: number
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
  /** The most tokens of one prompt; what an upstream reports above it is not charged. */
  context: number
  /** Tokens that an upstream may add to a prompt, for a system prompt of its own or for how tools are described. */
  overheadInput: number
  /** The most tokens that a picture in the prompt can be. */
  pictureInputMax: number
  /** `always`: it searches the web also when nobody asks it to. */
  searches: 'always' | null
  /** The family under which the catalogue lists it; null = none. */
  family: string | null
  /** Who makes it, as the catalogue says; null = it does not say. */
  vendor: string | null
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

// Caps of keys and budgets of accounts: the most that may be spent, in all or in each period. When somebody changes the length of
// the periods, the period that is running ends first; until then it goes on with the new amount.

/** A limit as people set it. */
export interface SetLimit {
  amount: Micro
  /** null = the amount is for ever. */
  every: Every | null
}

export interface Limit extends SetLimit {
  /** Until `untilMs` the limit still renews as it did before somebody changed `every`; null = it was not changed. */
  before: { every: Every; untilMs: number } | null
}

/** How the limit renews at a moment; null = it does not. */
export const everyAt = ({ every, before }: Limit, atMs: number): Every | null =>
  before !== null && atMs < before.untilMs ? before.every : every

/** The period of the limit at a moment; null when its amount is for ever. */
export function periodOf(limit: Limit, atMs: number, zone: string): Period | null {
  const every = everyAt(limit, atMs)
  return every === null ? null : periodAt(every, atMs, zone)
}

/** The limit that replaces `old`. An amount for ever knows no period, so a change from or to one takes effect at once. */
export function changedLimit(old: Limit | null, next: SetLimit | null, atMs: number, zone: string): Limit | null {
  if (next === null) return null
  const every = old === null ? null : everyAt(old, atMs)
  const stays = every === null || next.every === null || every === next.every
  return { ...next, before: stays ? null : { every, untilMs: periodAt(every, atMs, zone).endMs } }
}

export const sameLimit = (a: SetLimit | null, b: SetLimit | null): boolean =>
  a?.amount === b?.amount && a?.every === b?.every

/** A limit as somebody set it. */
export function showLimit(limit: SetLimit | null): string | { amount: string; every: string } | null {
  if (limit === null) return null
  const amount = formatMicro(limit.amount)
  return limit.every === null ? amount : { amount, every: limit.every }
}

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
  /** Money that the operator has at the upstream; null = nobody said anything of it. */
  budget: ChannelBudget | null
  /** The protocols of clients whose requests are translated into one that the upstream speaks; true = all of text. */
  translate: true | Protocol[]
  /** Messages: `auto`: translated requests ask the upstream to cache, also where the client does not. */
  cacheMarks: CacheMarks
  /** `lenient`: a translated stream of texts that ends without a reason is whole. */
  finish: FinishRule
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

/** Money at an upstream. */
interface ChannelBudget {
  /** CNY that were there at `fromMs`; null = the upstream is asked. */
  amount: Micro | null
  /** ms since 1970; null = since ever. */
  fromMs: number | null
  /** Millionths of the currency below which the alarm goes off; null = never. */
  warnBelow: number | null
}

export const CACHE_MARKS = ['off', 'auto'] as const
type CacheMarks = (typeof CACHE_MARKS)[number]

export const FINISH_RULES = ['strict', 'lenient'] as const
type FinishRule = (typeof FINISH_RULES)[number]

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
