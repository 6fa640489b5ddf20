/** A JSON string with its quotes. */
export type Literal = string
/** Any JSON value, as it stands in the body. */
export type JsonText = string

export const EMPTY_TEXT: Literal = '""'

const NOT_ASCII = /[\x80-\uffff]/g
const unicode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The literal of a string of ours, or of a decoded one, all in ASCII. */
export function literal(text: string): Literal {
  const json = JSON.stringify(text)
  return NOT_ASCII.test(json) ? json.replace(NOT_ASCII, unicode) : json
}

/** The literal that has JSON text in it: arguments that stood as an object, where a protocol wants them as text. */
export const quote = (source: JsonText): Literal => JSON.stringify(source)

/** What stays escaped is found by its backslash; all other escapes in runs, because each would take long. */
const ESCAPES = /(\\)(?=u(?!00[0-7])[0-9a-fA-F]{4})|(?:\\(?:u00[0-7].|[^u])){1,1024}/g

/**
 * The JSON text that stands in a literal. An escaped character that is not ASCII stays escaped: in JSON text it can stand
 * only inside a string, where the escape means the same.
 */
export const unquote = (text: Literal): JsonText => {
  if (!text.includes('\\')) return text.slice(1, -1)
  return JSON.parse(text.includes('\\u') ? text.replace(ESCAPES, '$1$&') : text) as string
}

/**
 * The same text in one piece of memory. The engine keeps a text that was put together as its parts, and what stands in each event of a
 * stream is copied to the client's bytes in one go when it is one part.
 */
export const flat = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

const LINE_ENDS = /[\r\n]+/g

/** The same JSON in one line, for an event, whose data a line end would end. In whole JSON they stand only between values. */
export const oneLine = (source: JsonText): JsonText => source.replace(LINE_ENDS, ' ')

/** Several literals as one, with a separator that is the inside of a literal. */
export function join(literals: readonly Literal[], between = ''): Literal {
  if (literals.length === 1) return literals[0] as Literal
  return `"${literals.map(one => one.slice(1, -1)).join(between)}"`
}

/** How many characters an escape or a character of space has at this place; 0 = there is none. */
function spaceAt(text: Literal, at: number): number {
  const c = text.charCodeAt(at)
  if (c <= 0x20) return 1
  return c === 0x5c && 'nrtf'.includes(text[at + 1] as string) ? 2 : 0
}

const SPACE = /(?:[^!-\uffff]|\\[nrtf]){1,4096}/y

/** Nothing but space. */
export function isBlank(text: Literal): boolean {
  const end = text.length - 1
  for (let at = 1; at < end; at = SPACE.lastIndex) {
    SPACE.lastIndex = at
    if (!SPACE.test(text)) return false
  }
  return true
}

/** The literal without space at its end. */
export function trimEnd(text: Literal): Literal {
  let end = text.length - 1
  for (;;) {
    if (end > 1 && spaceAt(text, end - 1) === 1) end--
    else if (end > 2 && spaceAt(text, end - 2) === 2 && !isEscaped(text, end - 2)) end -= 2
    else return end === text.length - 1 ? text : `${text.slice(0, end)}"`
  }
}

/** Whether an odd number of backslashes stands before this place. */
function isEscaped(text: Literal, at: number): boolean {
  let run = 0
  while (text.charCodeAt(at - 1 - run) === 0x5c) run++
  return run % 2 === 1
}

// --- puts JSON text together of pieces that are JSON already

/** An object: members that are undefined are left out. Names are ASCII. */
export function object(members: Readonly<Record<string, JsonText | undefined>>): JsonText {
  let text = ''
  for (const name in members) {
    const value = members[name]
    if (value !== undefined) text += `${text === '' ? '' : ','}"${name}":${value}`
  }
  return `{${text}}`
}

/** Long elements are not copied here, as `join` would, but once, with all that is put around them. */
export function array(elements: readonly JsonText[]): JsonText {
  let text = ''
  for (const element of elements) text += text === '' ? element : `,${element}`
  return `[${text}]`
}

/** `{"type":"…", …}`, the form of nearly everything. */
export const typed = (type: string, members: Readonly<Record<string, JsonText | undefined>>): JsonText =>
  object({ type: `"${type}"`, ...members })

/** A member that is left out where there is no value. */
export const optional = (value: string | null | undefined): Literal | undefined =>
  value === null || value === undefined ? undefined : literal(value)
