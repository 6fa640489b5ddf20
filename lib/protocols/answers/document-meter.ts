/**
 * The meter of answers that are one JSON document, which is read while it passes. The rules of a protocol say which members tell usage
 * and errors; only these few values are kept, however large the rest is.
 */

import { type JsonKind, JsonScanner, type ScanEvents } from '../json/scanner.ts'
import { decode, type Fields, isFields, parse } from '../json/text.ts'
import type { PictureCounter } from '../pictures/counter.ts'
import { laterTiers, type Report, type ToldTiers } from '../words/reports.ts'
import { NO_TIERS, type TierNames, type Usage } from '../words/usage.ts'
import type { ContentKeys } from './content.ts'
import { CountedAnswer } from './counted.ts'
import { answerIdOf, saysError } from './events.ts'
import type { LengthStopState, Meter } from './meter.ts'

export interface DocumentRules {
  /** The top-level members whose values are read; `error` is always one of them. */
  readonly members: ReadonlySet<string>
  /** Top-level members of which every answer has one. Where such a member is an array, the content is in it. */
  readonly own: readonly string[]
  readonly keys: ContentKeys
  /** True: nothing of an answer is output, so that its content is only noticed and not counted. */
  readonly writesNothing?: boolean
  /** `pieces`: how many strings of base64 have begun. `inItem`: usage that stands in one of the `items`. */
  reportOf(document: DocumentReader, pieces: number, inItem: unknown): Report | null
  /** Units of search that the document tells. Absent = the protocol has none. */
  unitsOf?(document: DocumentReader): number
  /** The names of tiers that the document tells. Absent = the protocol has none. */
  tiersOf?(document: DocumentReader): ToldTiers
  /** An array whose elements tell of searches, of usage, or of why the answer ended. */
  readonly items?: ItemRules
  /** Tells whether the document is an error in a provider's own form, without a member `error`. */
  failed?(document: DocumentReader): boolean
  /** Tells whether the document shows that the answer searched. */
  searched?(document: DocumentReader): boolean
  /** The word for why the answer ended, where nobody knows it and the `items` do not say it. */
  unknownFinish?(document: DocumentReader): string | null
  /** The member that has the answer's id. Absent = `id`. It is one of `members`. */
  readonly id?: string
}

export class DocumentMeter extends CountedAnswer implements Meter {
  readonly #rules: DocumentRules
  readonly #document: DocumentReader
  readonly #mostOutput: number
  // what the document says so far; undefined = nobody has asked since it grew
  #reported: Report | null | undefined = undefined
  #usage: Usage | null | undefined = undefined
  #failed: boolean | undefined = undefined
  #searched: boolean | undefined = undefined
  readonly undecided = false
  readonly atBoundary = false
  readonly matters = 0
  readonly isContent = false
  #blank = true
  #whole = false
  #inItem: unknown
  #unknownFinish: string | null = null

  /** `mostOutput`: as in `MeterOptions`. */
  constructor(
    rules: DocumentRules,
    mostOutput = Number.POSITIVE_INFINITY,
    pictures: PictureCounter | null = null,
    byPiece = pictures !== null,
  ) {
    super(rules.keys, pictures, byPiece)
    this.#rules = rules
    this.#mostOutput = mostOutput
    const reader = rules.items === undefined ? null : new ItemReader(rules.items, this)
    this.#document = new DocumentReader(rules.members, rules.own, reader)
  }

