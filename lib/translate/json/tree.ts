/**
 * Where things stand in JSON text: one pass checks the grammar and notes the kind, the start and the end of each value, so
 * that values can be taken out as they stand. Nothing is decoded, and nothing is made of what is not asked for. The pass
 * does not recurse. Below a number of levels only the grammar is checked, because arguments and schemas are moved whole.
 *
 * The scanner of bodies and answers (`lib/protocols/json/scanner.ts`) takes chunks and looks for ends without checking what lies between;
 * here whole texts are checked, because parts of them are written into other bodies as they stand. `JSON.parse` is as fast, but loses what
 * has to arrive: the text of numbers, escapes, and members that stand twice.
 */
import { endOfLong } from '../../protocols/json/inside.ts'
import { decode } from '../../protocols/json/text.ts'
import { type JsonText, type Literal, literal, unquote } from './literal.ts'

/** A value in a tree; NONE = there is none. */
export type Node = number
export const NONE: Node = -1

type NodeKind = 'object' | 'array' | 'string' | 'scalar'
const OBJECT = 0
const ARRAY = 1
const STRING = 2
const SCALAR = 3
/** A key that has escapes. */
const ESCAPED = 4
const KINDS: readonly NodeKind[] = ['object', 'array', 'string', 'scalar', 'string']

const QUOTE = 0x22
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const COMMA = 0x2c
const COLON = 0x3a

/** A node has four numbers: kind, start, end, and the node behind all of it. A key is a node in front of its value. */
const FIELDS = 4
/** The most nodes of one text, unless its reader says otherwise, and the most brackets around a value. */
const MOST_NODES = 1 << 19
const MOST_DEPTH = 1000
/** Deeper than anything that readers look into. */
const LEVELS = 9

export class Tree {
  text = ''
  /** Puts long strings where they stand in a text by number (`ShortBody`); null = none do. */
  whole: ((text: JsonText) => JsonText) | null = null
  #hasEscapes = false
  #nodes = new Int32Array(64 * FIELDS)
  #count = 0
  /** The node of each open bracket, outermost first; NONE = it is too deep to be noted. */
  readonly #open: Node[] = []
  readonly #levels: number
  readonly #most: number

  constructor(levels = LEVELS, mostNodes = MOST_NODES) {
    this.#levels = levels
    this.#most = mostNodes
  }

  /** The value that is the whole text. */
  readonly root: Node = 0

  /** How many values and keys of any depth were read. */
  values = 0

  /** `text`: bytes as Latin-1. False: it is not JSON, or too deep, or has too many values. A tree can read one text after another. */
  read(text: string, mostValues = Number.POSITIVE_INFINITY): boolean {
    this.text = text
    this.#hasEscapes = text.includes('\\')
    this.#count = this.values = 0
    this.#open.length = this.#closers.length = 0
    this.#opened = this.#done = false
    for (let i = 0; ; ) {
      i = this.#value(afterSpace(text, i))
      if (i < 0 || this.values > mostValues) return false
      if (this.#opened) {
        this.#opened = false
        continue
      }
      i = this.#afterValue(i)
      if (i < 0) return false
      if (this.#done) {
        this.#done = false
        return i === text.length && !this.hasTooMany
      }
    }
  }

  /** The text has more values than are noted. */
  get hasTooMany(): boolean {
    return this.#count > this.#most
  }

  /** The last value was a bracket, and what comes next is the first value in it. */
  #opened = false
  /** The outermost value has ended. */
  #done = false
  /** The closing brackets that are due, innermost last. */
  readonly #closers: number[] = []

