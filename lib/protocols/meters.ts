/** The two kinds of meter, whatever the protocol: over an event stream, and over one JSON document. */
import type { ContentKeys } from './content-keys.ts'
import { ContentCounter } from './count.ts'
import { DocumentReader } from './document.ts'
import { BLANK_LINE, EventReader, type EventSink } from './events.ts'
import type { Patterns } from './patterns.ts'
import type { PictureCounter } from './pictures.ts'
import { isFields } from './fields.ts'
import type { LengthStopState, Meter } from './meter.ts'
import type { Pass, Report } from './reports.ts'
import type { Usage } from './usage.ts'

/** What a protocol's events tell, collected while they pass. */
export interface Tally {
  /** null = it says nothing, and takes nothing back. */
  report(report: Report | null): void
  terminal: boolean
  failed: boolean
  /** See `Meter.answerId`. */
  answerId: string | null
  /** Known once the first event was seen. */
  stop: Partial<LengthStopState>
}

/** A protocol's reading of one event. `cut`: how the event began, when only its end is there. One object per stream. */
export interface EventRules {
  /**
   * Every event that matters has one of these bytes somewhere; whole runs of others are skipped. null = each is to be read,
   * which costs less where events are few and long.
   */
  readonly markers: Patterns | null
  /** The event is one of this protocol's. Asked until one is. */
  knows(name: string, data: Buffer, cut: Buffer | null): boolean
  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void
}

/** What both kinds of meter make of a report and a count. */
abstract class Counted {
  protected readonly counter: ContentCounter
  /** null: pictures are not charged by the piece, or are what the protocol reports. */
  protected readonly pictures: PictureCounter | null

  constructor(keys: ContentKeys, pictures: PictureCounter | null) {
    this.counter = new ContentCounter(keys)
    this.pictures = pictures
  }

  protected abstract readonly reported: Report | null

  get usage(): Usage | null {
    const { reported, images } = this
    if (reported === null) return null
    if (this.pictures === null || images === 0) return reported.usage
    return { ...reported.usage, images, output: reported.usage.output - reported.drawn }
  }

  get images(): number {
    return this.pictures?.count ?? this.reported?.usage.images ?? 0
  }

  get passes(): readonly Pass[] {
    return this.reported?.passes ?? []
  }

  get counted(): number {
    return this.counter.tokens
  }

  get produced(): number {
    const { counted, pictures } = this
    const beside = pictures === null ? counted : Math.min(counted, this.counter.tokensBeside(pictures.characters))
    return Math.max(beside, this.usage?.output ?? 0)
  }

  /** Also when it says that there was none: what is reported is what is charged. */
  protected get namesOutput(): boolean {
    return this.reported?.namesOutput ?? false
  }
}

export class StreamMeter extends Counted implements Meter, EventSink, Tally {
  readonly #reader = new EventReader(this)
  readonly #rules: EventRules
  #known = false
  /** An event was seen that is none of the protocol's. */
  #strange = false
  #ending = false
  /** Where in the chunk under way the latest report ended; -1 = it has none. */
  #reportedAt = -1
  #countedAtReport = 0
  /** Bytes of the chunk under way that the reader had before. */
  #read = 0
  protected reported: Report | null = null
  matters = 0
  terminal = false
  failed = false
  concluded = false
  answerId: string | null = null
  stop: Partial<LengthStopState> = {}

  constructor(rules: EventRules, keys: ContentKeys, pictures: PictureCounter | null = null) {
    super(keys, pictures)
    this.#rules = rules
  }

