/**
 * Takes events out of a stream that its client does not know: of a chat stream the usage event, when the gateway asked for it and
 * the client did not; of any stream the events of a type that only its provider has. Everything else passes byte for byte. The
 * usage event is the one with empty choices and a usage object. An event is held back only while it is incomplete. Where a client asks
 * what its stream cost, that is put into the last event with usage.
 */

import { bytesAsText, Patterns } from '../json/patterns.ts'
import { type Fields, fieldsOf, isFields } from '../json/text.ts'
import { BLANK_LINE, endsEvent } from './events.ts'

const LF = 0x0a
const CR = 0x0d
/** The most bytes that are held back; a longer event is not the usage event. */
const LONGEST = 16 * 1024
/**
 * The usage event has one of these patterns in it. They do not match `"usage":null`, which all other events may have.
 */
const USAGE = new Patterns(['usage":{', 'usage": {', 'usage" :'])
/** The most pieces of an event; more are joined, so that an event in chunks of one byte is not thousands of buffers. */
const MOST_PIECES = 512

export class Withholder {
  /** The type of events that are taken out; null = the usage event is. */
  readonly #own: string | null
  /** The most bytes of an event that are held back. */
  readonly #longest: number
  /** The pieces of an incomplete event. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** True when the current event was too long to be held back, so that the rest of it passes too. */
  #passing = false
  /** Bytes of the current line without its CR; an empty line ends an event. */
  #lineBytes = 0
  #boundary = true

  constructor(own: string | null = null, longest = LONGEST) {
    this.#own = own
    this.#longest = longest
  }

  /**
   * Takes a chunk and returns what may pass now; null = nothing yet. `matters`: no event with usage ends before this
   * position; 0 = not known.
   */
  push(chunk: Buffer, matters: number): Buffer | Buffer[] | null {
    return this.#push(chunk, this.#own === null ? matters : firstOf(this.#own, chunk))
  }

  #push(chunk: Buffer, matters: number): Buffer | Buffer[] | null {
    const fresh = this.#boundary && this.#heldBytes === 0 && this.#lineBytes === 0
    if (!fresh) return this.#sort(chunk)
    if (matters === chunk.length && endsEvent(chunk)) return chunk
    const end = matters === 0 ? -1 : chunk.lastIndexOf(BLANK_LINE, matters - 1)
    if (end < 0) return this.#sort(chunk)
    const passed = chunk.subarray(0, end + 2)
    const rest = this.#sort(chunk.subarray(end + 2))
    if (rest === null) return passed
    return Array.isArray(rest) ? [passed, ...rest] : [passed, rest]
  }

  #sort(chunk: Buffer): Buffer | Buffer[] | null {
    const out: Buffer[] = []
    let eventStart = 0
    let lineStart = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, lineStart)) {
      const bytes = this.#lineBytes + lineLength(chunk, lineStart, end)
      this.#lineBytes = 0
      lineStart = end + 1
      if (bytes > 0) continue
      this.#endEvent(chunk.subarray(eventStart, lineStart), out)
      eventStart = lineStart
    }
    this.#lineBytes += lineLength(chunk, lineStart, chunk.length)
    if (eventStart < chunk.length) this.#hold(chunk.subarray(eventStart), out)
    return out.length === 0 ? null : out
  }

  #endEvent(bytes: Buffer, out: Buffer[]): void {
    const event = this.#heldBytes === 0 ? bytes : Buffer.concat([this.#takeHeld(), bytes])
    if (this.#passing) out.push(event)
    else this.sort(event, out)
    this.#passing = false
    this.#boundary = true
  }

  /** A whole event has come: what of it may pass now is added to `out`. */
  protected sort(event: Buffer, out: Buffer[]): void {
    if (!this.#isUnwanted(event)) out.push(event)
  }

  #isUnwanted(event: Buffer): boolean {
    return this.#own === null ? isUsageOnly(event) : event.includes(this.#own) && typeOf(event) === this.#own
  }

  #hold(bytes: Buffer, out: Buffer[]): void {
    if (this.#passing) {
      out.push(bytes)
      return
    }
    this.#held.push(Buffer.from(bytes))
    this.#heldBytes += bytes.length
    if (this.#held.length > MOST_PIECES) this.#held = [Buffer.concat(this.#held)]
    if (this.#heldBytes <= this.#longest) return
    out.push(this.#takeHeld())
    this.#passing = true
    this.#boundary = false
  }

  #takeHeld(): Buffer {
    const held = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held)
    this.#held = []
    this.#heldBytes = 0
    return held
  }

  /**
   * The stream has ended. Returns what was held back, unless it is an event without its blank line that is taken out;
   * null = nothing.
   */
  flush(): Buffer | null {
    const rest = this.#takeHeld()
    if (rest.length === 0 || this.#isUnwanted(rest)) return null
    this.#boundary = false
    return rest
  }

  /** True when what has passed ends between two events. */
  get atBoundary(): boolean {
    return this.#boundary
  }
}

