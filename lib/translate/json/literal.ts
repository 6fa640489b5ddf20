/**
 * Pieces of JSON that move from one body to another. All of them are Latin-1 views of bytes: one character for each byte of
 * UTF-8, so that a piece is a part of the body it came in, and is not decoded or escaped again on its way. Whatever is put
 * together of such pieces must be written as Latin-1 too, and words of our own in it must be ASCII.
 */
import { decode } from '../../protocols/json-text.ts'

/** A JSON string with its quotes. */
export type Literal = string
/** Any JSON value, as it stands in the body. */
export type Source = string

export const EMPTY: Literal = '""'

/** Quotes, backslashes, and all below space. */
const MUST_BE_ESCAPED = /["\\]|[^ -\uffff]/
const ESCAPED_EACH = /["\\]|[^ -\uffff]/g
const NOT_ASCII = /[\x80-\uffff]/g
const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}
const unicode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The literal of a string of ours, or of a decoded one, all in ASCII. */
export function literal(text: string): Literal {
  const json = JSON.stringify(text)
  return NOT_ASCII.test(json) ? json.replace(NOT_ASCII, unicode) : json
}

/** The literal that has JSON text in it: arguments that stood as an object, where a protocol wants them as text. */
export const quote = (source: Source): Literal =>
  `"${MUST_BE_ESCAPED.test(source) ? source.replace(ESCAPED_EACH, char => SHORT[char] ?? unicode(char)) : source}"`

const ESCAPES = /\\(?:u([0-9a-fA-F]{4})|(.))/g
const MEANT: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/**
 * The JSON text that stands in a literal. An escaped character that is not ASCII stays escaped: in JSON text it can stand
 * only inside a string, where the escape means the same.
 */
export const unquote = (text: Literal): Source => {
  const inner = text.slice(1, -1)
  return inner.includes('\\') ? inner.replace(ESCAPES, unescaped) : inner
}

function unescaped(whole: string, hex: string | undefined, char: string | undefined): string {
  if (hex === undefined) return MEANT[char as string] ?? (char as string)
  const code = Number.parseInt(hex, 16)
  return code < 0x80 ? String.fromCharCode(code) : whole
}

/** What the literal says; null = it is none. */
export const textOf = decode

/** Several literals as one, with a separator that is the inside of a literal. */
export function join(literals: readonly Literal[], between = ''): Literal {
  if (literals.length === 1) return literals[0] as Literal
  return `"${literals.map(one => one.slice(1, -1)).join(between)}"`
}

const BLANK = /^"(?:\s|\\[nrtf]|\\u00(?:20|0[9a-dA-D]|[aA]0))*"$/
const BLANK_END = /(?:\s|\\[nrtf])+$/

/** Nothing but space. */
export const isBlank = (text: Literal): boolean => text.length < 3 || BLANK.test(text)

/** The literal without space at its end. */
export function trimEnd(text: Literal): Literal {
  const inner = text.slice(0, -1)
  const last = inner.charCodeAt(inner.length - 1)
  const mayEndBlank = last <= 0x20 || inner.charCodeAt(inner.length - 2) === 0x5c
  if (!mayEndBlank) return text
  const cut = inner.replace(BLANK_END, '')
  let run = 0
  while (cut.charCodeAt(cut.length - 1 - run) === 0x5c) run++
  // an odd run of backslashes has lost the letter of its escape
  return run % 2 === 0 ? `${cut}"` : text
}
