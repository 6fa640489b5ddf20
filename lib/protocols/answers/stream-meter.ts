/**
 * The meter of event streams. Events that may matter are read by the rules of the protocol, and content is counted beside. Most
 * events are content alone: they end with the chunk and have none of the protocol's patterns, and nothing of them is read.
 */
import type { Patterns } from '../json/patterns.ts'
import type { PictureCounter } from '../pictures/counter.ts'
import { laterReport, laterTiers, type Report, type ToldTiers } from '../words/reports.ts'
import { NO_TIERS, type TierNames } from '../words/usage.ts'
import type { ContentKeys } from './content.ts'
import { CountedAnswer } from './counted.ts'
import { BLANK_LINE, EventReader, type EventSink, StreamEvent } from './events.ts'
import type { LengthStopState, Meter } from './meter.ts'

/**
 * How a protocol reads its events, and writes down in the meter what they tell. Each stream has an object of its own.
 */
export interface EventRules {
  /**
   * Every event that matters has one of these patterns in it, so that other events can be skipped. null = each event is
   * read, which costs less where events are few and long.
   */
  readonly markers: Patterns | null
  /** Tells whether the event is one of this protocol. It is asked for each event until one is. */
  knows(event: StreamEvent): boolean
  read(meter: StreamMeter, event: StreamEvent): void
}

/** An error is shorter: of a longer event the beginning may pass before its end has come. */
const LONGEST_FIRST = 16 * 1024

export class StreamMeter extends CountedAnswer implements Meter, EventSink {
  readonly #reader = new EventReader(this)
  readonly #rules: EventRules
  /** The counter, which is there from the start, because every chunk of a stream is counted. */
  readonly #content = this.counter
  #known = false
  /** True when an event was seen that is not one of the protocol. */
  #strange = false
  /** True when an event came that belongs to an answer, before anything failed. */
  #answered = false
  #ending = false
  /** The place in the current chunk where the last report ended; -1 = the chunk has none. */
  #reportedAt = -1
  #countedAtReport = 0
  /** The number of bytes of the current chunk that the reader has had already. */
  #read = 0
  protected reported: Report | null = null
  matters = 0
  isContent = false
  terminal = false
  failed = false
  concluded = false
  unknownFinish: string | null = null
  answerId: string | null = null
  tiers: TierNames = NO_TIERS
  /** A length stop would have to say this, as far as the first event told. */
  stop: Partial<LengthStopState> = {}

  constructor(
    rules: EventRules,
    keys: ContentKeys,
    pictures: PictureCounter | null = null,
    byPiece = pictures !== null,
  ) {
    const { markers } = rules
    // an event without any of these matters neither to the rules nor to the pictures
    super(keys, pictures, byPiece, markers === null || pictures === null ? markers : markers.and(pictures.markers))
    this.#rules = rules
  }

  feed(chunk: Buffer, text: string): void {
    const { markers } = this.#rules
    // what is only content is counted first, and need not be searched for markers; an event that has begun before may have had one
    const counted = markers !== null && this.#reader.atBoundary ? this.#content.feed(text, 0, true) : 0
    this.matters = markers === null ? 0 : counted === text.length ? counted : markers.first(text, counted)
    const isWhole = this.#reader.atBoundary && text.endsWith('\n\n')
    const isContent = (this.isContent = isWhole && this.#known && this.matters === text.length)
    if (!isContent || counted < text.length) this.pictures?.feed(chunk, text)
    if (!isContent) this.#readEvents(chunk, text, markers)
    const at = isContent ? -1 : this.#reportedAt
    if (at < 0) this.#content.feed(text, counted)
    else {
      this.#content.feed(text.slice(0, at), counted)
      this.#countedAtReport = this.counted
      if (at < text.length) this.#content.feed(text.slice(at))
    }
  }

  /** Until an event is known, one is read after the other. The rest of the chunk may have many more, and is read at once. */
  #readEvents(chunk: Buffer, text: string, markers: Patterns | null): void {
    this.#reportedAt = -1
    this.#read = 0
    if (markers !== null && !this.#known) {
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
    } else this.#reader.feed(chunk, this.matters)
  }

  event(name: string, data: Buffer, cut: Buffer | null): void {
    const event = new StreamEvent(name, data, cut)
    if (!this.#known) {
      this.#known = this.#rules.knows(event)
      this.#strange ||= !this.#known && !this.#ending
    }
    this.#rules.read(this, event)
    this.#answered ||= this.#known && !this.failed
    this.concluded ||= this.terminal && !this.failed
  }

  // --- what the rules write down, beside `search`, `call` and the fields

  /** Notes a report; null = the event reports nothing, and earlier reports stay. */
  report(report: Report | null): void {
    if (report === null) return
    this.reported = laterReport(this.reported, report)
    this.#reportedAt = this.#read + this.#reader.position
    if (this.#ending) this.#countedAtReport = this.counted // the report stands in an event that lacks its end, and all content has been counted
  }

  /** Notes names of tiers; those that say nothing leave earlier ones as they are. */
  tell(tiers: ToldTiers): void {
    this.tiers = laterTiers(this.tiers, tiers)
  }

  // --- what is asked of a meter

  end(): void {
    this.#ending = true
    this.#reader.end()
  }

  get final(): boolean {
    return this.namesOutput && this.counted === this.#countedAtReport
  }

  get undecided(): boolean {
    const { held, stray } = this.#reader
    return !this.#known && !this.#strange && !stray && held > 0 && held < LONGEST_FIRST
  }

  get failedAlone(): boolean {
    return this.failed && !this.#answered && this.counted === 0
  }

  get foreign(): boolean {
    return !this.#known && (this.#strange || this.#reader.stray)
  }

  get atBoundary(): boolean {
    return this.#reader.atBoundary
  }

  lengthStopState(): Partial<LengthStopState> {
    return this.stop
  }
}
