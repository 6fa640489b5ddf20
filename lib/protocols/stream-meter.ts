/**
 * The meter of event streams. Events that may matter are read by the rules of the protocol, and content is counted
 * beside.
 */
import type { ContentKeys } from './content-keys.ts'
import { Counted } from './counted.ts'
import { BLANK_LINE, EventReader, type EventSink } from './events.ts'
import type { LengthStopState, Meter } from './meter.ts'
import type { Patterns } from './json/patterns.ts'
import type { PictureCounter } from './pictures/counter.ts'
import { type Report, laterTiers, type ToldTiers } from './words/reports.ts'
import { NO_TIERS, type TierNames } from './words/usage.ts'

/** What the events of a stream have told so far. */
export interface Tally {
  /** Notes a report; null = the event reports nothing, and earlier reports stay. */
  report(report: Report | null): void
  /** Notes names of tiers; those that say nothing leave earlier ones as they are. */
  tell(tiers: ToldTiers): void
  /** Notes a search by its key. `counts` false: the call proved to be no search. */
  search(key: string, counts?: boolean): void
  /** Notes a call of another tool by its key. `counts` false: an error came of it. `container`: in which it ran. */
  call(stem: string, key: string | null, counts?: boolean, container?: string | null): void
  terminal: boolean
  failed: boolean
  /** See `Meter.unknownFinish`. */
  unknownFinish: boolean
  /** See `Meter.answerId`. */
  answerId: string | null
  /** What a length stop would have to say, as far as the first event told. */
  stop: Partial<LengthStopState>
}

/**
 * How a protocol reads its events. Each stream has an object of its own. `cut`: the beginning of the event, when only
 * its end is there.
 */
export interface EventRules {
  /**
   * Every event that matters has one of these patterns in it, so that other events can be skipped. null = each event is
   * read, which costs less where events are few and long.
   */
  readonly markers: Patterns | null
  /** Whether the event is one of this protocol. It is asked for each event until one is. */
  knows(name: string, data: Buffer, cut: Buffer | null): boolean
  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void
}

/** An error is shorter: of a longer event the beginning may pass before its end has come. */
const LONGEST_FIRST = 16 * 1024

export class StreamMeter extends Counted implements Meter, EventSink, Tally {
  readonly #reader = new EventReader(this)
  readonly #rules: EventRules
  #known = false
  /** Whether an event was seen that is not one of the protocol. */
  #strange = false
  /** Whether an event came that belongs to an answer, before anything failed. */
  #answered = false
  #ending = false
  /** Where in the current chunk the last report ended; -1 = the chunk has none. */
  #reportedAt = -1
  #countedAtReport = 0
  /** How many bytes of the current chunk the reader has had already. */
  #read = 0
  protected reported: Report | null = null
  matters = 0
  terminal = false
  failed = false
  concluded = false
  unknownFinish = false
  answerId: string | null = null
  tiers: TierNames = NO_TIERS
  stop: Partial<LengthStopState> = {}

  constructor(
    rules: EventRules,
    keys: ContentKeys,
    pictures: PictureCounter | null = null,
    byPiece = pictures !== null,
  ) {
    super(keys, pictures, byPiece)
    this.#rules = rules
  }

  feed(chunk: Buffer, text: string): void {
    const { markers } = this.#rules
    this.matters = markers === null ? 0 : markers.first(text)
    this.#reportedAt = -1
    this.#read = 0
    if (markers === null || this.#known) this.#reader.feed(chunk, this.matters)
    else this.#feedFirst(chunk, text, markers)
    this.pictures?.feed(chunk, text)
    const at = this.#reportedAt
    if (at < 0) this.counter.feed(text)
    else {
      this.counter.feed(text.slice(0, at))
      this.#countedAtReport = this.counted
      if (at < text.length) this.counter.feed(text.slice(at))
    }
  }

  /** Reads event by event until one is known. The rest of the chunk may have many more events, and is read at once. */
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
    this.#answered ||= this.#known && !this.failed
    this.concluded ||= this.terminal && !this.failed
  }

  report(report: Report | null): void {
    if (report === null) return
    this.reported = report
    this.#reportedAt = this.#read + this.#reader.position
    if (this.#ending) this.#countedAtReport = this.counted // the report stands in an event that lacks its end, and all content has been counted
  }

  tell(tiers: ToldTiers): void {
    this.tiers = laterTiers(this.tiers, tiers)
  }

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
