/** Finds members near the end of an event whose beginning may be missing, reading from the end. */
import { type Fields, parse } from './text.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09
const opens = (c: number): boolean => c === OPEN_OBJECT || c === 0x5b
const closes = (c: number): boolean => c === 0x7d || c === 0x5d

/**
 * Returns the value of the member `"name":{…}` that is nearest to the end, or undefined. `depth`: how many objects are
 * around the member.
 */
export const lastObject = (data: Buffer, name: string, depth: number): unknown => lastMembers(data, [name], depth)[name]

/**
 * Returns of each of these members the value that is nearest to the end and is an object or a string. Each byte is read a
 * fixed number of times, however many members look like a wanted one.
 */
export function lastMembers(data: Buffer, names: readonly string[], depth: number): Fields {
  const found = new Found(data, names)
  let level = 0
  let end = 0
  for (let i = data.length - 1; i >= 0 && !found.all; i--) {
    const c = data[i] as number
    if (c === QUOTE) {
      const from = beginOfString(data, i)
      if (level === depth) found.look(from, i + 1)
      i = from
    } else if (closes(c)) {
      if (level === depth) end = i + 1
      level++
    } else if (opens(c)) {
      if (--level < depth) break // the object that would have the members begins here
      if (level === depth && c === OPEN_OBJECT) found.look(i, end)
    } else if (level === 0 && !isSpace(c)) break // something follows the end of the event's JSON
  }
  return found.members
}

class Found {
  readonly #data: Buffer
  /** The names that are still looked for, with their quotes. */
  readonly #wanted: Map<string, string>
  readonly members: Fields = {}

  constructor(data: Buffer, names: readonly string[]) {
    this.#data = data
    this.#wanted = new Map(names.map(name => [name, `"${name}"`]))
  }

  get all(): boolean {
    return this.#wanted.size === 0
  }

  /** Looks at a value, whether it is one of the wanted members. */
  look(from: number, end: number): void {
    let at = this.#before(from)
    if (this.#data[at] !== COLON) return
    at = this.#before(at) + 1
    for (const [name, quoted] of this.#wanted) {
      const begin = at - quoted.length
      if (begin < 0 || this.#data.toString('latin1', begin, at) !== quoted) continue
      const value = parse(this.#data.toString('latin1', from, end))
      if (value === undefined) return
      this.members[name] = value
      this.#wanted.delete(name)
      return
    }
  }

  /** Returns where the byte is that stands before `at`, space left out. */
  #before(at: number): number {
    let i = at - 1
    while (i >= 0 && isSpace(this.#data[i] as number)) i--
    return i
  }
}

/** Returns where the string begins whose closing quote is at `end`; -1 = before the bytes that are there. */
function beginOfString(data: Buffer, end: number): number {
  for (let at = end; at > 0; ) {
    at = data.lastIndexOf(QUOTE, at - 1)
    if (at < 0) return -1
    let run = at
    while (run > 0 && data[run - 1] === BACKSLASH) run--
    if (((at - run) & 1) === 0) return at
    at = run
  }
  return -1
}