  feed(chunk: Buffer, text: string): void {
    const { markers } = this.#rules
    this.matters = markers === null ? 0 : markers.first(text)
    this.#reportedAt = -1
    this.#read = 0
    if (markers === null || this.#known) this.#reader.feed(chunk, this.matters)
    else this.#feedFirst(chunk, text, markers)
    this.pictures?.feed(text)
    const at = this.#reportedAt
    if (at < 0) this.counter.feed(text)
    else {
      this.counter.feed(text.slice(0, at))
      this.#countedAtReport = this.counted
      if (at < text.length) this.counter.feed(text.slice(at))
    }
  }

  /** Event by event until one is known; a burst may have all the others in the same chunk. */
  #feedFirst(chunk: Buffer, text: string, markers: Patterns): void {
    while (!this.#known && this.#read < chunk.length) {
      const blank = chunk.indexOf(BLANK_LINE, this.#read)
      const end = blank < 0 ? chunk.length : blank + 2
      this.#reader.feed(chunk.subarray(this.#read, end))
      this.#read = end
    }
    const from = this.#read
    if (from === chunk.length) return
    const matters = this.matters >= from ? this.matters - from : markers.first(text.slice(from))
    this.#reader.feed(chunk.subarray(from), matters)
  }

  event(name: string, data: Buffer, cut: Buffer | null): void {
    if (!this.#known) {
      this.#known = this.#rules.knows(name, data, cut)
      this.#strange ||= !this.#known && !this.#ending
    }
    this.#rules.read(this, name, data, cut)
    this.concluded ||= this.terminal && !this.failed
  }

  report(report: Report | null): void {
    if (report === null) return
    this.reported = report
    this.#reportedAt = this.#read + this.#reader.position
    if (this.#ending) this.#countedAtReport = this.counted // of an event without its end: all has been counted
  }

  end(): void {
    this.#ending = true
    this.#reader.end()
  }

  get final(): boolean {
    return this.namesOutput && this.counted === this.#countedAtReport
  }

  get foreign(): boolean {
    return !this.#known && (this.#strange || this.#reader.stray)
  }

  get atBoundary(): boolean {
    return this.#reader.atBoundary
  }

  lengthStopState(): Partial<LengthStopState> {
    return this.usage === null ? this.stop : { ...this.stop, input: this.usage.input }
  }
}

/** What a protocol says about its whole answers. */
export interface DocumentRules {
  /** Members whose values are looked at; `error` is one of them. */
  readonly members: ReadonlySet<string>
  /** Members of which every answer has one; where they are arrays, the content stands in them. */
  readonly own: readonly string[]
  readonly keys: ContentKeys
  /** `pieces`: strings of base64 that have begun. */
  reportOf(document: DocumentReader, pieces: number): Report | null
}

export class DocumentMeter extends Counted implements Meter {
  readonly #rules: DocumentRules
  readonly #document: DocumentReader
  #reported: Report | null | undefined = undefined
  #blank = true
  #whole = false

  constructor(rules: DocumentRules, pictures: PictureCounter | null = null) {
    super(rules.keys, pictures)
    this.#rules = rules
    this.#document = new DocumentReader(rules.members, rules.own)
  }

  feed(chunk: Buffer, text: string): void {
    this.#blank &&= text.trim() === ''
    this.#document.feed(chunk, text)
    this.pictures?.feed(text)
    this.#reported = undefined
    if (this.#document.complete && !this.failed && this.namesOutput) return
    this.counter.feed(text)
    this.#reported = undefined
  }

  end(whole: boolean): void {
    this.#whole = whole
  }

  protected get reported(): Report | null {
    if (this.#reported === undefined) this.#reported = this.#rules.reportOf(this.#document, this.counter.pieces)
    return this.#reported
  }

  override get counted(): number {
    // words of an error are no content
    return this.failed && this.#rules.own.every(name => this.#document.itemsOf(name) === 0) ? 0 : super.counted
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
    return saysError(this.#document.value('error'))
  }

  get foreign(): boolean {
    const document = this.#document
    if (this.#blank || this.failed) return false
    if (document.complete) return !document.known && this.reported === null
    return document.bad || this.#whole
  }

  get answerId(): string | null {
    return idOf(this.#document.value('id'))
  }

  get atBoundary(): boolean {
    return false
  }

  get matters(): number {
    return 0
  }

  lengthStopState(): Partial<LengthStopState> {
    return {}
  }
}

/** The value of an `error` member that is one: some upstreams fill it with null. */
export const saysError = (value: unknown): boolean => isFields(value) || (typeof value === 'string' && value !== '')

/** Members of an answer that are looked at, in most protocols. */
export const USAGE_AND_ERROR: ReadonlySet<string> = new Set(['usage', 'error'])

/** An event's data as an object; undefined when it is none, or not all there. */
export function parseEvent(data: Buffer, cut: Buffer | null): Record<string, unknown> | undefined {
  if (cut !== null) return undefined
  try {
    const value: unknown = JSON.parse(data.toString())
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

const TYPE = /^\s*\{\s*"type"\s*:\s*"([\w.]{1,64})"/

/** The event's type: its name, or what its data says where an upstream leaves names out, which is mostly the first thing. */
export function typeOf(name: string, data: Buffer, cut: Buffer | null): string {
  if (name !== '') return name
  const begins = TYPE.exec((cut ?? data).toString('latin1', 0, 100))?.[1]
  return begins ?? shortText(parseEvent(data, cut)?.['type'], '')
}

/** An answer's id as it is in its body; null = none. */
export const idOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** JSON string contents of what an event said, bounded, for saying it again. */
export const shortText = (value: unknown, fallback: string): string =>
  typeof value === 'string' && value.length <= 256 ? value : fallback
