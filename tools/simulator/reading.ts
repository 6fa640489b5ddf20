/** Functions that read the members of a request. A client may have sent anything, so each takes any value. */
import { fieldsOf, isFields } from '../../lib/protocols/json/text.ts'
import type { Block } from './prompt-cache.ts'
import type { Fields, Tool } from './speech.ts'

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
