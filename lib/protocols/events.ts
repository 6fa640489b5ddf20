/**
 * Reads an event stream in pieces, beside its way to the client: complete events are shown one by one, as places in the
 * chunk where that is possible. Memory is fixed: of an event too long to be of interest as a whole, its beginning and a
 * rolling end are kept, because usage stands near the end.
 */
import { Returns, withFeeds } from './line-endings.ts'

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a
export const BLANK_LINE = Buffer.from('\n\n')

/** The first bytes of `data`, `event`, `id`, `retry` and comments, and of what may stand before the first line. */
const BEGINNINGS = new Set([0x64, 0x65, 0x69, 0x72, COLON, CR, 0xef])

/** An event (or what is kept of it) is at most this long. */
const LONGEST = 64 * 1024
const HEAD = 256
const SMALLEST = 512
const NOTHING = Buffer.alloc(0)
const LINE_END = Buffer.of(LF)

export interface EventSink {
  /** One event. `name` is empty when it had none. `cut`: bytes are missing between `head` and the data shown. */
  event(name: string, data: Buffer, cut: Buffer | null): void
}

/**
 * A buffer that grows up to a bound and keeps the first and the last bytes beyond it. Each byte is moved a few times,
 * however small the parts.
 */
class Kept {
  #bytes = NOTHING // most streams never keep anything, and there are many
  #start = 0
  #end = 0
  /** The beginning of what was longer than LONGEST; null = all of it is there. */
  head: Buffer | null = null

  get length(): number {
    return this.#end - this.#start
  }

  add(part: Buffer): void {
    if (this.length + part.length > LONGEST)
      this.head ??= Buffer.concat([this.view().subarray(0, HEAD), part.subarray(0, HEAD)]).subarray(0, HEAD)
    const tail = part.length > LONGEST ? part.subarray(part.length - LONGEST) : part
    const kept = Math.min(this.length, LONGEST - tail.length)
    this.#start = this.#end - kept
    if (this.#end + tail.length > this.#bytes.length) this.#makeRoom(kept, tail.length)
    tail.copy(this.#bytes, this.#end)
    this.#end += tail.length
  }

  /** What is moved fills at most half of the room, so that at least as many bytes come before the next move. */
  #makeRoom(kept: number, more: number): void {
    const has = this.#bytes.length
    const need = Math.max(SMALLEST, kept + more, Math.min(has * 2, LONGEST * 2))
    const room = kept + more > has / 2 ? Buffer.allocUnsafe(need) : this.#bytes
    this.#bytes.copy(room, 0, this.#start, this.#end)
    this.#bytes = room
    this.#start = 0
    this.#end = kept
  }

  view(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end)
  }

  clear(): void {
    this.#start = this.#end = 0
    this.head = null
  }
}

export class EventReader {
  readonly #sink: EventSink
  /** null: lines end in LF, with a CR before it or none. */
  #returns: Returns | null = new Returns()
  /** The line under way, from earlier chunks. */
  readonly #line = new Kept()
  /** The data of the event under way, when it is not simply a place in the current chunk. */
  readonly #data = new Kept()
  #hasData = false
  /** The event's only data line so far, in the current chunk. */
  #place: Buffer | null = null
  #name = ''
  #atStart = true
  /** Every byte so far belongs to a finished event. */
  atBoundary = true
  /** A line was seen that no event stream has. */
  stray = false
  /** Of the chunk under way, up to the end of the line that is being read. */
  position = 0

  constructor(sink: EventSink) {
    this.#sink = sink
  }

  /** `matters`: where the first thing of interest may be; events that lie wholly before it are not shown. */
  feed(chunk: Buffer, matters = 0): void {
    this.position = 0
    if (matters === 0) this.#read(chunk)
    else if (this.atBoundary) this.#skip(chunk, matters)
    else {
      // an empty line ends an event wherever it stands: reading can go on after any of them
      const first = chunk.indexOf(BLANK_LINE)
      const end = first < 0 || first >= matters ? chunk.length : first + 2
      this.#read(chunk.subarray(0, end))
      this.position = end
      if (end < chunk.length) this.#skip(chunk.subarray(end), matters - end)
    }
  }