  /** Reads a value from its first byte, or a bracket that opens one, with the first key in it. */
  #value(i: number): number {
    const { text } = this
    const c = text.charCodeAt(i)
    if (c === QUOTE) {
      const end = stringEnd(text, i + 1)
      this.#note(STRING, i, end)
      return end
    }
    if (c === OPEN_OBJECT || c === OPEN_ARRAY) return this.#bracket(i, c)
    const end = scalarEnd(text, i)
    if (end > 0) this.#note(SCALAR, i, end)
    return end
  }

  #bracket(i: number, c: number): number {
    if (this.#open.length >= MOST_DEPTH) return -1
    this.#open.push(this.#note(c === OPEN_OBJECT ? OBJECT : ARRAY, i, 0))
    this.#closers.push(c + 2)
    const at = afterSpace(this.text, i + 1)
    if (this.text.charCodeAt(at) === c + 2) return this.#close(at)
    this.#opened = true
    return c === OPEN_OBJECT ? this.#key(at) : at
  }

  #close(at: number): number {
    const node = this.#open.pop() as Node
    this.#closers.pop()
    if (node !== NONE) {
      this.#nodes[node * FIELDS + 2] = at + 1
      this.#nodes[node * FIELDS + 3] = this.#count
    }
    return at + 1
  }

  /** Reads a key and its colon. */
  #key(i: number): number {
    const { text } = this
    if (text.charCodeAt(i) !== QUOTE) return -1
    const end = stringEnd(text, i + 1)
    if (end < 0) return -1
    this.#note(this.#hasEscapes && text.slice(i, end).includes('\\') ? ESCAPED : STRING, i, end)
    const colon = afterSpace(text, end)
    return text.charCodeAt(colon) === COLON ? colon + 1 : -1
  }

  /** Reads what may follow a value, up to where the next one begins. */
  #afterValue(from: number): number {
    const { text } = this
    for (let i = afterSpace(text, from); ; i = afterSpace(text, i)) {
      const depth = this.#closers.length
      if (depth === 0) {
        this.#done = true
        return i
      }
      const closer = this.#closers[depth - 1] as number
      const c = text.charCodeAt(i)
      if (c === closer) i = this.#close(i)
      else if (c !== COMMA) return -1
      else return closer === CLOSE_OBJECT ? this.#key(afterSpace(text, i + 1)) : i + 1
    }
  }

  #note(kind: number, start: number, end: number): Node {
    this.values++
    if (this.#open.length > this.#levels || this.hasTooMany) return NONE
    const at = this.#count * FIELDS
    if (at + FIELDS > this.#nodes.length) {
      const more = new Int32Array(this.#nodes.length * 2)
      more.set(this.#nodes)
      this.#nodes = more
    }
    this.#nodes[at] = kind
    this.#nodes[at + 1] = start
    this.#nodes[at + 2] = end
    this.#nodes[at + 3] = this.#count + 1
    return this.#count++
  }

  // --- what stands where; where a method takes the name of a member, it tells that member of the object

  kind(of: Node, member?: string): NodeKind | null {
    const node = this.#at(of, member)
    return node === NONE ? null : (KINDS[this.#nodes[node * FIELDS] as number] as NodeKind)
  }

  /** Where the value stands in the text. Of a member, the node before it is its key. */
  span(node: Node): { start: number; end: number } {
    return { start: this.#nodes[node * FIELDS + 1] as number, end: this.#nodes[node * FIELDS + 2] as number }
  }

  /** The value as it stands in the body; empty where there is none. */
  source(of: Node, member?: string): JsonText {
    const text = this.#inText(this.#at(of, member))
    return this.whole === null ? text : this.whole(text)
  }

  #inText(node: Node): JsonText {
    return node === NONE ? '' : this.text.slice(this.#nodes[node * FIELDS + 1], this.#nodes[node * FIELDS + 2])
  }

  #at(node: Node, member: string | undefined): Node {
    return member === undefined ? node : this.get(node, member)
  }

  /** The member of an object; of several with the same name the last one. NONE: there is none, or it is no object. */
  get(node: Node, name: string): Node {
    const nodes = this.#nodes
    if (node === NONE || nodes[node * FIELDS] !== OBJECT) return NONE
    const end = nodes[node * FIELDS + 3] as number
    let found = NONE
    for (let key = node + 1; key < end; key = nodes[(key + 1) * FIELDS + 3] as number)
      if (this.#isKey(key, name)) found = key + 1
    return found
  }

  /** Calls with each member of an object, in order. */
  members(node: Node, each: (name: string, value: Node) => void): void {
    for (let key = this.#first(node, OBJECT); key !== NONE; key = this.#next(node, this.#after(key)))
      each(decode(this.source(key)) ?? '', key + 1)
  }

  /** The object with its members made anew; null leaves one out. */
  rewritten(node: Node, made: (name: string, value: Node) => JsonText | null): JsonText {
    const members: string[] = []
    this.members(node, (name, value) => {
      const told = made(name, value)
      if (told !== null) members.push(`${literal(name)}:${told}`)
    })
    return `{${members.join(',')}}`
  }

  /** The elements of an array; none where it is no array. */
  elements(of: Node, member?: string): Node[] {
    const node = this.#at(of, member)
    const all: Node[] = []
    for (let at = this.#first(node, ARRAY); at !== NONE; at = this.#next(node, at)) all.push(at)
    return all
  }

  #first(node: Node, kind: number): Node {
    if (node === NONE || this.#nodes[node * FIELDS] !== kind) return NONE
    return this.#next(node, node)
  }

  /** The value behind this one, inside of `node`. For `node` itself: the first one in it. */
  #next(node: Node, at: Node): Node {
    const next = at === node ? node + 1 : this.#after(at)
    return next < (this.#nodes[node * FIELDS + 3] as number) ? next : NONE
  }

  #after(at: Node): Node {
    return this.#nodes[at * FIELDS + 3] as number
  }

  #isKey(key: Node, name: string): boolean {
    const start = this.#nodes[key * FIELDS + 1] as number
    const length = (this.#nodes[key * FIELDS + 2] as number) - start - 2
    if (length === name.length) return this.text.startsWith(name, start + 1)
    return this.#nodes[key * FIELDS] === ESCAPED && decode(this.source(key)) === name
  }

  // --- values that are decoded

  /** The literal of a string; null = it is none. */
  literal(of: Node, member?: string): Literal | null {
    const node = this.#at(of, member)
    return this.kind(node) === 'string' ? this.source(node) : null
  }

  /** The same of a string that is moved as it stands, at most joined with others: a long one may stand in it by number (`ShortBody`). */
  moved(of: Node, member?: string): Literal | null {
    const node = this.#at(of, member)
    return this.kind(node) === 'string' ? this.#inText(node) : null
  }

  /** A string; null = it is none. */
  string(of: Node, member?: string): string | null {
    const literal = this.literal(of, member)
    return literal === null ? null : decode(literal)
  }

  /** A number; null = it is none. */
  number(of: Node, member?: string): number | null {
    const node = this.#at(of, member)
    if (this.kind(node) !== 'scalar') return null
    const source = this.source(node)
    const value = source.charCodeAt(0) > 0x39 ? Number.NaN : Number(source) // a word
    return Number.isFinite(value) ? value : null
  }

  /** True or false; null = it is neither. */
  boolean(of: Node, member?: string): boolean | null {
    const node = this.#at(of, member)
    const source = this.kind(node) === 'scalar' ? this.source(node) : ''
    return source === 'true' ? true : source === 'false' ? false : null
  }

  /** There is no such value, or it is null. */
  absent(of: Node, member?: string): boolean {
    const node = this.#at(of, member)
    return node === NONE || (this.kind(node) === 'scalar' && this.source(node) === 'null')
  }
}

// --- where single values end, by the grammar

const BACKSLASH = 0x5c

const SCALARS = /true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
/** Most strings are keys and words, which a loop has passed before a search has begun. */
const SHORT = 32

/** Returns the position after the closing quote of a string; -1 = it is not valid. `from` is inside of it. */
export function stringEnd(text: string, from: number): number {
  const near = Math.min(text.length, from + SHORT)
  for (let i = from; i < near; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) return i + 1
    if (c === BACKSLASH || c < 0x20) return endOfLong(text, i)
  }
  return endOfLong(text, near)
}

/** The position behind a word or a number; -1 = there is none. */
function scalarEnd(text: string, from: number): number {
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

function afterSpace(text: string, from: number): number {
  let i = from
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) break
  }
  return i
}

/** One tree for one text after another: a conversation has thousands of calls. */
const OF_TEXT = new Tree(1)

/** The object that stands as JSON text in a literal, empty where no text does; null = it is none. */
export function objectIn(text: Literal): JsonText | null {
  const source = unquote(text)
  if (source.trim() === '') return '{}'
  const isObject = OF_TEXT.read(source) && OF_TEXT.kind(OF_TEXT.root) === 'object'
  OF_TEXT.read('') // keeps nothing of it
  return isObject ? source : null
}
