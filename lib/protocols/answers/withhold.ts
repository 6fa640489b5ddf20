/**
 * Cuts a stream into its events, and takes those out that its client does not know: of a chat stream the usage event, when the gateway
 * asked for it and the client did not; of any stream the events of a type that only its provider has. Everything else passes byte for
 * byte. The usage event is the one with empty choices and a usage object. An event is held back only while it is incomplete.
 */

import { Patterns } from '../json/patterns.ts'
import { fieldsOf, isFields } from '../json/text.ts'
import { BLANK_LINE } from './events.ts'

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

/** Bytes that are held back, in the order in which they came. They are copied, because a small part may keep a large chunk in memory. */
export class HeldBytes {
  #parts: Buffer[] = []
  length = 0

  add(bytes: Buffer): void {
    this.#parts.push(Buffer.from(bytes))
    this.length += bytes.length
    if (this.#parts.length > MOST_PIECES) this.#parts = [Buffer.concat(this.#parts)]
  }

  view(): Buffer {
    return this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts)
  }

  take(): Buffer {
    const all = this.view()
    this.#parts = []
    this.length = 0
    return all
  }
}

/** Hands over the events of a stream one by one, and passes on what comes back of each. An event that is too long passes as it comes. */
export abstract class EventCutter {
  /** The most bytes of an event that are held back. */
  readonly #longest: number
  /** What has come of an event that has no end yet. */
  protected readonly held = new HeldBytes()
  /** True when the current event was too long to be held back, so that the rest of it passes too. */
  #passing = false
  /** Bytes of the current line without its CR; an empty line ends an event. */
  #lineBytes = 0
  /** True when what has passed ends between two events. */
  atBoundary = true
  readonly #sparesContent: boolean
  /** Whole events of content alone would pass as they are now, and need not come here. */
  passesContent: boolean

  /** `sparesContent`: of events that are content alone none is taken out or changed. */
  constructor(longest: number, sparesContent = false) {
    this.#longest = longest
    this.passesContent = this.#sparesContent = sparesContent
  }

  /** A whole event has come: what of it may pass now is added to `out`. */
  protected abstract sort(event: Buffer, out: Buffer[]): void

  /** Takes a chunk and returns what may pass now; null = nothing yet. */
  cut(chunk: Buffer): Buffer[] | null {
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
    const event = this.held.length === 0 ? bytes : Buffer.concat([this.held.take(), bytes])
    if (this.#passing) out.push(event)
    else this.sort(event, out)
    this.#passing = false
    this.atBoundary = true
    this.passesContent = this.#sparesContent
  }

  #hold(bytes: Buffer, out: Buffer[]): void {
    this.passesContent = false
    if (this.#passing) {
      out.push(bytes)
      return
    }
    this.held.add(bytes)
    if (this.held.length > this.#longest) out.push(this.letGo() as Buffer)
  }

  /** What is held of an event passes as it came, and so does the rest of it; null = nothing is held. */
  letGo(): Buffer | null {
    if (this.held.length === 0) return null
    this.#passing = true
    this.atBoundary = false
    return this.held.take()
  }

  /** The stream ends before the event does: what is held of it goes nowhere. */
  drop(): null {
    if (this.held.length > 0) this.#lineBytes = 0
    this.held.take()
    return null
  }

  get heldBytes(): number {
    return this.held.length
  }
}

export class Withholder extends EventCutter {
  /** The type of events that are taken out; null = the usage event is. */
  readonly #own: string | null

  constructor(own: string | null = null) {
    super(LONGEST, own === null)
    this.#own = own
  }

  /**
   * Takes a chunk and returns what may pass now; null = nothing yet. `matters`: no event with usage ends before this
   * position; 0 = not known.
   */
  push(chunk: Buffer, matters: number): Buffer | Buffer[] | null {
    if (!this.atBoundary || this.held.length > 0) return this.cut(chunk)
    const first = this.#own === null ? matters : firstOf(this.#own, chunk)
    const end = first === 0 ? -1 : chunk.lastIndexOf(BLANK_LINE, first - 1)
    if (end < 0) return this.cut(chunk)
    const passed = chunk.subarray(0, end + 2)
    const rest = this.cut(chunk.subarray(end + 2))
    return rest === null ? passed : [passed, ...rest]
  }

  protected override sort(event: Buffer, out: Buffer[]): void {
    if (!this.#isUnwanted(event)) out.push(event)
  }

  #isUnwanted(event: Buffer): boolean {
    return this.#own === null ? isUsageOnly(event) : event.includes(this.#own) && typeOf(event) === this.#own
  }

  /**
   * The stream has ended. Returns what was held back, unless it is an event without its blank line that is taken out;
   * null = nothing.
   */
  flush(): Buffer | null {
    return this.#isUnwanted(this.held.view()) ? null : this.letGo()
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
  if (!USAGE.isIn(event.toString('latin1'))) return false
  const { choices, usage } = fieldsOf(valueOfEvent(event))
  return Array.isArray(choices) && choices.length === 0 && isFields(usage)
}

const typeOf = (event: Buffer): unknown => fieldsOf(valueOfEvent(event))['type']

/** The value that an event carries; undefined = none. */
export function valueOfEvent(event: Buffer): unknown {
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
