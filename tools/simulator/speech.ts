/**
 * The types of the simulator: what a request asks for and what is answered, in terms that all protocols share, and what
 * a dialect has to do to speak one of them.
 */
import type { Usage } from '../../lib/terms/records.ts'
import type { Directive } from './directive.ts'
import type { Block } from './prompt-cache.ts'

export type Fields = Record<string, unknown>

/** What a request asks for. */
export interface Ask {
  model: string
  stream: boolean
  body: Fields
  /** The text of the last user message, in which a directive may stand. */
  prompt: string
  blocks: Block[]
  maxTokens: number | null
  /** How many answers or pictures are wanted. */
  choices: number
  thinks: boolean
  /** The tool to call, when one was offered and the last user message says "use tool"; null = none. */
  tool: Tool | null
  /** All tools that were offered. */
  offered: readonly Tool[]
  /** An option that only one protocol has: `include_usage` of chat, `alt=sse` of generate. */
  option: boolean
}

export interface Tool {
  name: string
  /** The JSON schema of its arguments. */
  schema: unknown
}

/** An answer. Each string of `thinking`, `text` and `args` is a token. */
export interface Answer {
  /** A unique id, without the prefix that a protocol puts before it. */
  id: string
  createdS: number
  thinking: string[]
  text: string[]
  /** The call of a tool in the place of a text; null = there is none. */
  call: { name: string; args: string[] } | null
  finish: 'stop' | 'length' | 'call'
  usage: Usage
  /** Whether the answer reports usage. */
  reports: boolean
  /** Usage is reported in the words of another provider of the same protocol, where it has some. */
  foreign: boolean
  /** Tokens of an event. */
  chunk: number
  /** Bytes of a picture. */
  imageBytes: number
  /** The address of the simulator, for links in answers. */
  origin: string
}

/** One event of a stream. */
export interface Frame {
  bytes: string
  /** Output tokens in it. */
  tokens: number
  /** The usage so far, where the event reports it; null = it does not. */
  usage: Usage | null
}

/** An answer that is no JSON. */
export class Bytes {
  readonly type: string
  readonly body: Buffer

  constructor(type: string, body: Buffer) {
    this.type = type
    this.body = body
  }
}

/** How the simulator speaks one protocol. */
export interface Dialect {
  /** Reads a path; null = it is not one of this protocol. */
  route(url: URL): Route | null
  /** The key where the protocol has it; null = there is none. `header` returns the value of a header. */
  credential(header: (name: string) => string | null, url: URL): string | null
  /** Whether the prompt cache keeps only what a request marks; otherwise it keeps every prompt. */
  keepsWhenAsked: boolean
  /** Whether a stream consists of events; otherwise it is one document that grows. */
  streamsEvents(ask: Ask): boolean
  /** The usage that the answer reports, from what was counted in prompt and text. */
  usage(ask: Ask, directive: Directive, usage: Usage): Usage
  /** Tokens of an event, unless a directive says otherwise. */
  chunk: number
  /** Reads a body. Throws an Error that says what is missing. */
  read(body: Fields, route: Route): Ask
  /** A JSON document, or bytes. */
  whole(ask: Ask, answer: Answer): object | Bytes
  frames(ask: Ask, answer: Answer): Iterable<Frame>
  /** The answer to a count of tokens; null = the protocol has none. */
  count: ((tokens: number) => object) | null
  error(status: number, message: string, id: string): object
  /** The error event of a stream. `first`: nothing was sent before it. */
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

/** Joins tokens in groups of `size`. */
export function* groups(tokens: readonly string[], size: number): Iterable<{ text: string; tokens: number }> {
  for (let i = 0; i < tokens.length; i += size) {
    const group = tokens.slice(i, i + size)
    yield { text: group.join(''), tokens: group.length }
  }
}
