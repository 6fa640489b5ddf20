/**
 * A request as no protocol writes it: the hub of translation. A protocol's request reader makes one of a body, and
 * another protocol's request writer makes a body of it. What came as JSON stays JSON text wherever it can: it is copied
 * from body to body and never decoded, so that numbers, escapes and lone surrogates arrive as they were sent.
 */
import type { Effort } from '../terms/records.ts'
import type { Literal, Source } from './json/literal.ts'

export interface Ask {
  /** As the client calls it. */
  model: string
  stream: boolean
  /** The system prompt. System turns in the middle of a conversation are turns. */
  system: TextPart[]
  /** As they came. Which turns must be joined or parted is the writer's business. */
  turns: Turn[]
  tools: Tool[]
  choice: Choice
  /** Whether several tools may be called in one answer; null = not said. */
  parallel: boolean | null
  maxOutput: number | null
  stop: Literal[]
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
  repeated?: Readonly<Record<string, Source>>
}

export type CacheLife = '5m' | '1h'

/** Numbers as they stand in the body; absent = not said. */
export interface Sampling {
  temperature?: Source
  topP?: Source
  topK?: Source
  seed?: Source
  presence?: Source
  frequency?: Source
}

/** The user's turns have texts, media and results; the assistant's texts, thoughts and calls; those of the system texts. */
export interface Turn {
  role: 'user' | 'assistant' | 'system'
  parts: Part[]
}

export type Part = TextPart | MediaPart | CallPart | ResultPart | ThoughtPart

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
  /** Of the call that it answers. */
  id: string
  /** Of the tool, where the protocol says it. */
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
  schema: Source | null
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

/** Which tools the answer has to call. */
export type Choice =
  | { type: 'unset' | 'auto' | 'none' | 'any' }
  | { type: 'one'; name: string; namespace?: string }
  | { type: 'some'; names: string[]; must: boolean }

export { EFFORTS, type Effort } from '../terms/records.ts'

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
  | { type: 'schema'; name: string | null; schema: Source; strict: boolean | null; description: Literal | null }

/**
 * State of an upstream that only the upstream understands: the signature of a thought, encrypted reasoning. `opaque.ts`
 * puts it into an envelope that passes through the client's own protocol.
 */
export interface Opaque {
  /** Of whom it is: `issuerOf(protocol, upstream's model)`. */
  issuer: string
  /**
   * What it belongs to: a thought that has text (`signed`), a thought without any (`hidden`), the call that follows
   * (`call`), or the text before it (`text`).
   */
  of: 'signed' | 'hidden' | 'call' | 'text'
  value: Literal
  /** Of the item, where the upstream names it. */
  id?: string
}

/** What was left out or changed: names of `loss.ts`, each once. */
export type Losses = Set<LossWord>

// --- loss

/**
 * What translation cannot carry. A loss is named to the client in a header, so its words are a fixed list: nothing that a
 * client wrote ever reaches a header. What would make another answer of the request is refused.
 */

export const LOSS_WORDS = [
  'cache_control',
  'citations',
  'context_management',
  'documents',
  'effort',
  'hosted_tools',
  'image_detail',
  'include',
  'logit_bias',
  'max_output',
  'max_tool_calls',
  'message_names',
  'metadata',
  'moderation',
  'other',
  'parallel_tool_calls',
  'penalties',
  'prediction',
  'safety_settings',
  'sampling',
  'schema',
  'seed',
  'server_tools',
  'service_tier',
  'stop',
  'strict',
  'system_turns',
  'temperature',
  'thinking',
  'tool_arguments',
  'tool_choice',
  'tool_grammar',
  'top_k',
  'top_p',
  'truncation',
  'verbosity',
] as const
export type LossWord = (typeof LOSS_WORDS)[number]

/**
 * The request cannot be said in the protocol. `field`: a member of the client's body, as its protocol calls it; or one of the upstream's,
 * where that protocol refuses what stands there.
 */
export class Untranslatable extends Error {
  readonly field: string

  constructor(field: string) {
    super(`${field} cannot be translated`)
    this.field = field.slice(0, 100)
  }
}

/** The request has so many values that it should be translated elsewhere. */
export class ManyValues extends Error {}
