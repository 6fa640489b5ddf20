/** Where single values end in JSON text, by its grammar. */

const QUOTE = 0x22
const BACKSLASH = 0x5c

const SCALARS = /true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
/**
 * The inside of a string. Of one of megabytes a pattern passes over much in the time of one turn of a loop; it is bounded, as its stack
 * is. Most strings are keys and words, which are at their end before a pattern has begun.
 */
const INSIDE = /(?:[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,4096}/y
const SHORT = 32

/** Returns the position after the closing quote of a string; -1 = it is not valid. `from` is inside of it. */
export function stringEnd(text: string, from: number): number {
  const near = Math.min(text.length, from + SHORT)
  for (let i = from; i < near; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) return i + 1
    if (c === BACKSLASH || c < 0x20) return longStringEnd(text, i)
  }
  return longStringEnd(text, near)
}

function longStringEnd(text: string, from: number): number {
  for (let i = from; i < text.length; ) {
    INSIDE.lastIndex = i
    if (!INSIDE.test(text)) return text.charCodeAt(i) === QUOTE ? i + 1 : -1
    i = INSIDE.lastIndex
  }
  return -1
}

/** The position behind a word or a number; -1 = there is none. */
export function scalarEnd(text: string, from: number): number {
  if (text.startsWith('null', from)) return from + 4
  SCALARS.lastIndex = from
  return SCALARS.test(text) ? SCALARS.lastIndex : -1
}

/** The position behind a whole number of digits; -1 = there is none. */
export function countEnd(text: string, from: number): number {
  let i = from
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c < 0x30 || c > 0x39) break
  }
  return i === from || (i > from + 1 && text.charCodeAt(from) === 0x30) ? -1 : i
}

export function afterSpace(text: string, from: number): number {
  let i = from
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) break
  }
  return i
}
