/**
 * Reads values out of pieces of JSON that are given as Latin-1, one character for each byte. Most values are simple,
 * and read without the parser.
 */

/** A string of printable ASCII without escapes, which needs no parser. */
const PLAIN = /^"[ !#-[\]-~]*"$/

const ASCII = /^[\0-\x7f]*$/

/** The value of a JSON string with its quotes; null = it is not valid. */
export function decode(text: string): string | null {
  if (PLAIN.test(text)) return text.slice(1, -1)
  const value = parse(text)
  return typeof value === 'string' ? value : null
}

/** The value of any JSON, given as Latin-1; undefined = it is not JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(ASCII.test(text) ? text : Buffer.from(text, 'latin1').toString())
  } catch {
    return undefined
  }
}

/** A whole number of at most nine digits, as most scalars are. */
const SMALL = /^(?:0|[1-9]\d{0,8})$/

/** The value of a number, `true`, `false` or `null`; undefined = it is none of them. */
export function scalarOf(text: string): unknown {
  if (SMALL.test(text)) return Number(text)
  return text === 'true' ? true : parse(text)
}
