/** The words of this folder: what a request asks for and what is answered, in terms that all protocols share. */
import type { Usage } from '../terms/records.ts'
import type { Directive } from './directive.ts'
import type { Block } from './prompt-cache.ts'

export type Fields = Record<string, unknown>

/** What a request asks for. */
export interface Ask {
  model: string
  stream: boolean
  body: Fields
  /** Text of the last user message: the directive is looked for here. */
  prompt: string
  blocks: Block[]
  maxTokens: number | null
  /** How many answers (or pieces). */
  choices: number
  thinks: boolean
  /** The tool to call: one was offered, and the last message, a user's, says "use tool". */
  tool: Tool | null
  /** What only one protocol knows: chat's `include_usage`, generate's `alt=sse`. */
  option: boolean
}

export interface Tool {
  name: string
  /** JSON schema of its arguments. */
  schema: unknown
}

/** What is answered; each string is one token. */
export interface Answer {
  /** Unique, without the protocol's prefix. */
  id: string
  createdS: number
  thinking: string[]
  text: string[]
  /** Instead of a text. */
  call: { name: string; args: string[] } | null
  finish: 'stop' | 'length' | 'call'
  usage: Usage
  /** false: the answer says nothing about usage. */
  reports: boolean
  /** Tokens an event carries. */
  chunk: number
  /** Bytes of an image. */
  imageBytes: number
  /** Address of this server, for links in answers. */
  origin: string
}

/** One event of a stream. */
export interface Frame {
  bytes: string
  /** Output tokens in it. */
  tokens: number
  /** What it reports, cumulative; null = nothing. */
  usage: Usage | null
}

/** One protocol's way of speaking. */
export interface Dialect {
  /** null = the path is not one of this protocol's. */
  route(url: URL): Route | null
  /** The key of the client where the protocol has it, or null. `header` gives the value of a header by its name. */
  credential(header: (name: string) => string | null, url: URL): string | null
  /** Prompts are kept for later requests where the request asks for it; otherwise all are. */
  keepsWhenAsked: boolean
  /** A stream consists of events, and not of one document that grows. */
  streamsEvents(ask: Ask): boolean
  /** What the answer reports, where that differs from what the prompt and the text took. */
  usage(ask: Ask, directive: Directive, usage: Usage): Usage
  /** Tokens an event carries by default. */
  chunk: number
  /** Throws an Error that says what is missing. */
  read(body: Fields, route: Route): Ask
  whole(ask: Ask, answer: Answer): object
  frames(ask: Ask, answer: Answer): Iterable<Frame>
  /** The answer to a count of tokens; null = the protocol has none. */
  count: ((tokens: number) => object) | null
  error(status: number, message: string, id: string): object
  /** The error event; `first` = nothing was sent before it. */
  errorFrame(ask: Ask, first: boolean): string
  headers(id: string): Record<string, string>
}

/** What the path of a request says. */
export interface Route {
  action: 'answer' | 'count'
  /** null = the body names the model. */
  model: string | null
  stream: boolean
  events: boolean
}

export const frame = (bytes: string, tokens = 0, usage: Usage | null = null): Frame => ({ bytes, tokens, usage })

/** `tokens` in groups of `size`, joined. */
export function* groups(tokens: readonly string[], size: number): Iterable<{ text: string; tokens: number }> {
  for (let i = 0; i < tokens.length; i += size) {
    const group = tokens.slice(i, i + size)
    yield { text: group.join(''), tokens: group.length }
  }
}