  #withFeeds(returns: Returns, chunk: Buffer): Buffer {
    const { afterReturn } = returns
    const ending = returns.look(chunk)
    if (ending === 'feed') this.#returns = null
    if (ending !== 'return') return chunk
    if (afterReturn) this.#lines(LINE_END)
    this.position = 0
    return withFeeds(chunk)
  }

  /** From between two events: over those that end before `matters`. */
  #skip(chunk: Buffer, matters: number): void {
    if (matters === chunk.length && endsEvent(chunk)) return
    const last = matters < 2 ? -1 : chunk.lastIndexOf(BLANK_LINE, matters - 2)
    if (last >= 0) this.position += last + 2
    this.#read(last < 0 ? chunk : chunk.subarray(last + 2))
  }

  /** A stream whose lines end in CR comes here with each whole chunk: it has no blank line that could be searched for. */
  #read(chunk: Buffer): void {
    this.#lines(this.#returns === null ? chunk : this.#withFeeds(this.#returns, chunk))
  }

  #lines(chunk: Buffer): void {
    let from = 0
    const before = this.position
    for (;;) {
      const end = chunk.indexOf(LF, from)
      if (end < 0) break
      this.position = before + end + 1
      if (this.#line.length === 0) this.#endLine(chunk, from, end, null)
      else {
        this.#line.add(chunk.subarray(from, end))
        const whole = this.#line.view()
        this.#endLine(whole, 0, whole.length, this.#line.head)
        this.#settlePlace()
        this.#line.clear()
      }
      from = end + 1
    }
    this.#settlePlace()
    if (from < chunk.length) {
      if (this.#line.length === 0) this.#look(chunk[from] as number)
      this.#line.add(chunk.subarray(from))
      this.atBoundary = false
    }
  }

  /** A last line or event without its end still counts. */
  end(): void {
    if (this.#line.length > 0) {
      const whole = this.#line.view()
      this.#endLine(whole, 0, whole.length, this.#line.head)
      this.#settlePlace()
      this.#line.clear()
    }
    this.#dispatch()
  }

  /** A line without its LF. `head`: how it began, when the bytes are only its end. */
  #endLine(bytes: Buffer, start: number, end: number, head: Buffer | null): void {
    if (end > start && bytes[end - 1] === CR) end--
    if (this.#atStart) {
      this.#atStart = false
      if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) start += 3
    }
    if (start === end) {
      this.#dispatch()
      this.atBoundary = true
      return
    }
    this.atBoundary = false
    const first = (head ?? bytes)[head === null ? start : 0]
    if (first === 0x64) this.#dataLine(bytes, start, end, head)
    else if (first === 0x65 && head === null) this.#nameLine(bytes, start, end)
    else this.#look(first as number)
  }

  /** Looks at how a line begins. */
  #look(first: number): void {
    if (!BEGINNINGS.has(first)) this.stray = true
  }

  #nameLine(bytes: Buffer, start: number, end: number): void {
    if (end - start > HEAD || bytes.toString('latin1', start, start + 6) !== 'event:') return
    this.#name = bytes.toString('latin1', start + 6, end).trim()
  }

  #dataLine(bytes: Buffer, start: number, end: number, head: Buffer | null): void {
    const intro = head ?? bytes
    const at = head === null ? start : 0
    if (intro[at + 1] !== 0x61 || intro[at + 2] !== 0x74 || intro[at + 3] !== 0x61 || intro[at + 4] !== COLON) return
    const skip = intro[at + 5] === SPACE ? 6 : 5
    const value = bytes.subarray(head === null ? start + skip : start, end)
    if (!this.#hasData) this.#place = value
    else {
      this.#settlePlace()
      this.#data.add(Buffer.of(LF))
      this.#data.add(value)
    }
    this.#hasData = true
    if (head !== null) {
      this.#settlePlace()
      this.#data.head ??= head.subarray(skip)
    }
  }

  /** What lies in a chunk or line that is about to go is taken over. */
  #settlePlace(): void {
    if (this.#place === null) return
    this.#data.add(this.#place)
    this.#place = null
  }

  #dispatch(): void {
    if (this.#hasData) {
      if (this.#place !== null) this.#sink.event(this.#name, this.#place, null)
      else this.#sink.event(this.#name, this.#data.view(), this.#data.head)
    }
    this.#name = ''
    this.#place = null
    this.#hasData = false
    this.#data.clear()
  }
}

export const endsEvent = (chunk: Buffer): boolean =>
  chunk.length > 1 && chunk[chunk.length - 1] === LF && chunk[chunk.length - 2] === LF
