/**
 * A request as no protocol writes it: the hub of translation. A protocol's request reader makes one of a body, and
 * another protocol's request writer makes a body of it. What came as JSON stays JSON text wherever it can: it is copied
 * from body to body and never decoded, so that numbers, escapes and lone surrogates arrive as they were sent.
 */
import type { Facts } from '../protocols/requests/facts.ts'
import type { Protocol } from '../protocols/names.ts'
import type { Effort } from '../terms/records.ts'
import type { Losses, Opaque, RenamedTools } from './events.ts'
import type { JsonText, Literal } from './json/literal.ts'
import type { ShortBody } from './json/short-body.ts'

export interface Ask {
  /** The body that texts and media may stand in by number; null = they do not. */
  short: ShortBody | null
  /** The model as the client calls it. */
  model: string
  stream: boolean
  /** The system prompt. System turns in the middle of a conversation are turns. */
  system: TextPart[]
  /** Pictures and documents of the system prompt, for which no protocol has a place there. */
  systemMedia: MediaPart[]
  /** The turns as they came. Which must be joined or parted is the writer's business. */
  turns: Turn[]
  tools: Tool[]
  /** The upstream shall search the web, or may; null = not asked for. */
  search: Search | null
  choice: Choice
  /** Whether several tools may be called in one answer; null = not said. */
  parallel: boolean | null
  maxOutput: number | null
  stop: Literal[]
  /** More than one answer is wanted, and the member of the client's body that says so; null = one is. */
  many: { count: number; field: string } | null
  /** The answer shall say how likely its tokens were, each with so many alternatives, and the member that says so; null = it need not. */
  logprobs: { top: number; field: string } | null
  /** The member of the client's body whose last text is the beginning of the answer, which has to go on there; null = there is none. */
  prefill: string | null
  sampling: Sampling
  thinking: Thinking
  format: Format
  /** Requests with the same key are expected to begin alike. */
  cacheKey: string | null
  /** Who of the client's users asks. */
  user: string | null
  /** The class of service, in the words of the client's protocol; null = not said. */
  tier: string | null
  /** The whole prompt shall be cached, wherever its stable part ends. Marks at single parts stand with the parts. */
  cache: CacheLife | null
  /** What the reader had to leave out. */
  losses: Losses
  /** Members of the body that the client's protocol repeats in its answers, as they came (responses). */
  repeated?: Readonly<Record<string, JsonText>>
}

export type CacheLife = '5m' | '1h'

/** Numbers as they stand in the body; absent = not said. */
export interface Sampling {
  temperature?: JsonText | undefined
  topP?: JsonText | undefined
  topK?: JsonText | undefined
  seed?: JsonText | undefined
  presence?: JsonText | undefined
  frequency?: JsonText | undefined
}

/** Clients may put any part into any turn; `conversation.ts` says what becomes of it. */
export interface Turn {
  role: 'user' | 'assistant' | 'system'
  parts: TurnPart[]
}

export type TurnPart = TextPart | MediaPart | CallPart | ResultPart | ThoughtPart

export interface TextPart {
  type: 'text'
  text: Literal
  cache?: CacheLife
  /** State of the upstream that belongs to this text. */
  opaque?: Opaque
  /** The assistant said that it would not answer. */
  refusal?: true
}

export interface MediaPart {
  type: 'media'
  kind: 'image' | 'document' | 'audio' | 'video'
  /** `image/png`; null = not said, which only an address may leave out. */
  mime: string | null
  /** Exactly one of the three: base64, an address, or plain text (documents). */
  base64?: Literal
  url?: Literal
  text?: Literal
  name?: Literal
  cache?: CacheLife
}

export interface CallPart {
  type: 'call'
  id: string
  name: string
  namespace?: string
  /** The tool takes text and not an object. */
  freeform: boolean
  /** The arguments as text: JSON, of freeform tools anything. The literal has that text in it, escaped. */
  args: Literal
  /** State of the upstream that belongs to this call. */
  opaque?: Opaque
  cache?: CacheLife
}

export interface ResultPart {
  type: 'result'
  /** The id of the call that it answers. */
  id: string
  /** The name of the tool, where the protocol says it. */
  name: string | null
  parts: (TextPart | MediaPart)[]
  error: boolean
  cache?: CacheLife
}

/** What the assistant thought. Without `opaque`, or with that of another upstream, no upstream takes it as its own. */
export interface ThoughtPart {
  type: 'thought'
  /** Empty (`""`) when it is hidden. */
  text: Literal
  opaque?: Opaque
}

export type Tool = FunctionTool | FreeformTool

export interface FunctionTool {
  type: 'function'
  name: string
  namespace?: string
  description: Literal | null
  /** JSON Schema, an object; null = the tool takes nothing. */
  schema: JsonText | null
  strict: boolean | null
  cache?: CacheLife
}

export interface FreeformTool {
  type: 'freeform'
  name: string
  namespace?: string
  description: Literal | null
  /** The text of the grammar that the input must follow. */
  grammar: Literal | null
  /** The language that the grammar is written in; absent = not said. */
  syntax?: string
}