const lineLength = (chunk: Buffer, start: number, end: number): number =>
  end - start - (end > start && chunk[end - 1] === CR ? 1 : 0)

/** No event that has the word ends before this position. */
function firstOf(word: string, chunk: Buffer): number {
  const at = chunk.indexOf(word)
  return at < 0 ? chunk.length : at
}

function isUsageOnly(event: Buffer): boolean {
  if (!USAGE.isIn(bytesAsText(event))) return false
  const { choices, usage } = fieldsOf(valueIn(event))
  return Array.isArray(choices) && choices.length === 0 && isFields(usage)
}

const typeOf = (event: Buffer): unknown => fieldsOf(valueIn(event))['type']

function valueIn(event: Buffer): unknown {
  try {
    return JSON.parse(dataOf(event.toString().trimEnd()))
  } catch {
    return undefined
  }
}

function dataOf(event: string): string {
  if (event.startsWith('data:') && !event.includes('\n')) return event.slice(5)
  const lines = event.split(/\r?\n/).filter(line => line.startsWith('data:'))
  return lines.map(line => line.slice(5)).join('\n')
}

// --- what the stream cost

/** The most bytes of an event in which the cost is told, and of what waits: events at the end of a stream may repeat all of it. */
const LONGEST_WAITING = 256 * 1024
/** What the upstream says of its own charge, of which clients are told nothing. */
const OF_UPSTREAM = ['cost', 'cost_details', 'is_byok']

/**
 * Tells a client that asked for it what its stream cost: the members stand in the last usage of the stream. That event, and what
 * follows it, waits until the charge is known, which is when the end of the answer is in sight. Nothing else of the stream waits, and
 * a stream that nobody asked about never comes here.
 */
export class CostTeller extends Withholder {
  readonly #usageOf: (event: Fields) => unknown
  readonly #cost: () => Fields | null
  /** The newest event with usage, and what came behind it. */
  #waiting: Buffer[] = []
  #waitingBytes = 0

  /** `usageOf`: the usage of an event, where the event may be the last one that has it. `cost`: the members; null = not known yet. */
  constructor(usageOf: (event: Fields) => unknown, cost: () => Fields | null) {
    super(null, LONGEST_WAITING)
    this.#usageOf = usageOf
    this.#cost = cost
  }

  override push(chunk: Buffer): Buffer[] | null {
    const passed = super.push(chunk, 0)
    const out = passed === null ? [] : Array.isArray(passed) ? passed : [passed]
    if (this.#waiting.length > 0 && this.#cost() !== null) out.push(...this.#take())
    return out.length === 0 ? null : out
  }

  protected override sort(event: Buffer, out: Buffer[]): void {
    const isLast = event.includes('sage') && isFields(this.#usageOf(fieldsOf(valueIn(event))))
    if (isLast) this.#release(out)
    if (!isLast && this.#waiting.length === 0) out.push(event)
    else {
      this.#waiting.push(Buffer.from(event))
      this.#waitingBytes += event.length
      if (this.#waitingBytes > 2 * LONGEST_WAITING) this.#release(out)
    }
  }

  /** What waits goes on as it came. */
  #release(out: Buffer[]): void {
    out.push(...this.#waiting)
    this.#waiting = []
    this.#waitingBytes = 0
  }

  #take(): Buffer[] {
    const [first, ...rest] = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    const cost = this.#cost()
    return first === undefined ? [] : [cost === null ? first : this.#told(first, cost), ...rest]
  }

  #told(event: Buffer, cost: Fields): Buffer {
    const value = valueIn(event)
    const usage = fieldsOf(this.#usageOf(fieldsOf(value)))
    for (const name of OF_UPSTREAM) delete usage[name]
    Object.assign(usage, cost)
    const lines = event.toString().trimEnd().split(/\r?\n/)
    const others = lines.filter(line => !line.startsWith('data:'))
    return Buffer.from(`${[...others, `data: ${JSON.stringify(value)}`].join('\n')}\n\n`)
  }

  /** The stream has ended: what waited, and what was held back of an event without its end. */
  override flush(): Buffer | null {
    const out: Buffer[] = []
    const rest = super.flush()
    if (rest !== null) this.sort(rest, out)
    const all = [...out, ...this.#take()]
    return all.length === 0 ? null : Buffer.concat(all)
  }
}
