/**
 * Reads values out of JSON that is given as Latin-1, one character for each byte, and checks what parsed JSON is before its
 * members are read. Most values are simple, and read without the parser.
 */

/** A string of printable ASCII without escapes, which needs no parser. */
const PLAIN = /^"[ !#-[\]-~]*"$/

const ASCII = /^[\0-\x7f]*$/

/** Returns the value of a JSON string with its quotes; null = it is not valid. */
export function decode(text: string): string | null {
  if (PLAIN.test(text)) return text.slice(1, -1)
  const value = parse(text)
  return typeof value === 'string' ? value : null
}

/** Returns the value of any JSON; undefined = it is not JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(ASCII.test(text) ? text : Buffer.from(text, 'latin1').toString())
  } catch {
    return undefined
  }
}

/** A whole number of at most nine digits, as most scalars are. */
const SMALL = /^(?:0|[1-9]\d{0,8})$/

/** Returns the value of a number, `true`, `false` or `null`; undefined = it is none of them. */
export function scalarOf(text: string): unknown {
  if (SMALL.test(text)) return Number(text)
  return text === 'true' ? true : parse(text)
}

/** An object in parsed JSON of which nothing is known. */
export type Fields = Record<string, unknown>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const NO_FIELDS: Fields = Object.freeze({})

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : NO_FIELDS)
