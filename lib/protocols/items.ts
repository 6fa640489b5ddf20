/**
 * Reads a few members of the elements of an array while a JSON document passes. The members are named by a tree. Of each
 * element an object is made that has only these members, and is handed over when the element ends. Memory is bounded by
 * the number and the length of the values that are kept of one element.
 */
import { type Fields, isFields, decode, parse } from './json/text.ts'
import type { JsonKind } from './json/scanner.ts'

/**
 * Members that are looked into; an array stands for each of its elements. `text`: a string is read here; `value`: an object, whatever
 * it has.
 */
export interface Branch {
  readonly [member: string]: Branch | 'text' | 'value'
}

/** What is told of what is seen in an element. */
export interface Noting {
  search(key: string, counts?: boolean): void
  /** Usage that stands in an element. */
  tellUsage(usage: unknown): void
  /** Whether the answer says why it ended in a word that nobody knows. */
  unknownFinish: boolean
  call(stem: string, key: string | null, counts?: boolean, container?: string | null): void
}

/** The same, as far as events of streams tell it too. */
export type Seeing = Omit<Noting, 'tellUsage'>

export interface ItemRules {
  readonly array: string
  /** The members of each element that are read. */
  readonly branch: Branch
  /** Is called with each element; `index`: its place in the array. */
  read(tally: Noting, item: Fields, index: number): void
}

const LONGEST_TEXT = 4096
const LONGEST_VALUE = 64 * 1024
/** The most objects, arrays and texts that are kept of one element. */
const MOST_VALUES = 1000

interface Open {
  branch: Branch[string]
  /** What was read so far; null = the array itself, whose elements are handed over. */
  value: Fields | unknown[] | null
}

export class ItemReader {
  readonly #rules: ItemRules
  readonly #tally: Noting
  readonly #open: Open[] = []
  #values = 0
  /** How many objects and arrays the array has so far. */
  items = 0

  constructor(rules: ItemRules, tally: Noting) {
    this.#rules = rules
    this.#tally = tally
  }

  /** The name of the array. */
  get array(): string {
    return this.#rules.array
  }

  get inside(): boolean {
    return this.#open.length > 0
  }

  /** The array begins. */
  begin(): void {
    this.items = 0
    this.#open.push({ branch: this.#rules.branch, value: null })
  }

  /** The array as a whole, where it was parsed at once. */
  takeAll(array: readonly unknown[]): void {
    array.forEach((item, index) => {
      if (isFields(item)) this.#rules.read(this.#tally, item, index)
    })
  }

  wants(key: string): number {
    const branch = this.#branchOf(key)
    if (branch === 'value') return LONGEST_VALUE
    return branch === 'text' ? LONGEST_TEXT : 0
  }

  enter(key: string, kind: 'object' | 'array'): boolean {
    if (this.#open.length === 1) this.items++
    const branch = this.#branchOf(key)
    const inArray = this.#isArray
    if (branch === undefined || branch === 'value') return false
    if ((kind === 'array' ? inArray : branch === 'text') || !this.#hasRoom()) return false
    const value = kind === 'array' ? [] : {}
    this.#put(key, value)
    this.#open.push({ branch, value })
    return true
  }

  member(key: string, kind: JsonKind, text: string | null): void {
    if (text === null) return
    const branch = this.#branchOf(key)
    if (branch !== (kind === 'string' ? 'text' : 'value') || !this.#hasRoom()) return
    const value = branch === 'text' ? decode(text) : parse(text)
    if (value !== null && value !== undefined) this.#put(key, value)
  }

  leave(): void {
    const { value } = this.#open.pop() as Open
    if (this.#open.length !== 1) return
    this.#values = 0
    this.#rules.read(this.#tally, value as Fields, this.items - 1)
  }

  get #top(): Open {
    return this.#open[this.#open.length - 1] as Open
  }

  get #isArray(): boolean {
    const { value } = this.#top
    return value === null || Array.isArray(value)
  }

  #branchOf(key: string): Branch[string] | undefined {
    const { branch } = this.#top
    if (this.#isArray) return branch
    return typeof branch === 'object' && Object.hasOwn(branch, key) ? branch[key] : undefined
  }

  #hasRoom(): boolean {
    return this.#values++ < MOST_VALUES
  }

  #put(key: string, value: unknown): void {
    const into = this.#top.value
    if (Array.isArray(into)) into.push(value)
    else if (into !== null) into[key] = value
  }
}