/** Which tools the answer has to call. `search`: the hosted search. */
export type Choice =
  | { type: 'unset' | 'auto' | 'none' | 'any' | 'search' }
  | { type: 'one'; name: string; namespace?: string }
  | { type: 'some'; names: string[]; must: boolean }

/** What a request says of the searches that it asks for. */
export interface Search {
  /** The member of the client's body that has it. */
  field: string
  /** At most so many searches; null = not said. */
  maxUses: number | null
  /** Domains: only these, or none of these. */
  allowed: Literal[]
  blocked: Literal[]
  /** How much of what was found the model shall read: `low`, `medium` or `high`; null = not said. */
  size: Literal | null
  /** Where the user is, by `PLACE`; empty = not said. */
  place: Readonly<Record<string, Literal>>
  /** Without a search the answer would be another one: a search is forced, or the only thing that the request is for. */
  isNeeded: boolean
}

/**
 * How an upstream is asked to search. `own`: as its protocol says; `plain`: so too, but without what only the protocol's first provider
 * knows; the others are providers of chat completions. null = it cannot search.
 */
export type SearchWords = 'own' | 'plain' | 'zhipu' | 'dashscope' | 'openrouter' | null

export interface Thinking {
  mode: 'unset' | 'off' | 'on'
  effort: Effort | null
  /** Tokens. */
  budget: number | null
  /** Whether the client wants to see what is thought; null = not said. */
  show: boolean | null
}

export type Format =
  | { type: 'text' | 'json' }
  | { type: 'schema'; name: string | null; schema: JsonText; strict: boolean | null; description: Literal | null }

export interface AskHead {
  model: string
  stream: boolean
  /** Searches of the upstream have a price. Where they have none, no search is asked for. */
  searches?: boolean
  /** `ManyValues` is thrown when the body has more, which would take long. */
  mostValues?: number
  /** The same of bytes that have to be looked into. */
  mostBytes?: number
}

/** What is known of the model at the upstream, and of how the upstream wants to be asked. */
export interface TranslationTarget {
  /** The upstream's name of the model. */
  model: string
  /** The most tokens of output that the model gives; null = not known. */
  maxOutput: number | null
  /** How the model takes it that it shall think; `none`: not at all. */
  thinking: 'none' | 'effort' | 'adaptive' | 'budget' | 'level'
  /** The efforts that it knows; empty: all. */
  efforts: readonly Effort[]
  /** Whether thinking can be switched off. */
  thinkingOff: boolean
  /** Whether temperature and top-p may be set: both, one of them, or none. */
  sampling: 'all' | 'one' | 'none'
  /** Messages: system turns may stand in the middle of a conversation. */
  systemTurns: boolean
  /** Messages: caches are asked for also where the client's request does not. */
  cacheMarks: 'asked' | 'auto'
  /** Chat: the name of the maximum. */
  maxOutputMember: 'max_tokens' | 'max_completion_tokens'
  /** Chat: the member in which a model's thoughts are sent back to it; null = they are not. */
  thoughtMember: 'reasoning_content' | 'reasoning' | null
  /** Chat: system messages may stand only at the beginning. */
  systemFirst: boolean
  /** Chat: keys of prompt caches are known. */
  cacheKeys: boolean
  /** Chat: `top_k` is known. */
  topK: boolean
  /** Chat: what calls are called. */
  toolIds: 'any' | 'alnum9'
  /** How it is told that the conversation ends with the beginning of its answer: by that alone, or by a mark at it; null = it would begin anew. */
  prefill: 'plain' | 'prefix' | 'partial' | null
  /** How it is asked to search the web. */
  search: SearchWords
  /** Whether the model may be told which tool to call. */
  toolChoice: 'any' | 'auto'
  /** A stream of texts that ends without a reason is whole. */
  isLenient: boolean
}

/** A target of which nothing is known but its name. */
export const plainTarget = (model: string): TranslationTarget => ({
  model,
  maxOutput: null,
  thinking: 'effort',
  efforts: [],
  thinkingOff: true,
  sampling: 'all',
  systemTurns: false,
  cacheMarks: 'asked',
  maxOutputMember: 'max_tokens',
  thoughtMember: null,
  systemFirst: false,
  cacheKeys: false,
  topK: false,
  toolIds: 'any',
  prefill: null,
  search: 'own',
  toolChoice: 'any',
  isLenient: false,
})

/** A request for an upstream. */
export interface Written {
  /** Latin-1: each character is one byte of the body, where no string stands in it by number (`Ask.short`). */
  body: string
  /** Losses of the reader and of the writer. */
  losses: Losses
  /** The maximum that was written, which the hold must cover; null = none was. */
  maxOutput: number | null
  /** The life of the cache entries that were asked for; null = none were. */
  cache: CacheLife | null
  renamed: RenamedTools
}

/** A request as one target gets it. */
export interface TranslatedRequest {
  via: Protocol
  target: TranslationTarget
  /** What of the client's request its answer depends on. */
  ask: Pick<Ask, 'stream' | 'repeated'> & { query?: Literal; answers?: number }
  renamed: RenamedTools
  losses: Losses
  /** In pieces, some of which are the client's own bytes. Empty when no attempt needs it any more. */
  body: readonly Buffer[]
  bytes: number
  /** What the body says that the upstream gets. */
  facts: Facts
}
