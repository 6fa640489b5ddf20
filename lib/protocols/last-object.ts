/** Finds an object or a text near the end of an event whose beginning may be missing, reading from the end. */
import { parse } from './json-text.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09
const opens = (c: number): boolean => c === 0x7b || c === 0x5b
const closes = (c: number): boolean => c === 0x7d || c === 0x5d

/**
 * Returns the value of the member `"name":{…}` that is nearest to the end, or undefined. `depth`: how many objects are
 * around the member. Each byte is read a fixed number of times, however many members look like the wanted one.
 */
export const lastObject = (data: Buffer, name: string, depth: number): unknown => lastMember(data, name, depth, false)

/** The same for a member whose value is a string. */
export const lastText = (data: Buffer, name: string, depth: number): unknown => lastMember(data, name, depth, true)

function lastMember(data: Buffer, name: string, depth: number, isText: boolean): unknown {
  const marker = `"${name}"`
  let level = 0
  let end = 0
  for (let i = data.length - 1; i >= 0; i--) {
    const c = data[i] as number
    if (c === QUOTE) {
      const from = beginOfString(data, i)
      if (isText && level === depth && isNamed(data, from, marker)) return parse(data.toString('latin1', from, i + 1))
      i = from
    } else if (closes(c)) {
      if (level === depth) end = i + 1
      level++
    } else if (opens(c)) {
      if (--level < depth) return undefined // the object that would have the member begins here
      if (level === depth && !isText && c === 0x7b && isNamed(data, i, marker)) {
        const value = parse(data.toString('latin1', i, end))
        if (value !== undefined) return value
      }
    } else if (level === 0 && !isSpace(c)) return undefined // something follows the end of the event's JSON
  }
  return undefined
}

/** Returns where the string begins whose closing quote is at `end`; -1 = before the bytes that are there. */
function beginOfString(data: Buffer, end: number): number {
  for (let at = end - 1; at >= 0; at--) {
    if (data[at] !== QUOTE) continue
    let run = at
    while (run > 0 && data[run - 1] === BACKSLASH) run--
    if (((at - run) & 1) === 0) return at
    at = run
  }
  return -1
}

/** Whether the value that begins at `at` has this name. */
function isNamed(data: Buffer, at: number, marker: string): boolean {
  let i = at - 1
  while (i >= 0 && isSpace(data[i] as number)) i--
  if (data[i] !== COLON) return false
  i--
  while (i >= 0 && isSpace(data[i] as number)) i--
  return i + 1 >= marker.length && data.toString('latin1', i + 1 - marker.length, i + 1) === marker
}
