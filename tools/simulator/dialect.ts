/**
 * The types of the simulator: what a request asks for and what is answered, in terms that all protocols share, and what
 * a dialect has to do to speak one of them.
 */
import { fieldsOf, isFields } from '../../lib/protocols/json/text.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import type { Usage } from '../../lib/protocols/words/usage.ts'
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
  /** Whether a hosted search is asked for. */
  searches?: boolean
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
  /** What was searched for and found; null = nothing was. */
  search: Search | null
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

/** A search that was made, and the pages that it found. */
export interface Search {
  query: string
  sources: readonly { url: string; title: string }[]
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
export function* groups(
  tokens: readonly string[],
  size: number,
): Iterable<{ text: string; tokens: number; group: readonly string[] }> {
  for (let i = 0; i < tokens.length; i += size) {
    const group = tokens.slice(i, i + size)
    yield { text: group.join(''), tokens: group.length, group }
  }
}

/** What the path of a request says, and the dialect that reads the request. */
export interface Routed extends Route {
  protocol: Protocol
  dialect: Dialect
}

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
export const rowsOf = (value: unknown): Fields[] => listOf(value).filter(isFields)
export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')
/** The value as a positive whole number, else null. */
export const countOf = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null

/** The text of a content, which is a string or a list of parts, some of them with text. */
export const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : rowsOf(content)
        .map(part => stringOf(part['text']))
        .join('')

/** The text of the last user message that has a text. */
export function promptOf(messages: readonly Fields[], content: (message: Fields) => unknown): string {
  const texts = messages.filter(isUsers).map(message => textOf(content(message)))
  return texts.findLast(text => text !== '') ?? ''
}

const isUsers = (message: Fields): boolean => message['role'] === 'user' || message['role'] === undefined

/** The tool that the last message asks for: the one that it names, else the first; null = it asks for none. */
export function toolAskedFor(last: Fields | undefined, content: unknown, tools: readonly Tool[]): Tool | null {
  const text = textOf(content)
  if (last === undefined || !isUsers(last) || !text.toLowerCase().includes('use tool')) return null
  return tools.find(tool => tool.name !== '' && text.includes(tool.name)) ?? tools[0] ?? null
}

/** The pieces of a prompt, for protocols that do not mark what is to be cached. */
export const plainBlocks = (...parts: unknown[][]): Block[] =>
  parts.flat().map(part => ({ text: JSON.stringify(part) ?? '', keep: null }))

export function need(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what)
}

const DEEPEST = 8

/**
 * A value that a JSON schema accepts, with every property that it names. Without a schema it is the argument of a
 * weather tool.
 */
export function exampleOf(schema: unknown, depth = 0): unknown {
  if (schema === undefined && depth === 0) return { city: 'Paris' }
  const { type, enum: values, const: constant, properties, items, anyOf, minItems } = fieldsOf(schema)
  if (constant !== undefined) return constant
  if (Array.isArray(values)) return values[0]
  if (Array.isArray(anyOf) && depth < DEEPEST) return exampleOf(anyOf[0], depth + 1)
  switch (String(Array.isArray(type) ? type[0] : type).toLowerCase()) {
    case 'string':
      return 'Paris'
    case 'number':
    case 'integer':
      return 1
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return countOf(minItems) === null || depth >= DEEPEST ? [] : [exampleOf(items, depth + 1)]
  }
  if (depth >= DEEPEST) return {}
  return Object.fromEntries(Object.entries(fieldsOf(properties)).map(([name, of]) => [name, exampleOf(of, depth + 1)]))
}
