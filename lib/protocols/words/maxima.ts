/**
 * How much a request lets an answer write and think: under which names it may say so, and which of these names an upstream reads. A name that
 * nobody reads bounds nothing: an upstream that knows only `max_tokens` writes as much as it likes for a client that says
 * `max_completion_tokens: 1`. What stands here was taken from the providers' own pages, or from clients that are made for
 * them; where these say nothing, the provider reads its protocol's own name only.
 */
import { type KindName, kindLike } from './kinds.ts'

export const MAXIMUM_NAMES = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const
export type MaximumName = (typeof MAXIMUM_NAMES)[number]

/** A set of names, as bits. */
export type Maxima = number
export const NO_MAXIMA: Maxima = 0
/** The bit of `generationConfig.maxOutputTokens`, which stands in no other protocol. */
const GENERATE_MAXIMUM: Maxima = 1 << MAXIMUM_NAMES.length
/** A maximum of 0, which few upstreams take for one: others take it for a field that is missing. */
export const NO_OUTPUT: Maxima = GENERATE_MAXIMUM << 1
/** All names: those of a request whose answer has no tokens of output. */
export const ALL_MAXIMA: Maxima = (NO_OUTPUT << 1) - 1

export const maximumBit = (name: MaximumName | 'maxOutputTokens'): Maxima =>
  name === 'maxOutputTokens' ? GENERATE_MAXIMUM : 1 << MAXIMUM_NAMES.indexOf(name)

const maximaOf = (names: readonly MaximumName[]): Maxima =>
  names.reduce((all, name) => all | maximumBit(name), NO_MAXIMA)

/** The name that belongs to a protocol. Others have none: either their answers have no tokens, or no request bounds them. */
const OWN: Readonly<Record<string, Maxima>> = {
  messages: maximumBit('max_tokens'),
  chat: maximumBit('max_tokens'),
  responses: maximumBit('max_output_tokens'),
  generate: GENERATE_MAXIMUM,
  converse: maximumBit('max_tokens'),
}

interface AtKindMaxima {
  /** The names that it reads, where it is not the protocol's own alone. */
  reads?: readonly MaximumName[]
  /** A maximum of 0 is one: the request only fills a cache. */
  zero?: true
  /** Thoughts are written within the maximum. Absent: the maximum does not bound them, as far as is known. */
  thoughts?: 'within'
}

const BOTH: readonly MaximumName[] = ['max_tokens', 'max_completion_tokens']
const WITHIN: AtKindMaxima = { thoughts: 'within' }
const FILLS_CACHE: AtKindMaxima = { zero: true, thoughts: 'within' }

const ON_BEDROCK = {
  messages: FILLS_CACHE,
  chat: { reads: BOTH },
  responses: WITHIN,
  converse: WITHIN,
} satisfies Record<string, AtKindMaxima>

/**
 * Kind → protocol → what is different there than the protocol's own name. `moonshot`, `minimax`, `groq`, `cerebras` and `xai`
 * call `max_tokens` deprecated and read it all the same; `openrouter` hands either on under the name of whom it asks.
 * `volcengine` bounds the answer by one and the answer with its thoughts by the other.
 */
export const MAXIMA_AT: Partial<Readonly<Record<KindName, Readonly<Record<string, AtKindMaxima>>>>> = {
  anthropic: { messages: FILLS_CACHE, chat: { reads: BOTH, thoughts: 'within' } },
  openai: { chat: { reads: BOTH, thoughts: 'within' }, responses: WITHIN },
  azure: { messages: FILLS_CACHE, chat: { reads: BOTH, thoughts: 'within' }, responses: WITHIN },
  'azure-deployments': { chat: { reads: BOTH, thoughts: 'within' } },
  bedrock: ON_BEDROCK,
  'bedrock-api-key': ON_BEDROCK,
  'bedrock-mantle': { messages: FILLS_CACHE, chat: { reads: BOTH }, responses: WITHIN },
  vertex: { messages: FILLS_CACHE },
  cerebras: { chat: { reads: BOTH } },
  deepseek: { chat: WITHIN },
  groq: { chat: { reads: BOTH } },
  minimax: { chat: { reads: BOTH } },
  moonshot: { chat: { reads: BOTH, thoughts: 'within' } },
  openrouter: { chat: { reads: BOTH } },
  volcengine: { chat: { reads: BOTH } },
  xai: { chat: { reads: BOTH } },
}

/** The kinds whose chat completions read `thinking_budget`, which bounds what is thought beside the maximum. */
const READ_BUDGET: ReadonlySet<KindName> = new Set(['dashscope', 'siliconflow'])

/** The bounds of a channel's answers in one protocol. */
export interface OutputBounds {
  /** The names that its upstream reads. */
  readonly reads: Maxima
  /** True when its upstream thinks within the maximum. */
  readonly within: boolean
  /** True when its upstream reads `thinking_budget`. */
  readonly readsBudget: boolean
}

/** `readsMax` and `thoughts`: what the channel's own row says, more names and where thoughts are written; null = nothing. */
export function outputBounds(
  kind: KindName | null,
  protocol: string,
  { readsMax, thoughts }: { readsMax: readonly MaximumName[]; thoughts: Thoughts | null },
): OutputBounds {
  const at = kind === null ? undefined : MAXIMA_AT[kindLike(kind)]?.[protocol]
  const usual = at?.reads === undefined ? (OWN[protocol] ?? ALL_MAXIMA) : maximaOf(at.reads)
  return {
    reads: usual | maximaOf(readsMax) | (at?.zero === true ? NO_OUTPUT : NO_MAXIMA),
    within: (thoughts ?? at?.thoughts) === 'within',
    readsBudget: protocol === 'chat' && kind !== null && READ_BUDGET.has(kind),
  }
}

/** The places where an upstream writes its thoughts: within the maximum, or beside it. */
export const THOUGHTS = ['within', 'beside'] as const
export type Thoughts = (typeof THOUGHTS)[number]

/**
 * How hard a request asks the model to think, as far as its words are known; what is asked decides how much is thought unseen.
 * `off`: nothing is said. `none`: the model shall not think. `on`: it shall, and nobody says how hard. `other`: a word that is
 * not known. A later one says more than an earlier one.
 */
const ASKED_EFFORTS = ['off', 'none', 'on', 'other', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type AskedEffort = (typeof ASKED_EFFORTS)[number]

const KNOWN: ReadonlyMap<string, AskedEffort> = new Map([
  ...ASKED_EFFORTS.filter(word => word !== 'off').map(word => [word, word] as const),
  ['disabled', 'none'] as const,
  ['enabled', 'on'] as const,
  ['adaptive', 'on'] as const,
  ['auto', 'on'] as const,
])

/** `word`: null = it could not be read. */
export const askedEffort = (word: string | null): AskedEffort => KNOWN.get(word?.toLowerCase() ?? '') ?? 'other'

/** Returns whichever says more. */
export const moreEffort = (a: AskedEffort, b: AskedEffort): AskedEffort =>
  ASKED_EFFORTS.indexOf(a) >= ASKED_EFFORTS.indexOf(b) ? a : b

export const asksToThink = (effort: AskedEffort): boolean => effort !== 'off' && effort !== 'none'
