/** The two kinds of meter, whatever the protocol: over an event stream, and over one JSON document. */
import type { Usage } from '../terms/records.ts'
import { TextCounter } from './count.ts'
import { DocumentReader } from './document.ts'
import { EventReader, type EventSink } from './events.ts'
import { bytesAsText, type Patterns } from './patterns.ts'
import type { LengthStopState, Meter, MeterOptions } from './protocol.ts'
import { isFields } from './usage.ts'

/** What a protocol's events tell, collected while they pass. */
export interface Tally {
  usage: Usage | null
  terminal: boolean
  failed: boolean
  /** Known once the first event was seen. */
  stop: Partial<LengthStopState>
}

/** A protocol's reading of one event. `cut`: how the event began, when only its end is there. One object per stream. */
export interface EventRules {
  /** Every event that matters has one of these bytes somewhere; null = each is to be read. Whole runs of others are skipped. */
  readonly markers: Patterns | null
  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void
}

export class StreamMeter implements Meter, EventSink, Tally {
  readonly #reader = new EventReader(this)
  readonly #rules: EventRules
  readonly #counter: TextCounter
  readonly #alwaysCounts: boolean
  #begun = false
  quiet = false
  usage: Usage | null = null
  terminal = false
  failed = false
  stop: Partial<LengthStopState> = {}

  constructor(rules: EventRules, keys: Patterns, options: MeterOptions) {
    this.#rules = rules
    this.#counter = new TextCounter(keys)
    this.#alwaysCounts = options.count
  }

  feed(chunk: Buffer): void {
    const { markers } = this.#rules
    const text = bytesAsText(chunk)
    if (markers === null) this.#reader.feed(chunk)
    else if (this.#begun) this.#readFrom(chunk, markers.first(text))
    else this.#begin(chunk, text, markers)
    if (this.#alwaysCounts || this.usage === null) this.#counter.feed(text)
  }

  /** The first event tells what the answer is called. */
  #begin(chunk: Buffer, text: string, markers: Patterns): void {
    const end = text.indexOf('\n\n')
    const first = end < 0 ? chunk : chunk.subarray(0, end + 2)
    this.#reader.feed(first)
    this.quiet = false
    if (first.length === chunk.length) return
    const rest = chunk.subarray(first.length)
    this.#reader.feed(rest, this.#begun ? markers.first(text.slice(first.length)) : 0)
  }

  #readFrom(chunk: Buffer, matters: number): void {
    this.quiet = matters === chunk.length && this.#reader.atBoundary
    this.#reader.feed(chunk, matters)
    if (!this.#reader.atBoundary) this.quiet = false
  }

  event(name: string, data: Buffer, cut: Buffer | null): void {
    this.#begun = true
    this.#rules.read(this, name, data, cut)
  }

  end(): void {
    this.#reader.end()
  }

  get counted(): number {
    return this.#counter.tokens
  }

  get atBoundary(): boolean {
    return this.#reader.atBoundary
  }

  lengthStopState(): Partial<LengthStopState> {
    return this.usage === null ? this.stop : { ...this.stop, input: this.usage.input }
  }
}

/** Members of an answer that are looked at, in most protocols. */
export const USAGE_AND_ERROR: ReadonlySet<string> = new Set(['usage', 'error'])

export class DocumentMeter implements Meter {
  readonly #document: DocumentReader
  readonly #counter: TextCounter
  readonly #usageOf: (document: DocumentReader) => Usage | null
  #usage: Usage | null | undefined = undefined

  /** `members`: see DocumentReader; `error` is one of them. */
  constructor(members: ReadonlySet<string>, keys: Patterns, usageOf: (document: DocumentReader) => Usage | null) {
    this.#document = new DocumentReader(members)
    this.#counter = new TextCounter(keys)
    this.#usageOf = usageOf
  }

  feed(chunk: Buffer): void {
    this.#document.feed(chunk)
    this.#usage = undefined
    const reported = this.#document.complete && !this.failed && this.usage !== null
    if (!reported) this.#counter.feed(bytesAsText(chunk))
  }

  end(): void {}

  get usage(): Usage | null {
    if (this.#usage === undefined) this.#usage = this.#usageOf(this.#document)
    return this.#usage
  }

  get counted(): number {
    return this.#counter.tokens
  }

  get terminal(): boolean {
    return this.#document.complete
  }

  get failed(): boolean {
    return isFields(this.#document.value('error'))
  }

  get atBoundary(): boolean {
    return false
  }

  get quiet(): boolean {
    return false
  }

  lengthStopState(): Partial<LengthStopState> {
    return {}
  }
}

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

/** The event's type: its name, or what its data begins with where an upstream leaves names out. */
export function typeOf(name: string, data: Buffer, cut: Buffer | null): string {
  if (name !== '') return name
  return TYPE.exec((cut ?? data).toString('latin1', 0, 100))?.[1] ?? ''
}

/** JSON string contents of what an event said, bounded, for saying it again. */
export const shortText = (value: unknown, fallback: string): string =>
  typeof value === 'string' && value.length <= 256 ? value : fallback
