/** The two kinds of meter, whatever the protocol: over an event stream, and over one JSON document. */
import type { Usage } from '../terms/records.ts'
import { TextCounter } from './count.ts'
import { DocumentReader } from './document.ts'
import { EventReader, type EventSink } from './events.ts'
import type { Patterns } from './patterns.ts'
import type { LengthStopState, Meter, MeterOptions } from './protocol.ts'
import { isFields } from './usage.ts'

/** What a protocol's events tell, collected while they pass. */
export interface Tally {
  usage: Usage | null
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
  /** The first event is to be read in any case. */
  readonly wantsFirst: boolean
  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void
}

export class StreamMeter implements Meter, EventSink, Tally {
  readonly #reader = new EventReader(this)
  readonly #rules: EventRules
  readonly #counter: TextCounter
  readonly #alwaysCounts: boolean
  #begun: boolean
  matters = 0
  usage: Usage | null = null
  terminal = false
  failed = false
  answerId: string | null = null
  stop: Partial<LengthStopState> = {}

  constructor(rules: EventRules, keys: Patterns, options: MeterOptions) {
    this.#rules = rules
    this.#begun = !rules.wantsFirst
    this.#counter = new TextCounter(keys)
    this.#alwaysCounts = options.count
  }

  feed(chunk: Buffer, text: string): void {
    const { markers } = this.#rules
    this.matters = this.#begun && markers !== null ? markers.first(text) : 0
    this.#reader.feed(chunk, this.matters)
    if (this.#alwaysCounts || this.usage === null) this.#counter.feed(text)
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

  feed(chunk: Buffer, text: string): void {
    this.#document.feed(chunk, text)
    this.#usage = undefined
    const reported = this.#document.complete && !this.failed && this.usage !== null
    if (!reported) this.#counter.feed(text)
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

/** An answer's id as it is in its body; null = none. */
export const idOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** JSON string contents of what an event said, bounded, for saying it again. */
export const shortText = (value: unknown, fallback: string): string =>
  typeof value === 'string' && value.length <= 256 ? value : fallback