  feed(chunk: Buffer, text: string): void {
    this.#blank &&= text.trim() === ''
    this.#document.feed(chunk, text)
    this.pictures?.feed(chunk, text)
    this.#reported = this.#usage = this.#failed = this.#searched = undefined
    // what is reported need not be counted, as far as it can be true
    if (this.#document.complete && !this.failed && this.namesOutput && this.reportedOutput <= this.#mostOutput) return
    if (this.#rules.writesNothing && super.counted > 0) return
    this.counter.feed(text)
    this.#reported = this.#usage = undefined
  }

  end(whole: boolean): void {
    this.#whole = whole
  }

  protected get reported(): Report | null {
    if (this.#reported === undefined) this.#reported = this.#rules.reportOf(this.#document, this.pieces, this.#inItem)
    return this.#reported
  }

  override get usage(): Usage | null {
    if (this.#usage === undefined) this.#usage = super.usage
    return this.#usage
  }

  /** Documents are asked for their pictures, searches and tools always. */
  override get onlyContent(): boolean {
    return false
  }

  override get units(): number {
    return this.#rules.unitsOf?.(this.#document) ?? 0
  }

  get tiers(): TierNames {
    return laterTiers(NO_TIERS, this.#rules.tiersOf?.(this.#document) ?? {})
  }

  /** Returns the value of one of the members that the rules name. */
  protected value(name: string): unknown {
    return this.#document.value(name)
  }

  override get counted(): number {
    // the text of an error is not content
    return this.failed && this.#rules.own.every(name => this.#document.itemsOf(name) === 0) ? 0 : super.counted
  }

  override get produced(): number {
    return this.#rules.writesNothing ? 0 : super.produced
  }

  get final(): boolean {
    return this.#document.complete && this.namesOutput
  }

  get terminal(): boolean {
    return this.#document.complete
  }

  get concluded(): boolean {
    return this.terminal && !this.failed
  }

  get failed(): boolean {
    this.#failed ??= saysError(this.#document.value('error')) || (this.#rules.failed?.(this.#document) ?? false)
    return this.#failed
  }

  get failedAlone(): boolean {
    return this.failed && this.counted === 0 && this.images === 0
  }

  get foreign(): boolean {
    const document = this.#document
    if (this.#blank || this.failed) return false
    if (document.complete) return !document.known && this.reported === null
    return document.bad || this.#whole
  }

  /** Notes usage that stands in an element of the array. */
  tellUsage(usage: unknown): void {
    this.#inItem ??= usage
  }

  override get searches(): number {
    this.#searched ??= this.#rules.searched?.(this.#document) ?? false
    return Math.max(super.searches, this.#searched ? 1 : 0)
  }

  get unknownFinish(): string | null {
    return this.#unknownFinish ?? this.#rules.unknownFinish?.(this.#document) ?? null
  }

  set unknownFinish(word: string | null) {
    this.#unknownFinish = word
  }

  get answerId(): string | null {
    return answerIdOf(this.#document.value(this.#rules.id ?? 'id'))
  }

  lengthStopState(): Partial<LengthStopState> {
    return {}
  }
}

/** A report of thousands of passes is some hundred KiB long. */
const LONGEST_VALUE = 1024 * 1024
/** The most top-level arrays of an answer that are looked at. */
const MOST_ARRAYS = 32
/**
 * Most answers are at most this long and come in one chunk. Parsing such an answer costs less than scanning its bytes.
 */
const SHORT = 4096

/** What a document tells that is scanned while it passes. */
interface Scanned {
  readonly scanner: JsonScanner
  /** The values of the wanted members. */
  readonly values: Map<string, unknown>
  /** How many objects and arrays the top-level arrays have. */
  readonly items: Map<string, number>
}

/** Reads a JSON document while it passes, and keeps only the few top-level values that matter. */
export class DocumentReader implements ScanEvents {
  readonly #wanted: ReadonlySet<string>
  readonly #own: readonly string[]
  readonly #array: string
  readonly #reader: ItemReader | null
  /** The document, where it was short and parsed at once; null = it is scanned. */
  #whole: Fields | null = null
  /** Something came after its end. */
  #spoilt = false
  #scanned: Scanned | null = null
  /** True when a member was seen that every answer of the protocol has. */
  known = false

  /**
   * Values of the wanted members are kept, up to 1 MiB each. In an array of objects the last value that is not null
   * counts. `own`: members that show that the document belongs to the protocol. `reader`: of the elements of its
   * array.
   */
  constructor(wanted: ReadonlySet<string>, own: readonly string[], reader: ItemReader | null = null) {
    this.#wanted = wanted
    this.#own = own
    this.#array = reader?.array ?? ''
    this.#reader = reader
  }

  /** `text`: the same as Latin-1. */
  feed(chunk: Buffer, text: string): void {
    if (this.#whole !== null)
      this.#spoilt ||= text.trim() !== '' // after the end only space may come
    else if (this.#scanned !== null || chunk.length > SHORT) this.#scan(chunk, text)
    else {
      const whole = parse(text)
      if (!isFields(whole)) {
        this.#scan(chunk, text)
        return
      }
      this.#whole = whole
      this.known = this.#own.some(name => Object.hasOwn(whole, name))
      const array = this.#reader === null ? null : whole[this.#array]
      if (Array.isArray(array)) this.#reader?.takeAll(array)
    }
  }

  #scan(chunk: Buffer, text: string): void {
    this.#scanned ??= { scanner: new JsonScanner(this, { arrays: true }), values: new Map(), items: new Map() }
    this.#scanned.scanner.feed(chunk, text)
  }

  wants(key: string): number {
    if (this.#reader?.inside) return this.#reader.wants(key)
    return this.#wanted.has(key) ? LONGEST_VALUE : 0
  }

  enter(key: string, kind: 'object' | 'array'): boolean {
    const reader = this.#reader
    if (reader === null) return false
    if (reader.inside) return reader.enter(key, kind)
    if (kind !== 'array' || key !== this.#array) return false
    reader.begin()
    return true
  }

  leave(): void {
    const reader = this.#reader as ItemReader
    reader.leave()
    if (!reader.inside) this.member(this.#array, 'array', 0, 0, null, reader.items)
  }

  member(key: string, kind: JsonKind, _start: number, _end: number, text: string | null, items: number): void {
    if (this.#reader?.inside) {
      this.#reader.member(key, kind, text)
      return
    }
    this.known ||= this.#own.includes(key)
    const found = this.#scanned as Scanned
    if (kind === 'array' && found.items.size < MOST_ARRAYS) found.items.set(key, items)
    if (text === null || !this.#wanted.has(key)) return
    const value = parse(text)
    if (value !== null && value !== undefined) found.values.set(key, value)
  }

  /** Returns the value of a wanted member; undefined = it is missing, null, or too long. */
  value(key: string): unknown {
    if (this.#whole === null) return this.#scanned?.values.get(key)
    return this.#wanted.has(key) ? (this.#whole[key] ?? undefined) : undefined
  }

  /** Returns how many objects and arrays the top-level array of that name has. */
  itemsOf(key: string): number {
    if (this.#whole === null) return this.#scanned?.items.get(key) ?? 0
    const array = this.#whole[key]
    return Array.isArray(array) ? array.filter(isNested).length : 0
  }

  /** True when this is not a JSON document, whatever may still come. */
  get bad(): boolean {
    return this.#spoilt || (this.#scanned?.scanner.bad ?? false)
  }

  /** True when the document is complete by its syntax. */
  get complete(): boolean {
    return this.#whole === null ? (this.#scanned?.scanner.complete ?? false) : !this.#spoilt
  }
}

const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null

/**
 * Members that are looked into; an array stands for each of its elements. `text`: a string is read here; `value`: an object, whatever
 * it has.
 */
interface Branch {
  readonly [member: string]: Branch | 'text' | 'value'
}

/** An array of a document of which a protocol reads the elements. */
export interface ItemRules {
  readonly array: string
  /** The members of each element that are read. */
  readonly branch: Branch
  /** Takes each element; `index`: its place in the array. */
  read(meter: DocumentMeter, item: Fields, index: number): void
}

const LONGEST_TEXT = 4096
const LONGEST_IN_ITEM = 64 * 1024
/** The most objects, arrays and texts that are kept of one element. */
const MOST_VALUES = 1000

interface OpenItem {
  branch: Branch[string]
  /** The members that were read so far; null = the array itself, whose elements are handed over. */
  value: Fields | unknown[] | null
}

/**
 * Reads a few members of the elements of an array while the document passes. The members are named by a tree. Of each
 * element an object is made that has only these members, and is handed over when the element ends. Memory is bounded by
 * the number and the length of the values that are kept of one element.
 */
class ItemReader {
  readonly array: string
  readonly #rules: ItemRules
  readonly #meter: DocumentMeter
  readonly #open: OpenItem[] = []
  #values = 0
  /** The number of objects and arrays that the array has so far. */
  items = 0

  constructor(rules: ItemRules, meter: DocumentMeter) {
    this.array = rules.array
    this.#rules = rules
    this.#meter = meter
  }

  get inside(): boolean {
    return this.#open.length > 0
  }

  begin(): void {
    this.items = 0
    this.#open.push({ branch: this.#rules.branch, value: null })
  }

  /** The array as a whole, where it was parsed at once. */
  takeAll(array: readonly unknown[]): void {
    array.forEach((item, index) => {
      if (isFields(item)) this.#rules.read(this.#meter, item, index)
    })
  }

  wants(key: string): number {
    const branch = this.#branchOf(key)
    if (branch === 'value') return LONGEST_IN_ITEM
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
    const { value } = this.#open.pop() as OpenItem
    if (this.#open.length !== 1) return
    this.#values = 0
    this.#rules.read(this.#meter, value as Fields, this.items - 1)
  }

  get #top(): OpenItem {
    return this.#open[this.#open.length - 1] as OpenItem
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
