/**
 * Reads an event stream in chunks, beside its way to the client, and hands complete events to a sink one by one. Where
 * it can, an event is a part of the chunk and not a copy. Memory is bounded: of an event that is too long, only its
 * beginning and its end are kept, because usage stands near the end.
 */
import { lastMembers } from '../json/last-members.ts'
import { type Fields, isFields } from '../json/text.ts'

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a
export const BLANK_LINE = Buffer.from('\n\n')

/**
 * The bytes with which a line may begin: those of `data`, `event`, `id`, `retry` and comments, a CR, and a byte order
 * mark.
 */
const BEGINNINGS = new Set([0x64, 0x65, 0x69, 0x72, COLON, CR, 0xef])

const LINE_END = Buffer.of(LF)

/** The most bytes that are kept of an event, where nobody needs more. */
const LONGEST_KEPT = 64 * 1024
/** The bytes that are kept of the beginning of an event that is longer. */
const HEAD = 256
const SMALLEST = 512
const NOTHING = Buffer.alloc(0)

/**
 * A buffer that grows up to a bound, and beyond it keeps the first and the last bytes. Each byte is moved only a few
 * times, however small the parts are.
 */
class KeptBytes {
  readonly #longest: number
  #bytes = NOTHING // most streams never keep anything, and there are many
  #start = 0
  #end = 0
  /** The beginning of a text longer than the bound; null = the buffer has all of it. */
  head: Buffer | null = null

  constructor(longest = LONGEST_KEPT) {
    this.#longest = longest
  }

  get length(): number {
    return this.#end - this.#start
  }

  add(part: Buffer): void {
    if (this.length + part.length > this.#longest)
      this.head ??= Buffer.concat([this.view().subarray(0, HEAD), part.subarray(0, HEAD)]).subarray(0, HEAD)
    const tail = part.length > this.#longest ? part.subarray(part.length - this.#longest) : part
    const kept = Math.min(this.length, this.#longest - tail.length)
    this.#start = this.#end - kept
    if (this.#end + tail.length > this.#bytes.length) this.#makeRoom(kept, tail.length)
    tail.copy(this.#bytes, this.#end)
    this.#end += tail.length
  }

  /**
   * Makes room for more bytes. What is moved fills at most half of the buffer, so that at least as many bytes must come
   * before the next move.
   */
  #makeRoom(kept: number, more: number): void {
    const has = this.#bytes.length
    const need = Math.max(SMALLEST, kept + more, Math.min(has * 2, this.#longest * 2))
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

/**
 * Finds out how the lines of an event stream end, by its first line. A line may end in CR alone, which is rare; such a
 * stream is read with each CR replaced by LF.
 */
class LineEnds {
  #known = false
  /** True when the last byte so far was a CR, so that the next chunk tells whether an LF follows it. */
  afterReturn = false

  /**
   * Returns `feed` for lines that end in LF, perhaps with a CR before it, `return` for lines that end in CR alone, and
   * null as long as this is not known.
   */
  look(chunk: Buffer): 'feed' | 'return' | null {
    if (this.#known) return 'return'
    if (chunk.length === 0) return null
    const feed = chunk.indexOf(LF)
    const at = this.afterReturn ? -1 : chunk.indexOf(CR)
    const wasReturn = this.afterReturn && feed !== 0
    this.afterReturn = at >= 0 && feed < 0 && at + 1 === chunk.length
    this.#known = wasReturn || (at >= 0 && at + 1 < chunk.length && (feed < 0 || at + 1 < feed))
    if (this.#known) return 'return'
    return feed < 0 ? null : 'feed'
  }
}

function withFeeds(chunk: Buffer): Buffer {
  const copy = Buffer.from(chunk)
  for (let at = copy.indexOf(CR); at >= 0; at = copy.indexOf(CR, at + 1)) if (copy[at + 1] !== LF) copy[at] = LF
  return copy
}

export interface EventSink {
  /**
   * Takes each event. `name` is empty when the event has none. `cut`: the beginning of the data, when bytes
   * are missing between it and `data`; null = `data` is all of it.
   */
  event(name: string, data: Buffer, cut: Buffer | null): void
}

export class EventReader {
  readonly #sink: EventSink
  /** Finds out how lines end; null = they end in LF, perhaps with a CR before it. */
  #returns: LineEnds | null = new LineEnds()
  /** The parts of the current line that came in earlier chunks. */
  readonly #line: KeptBytes
  /** The data of the current event, when it is not a part of the current chunk. */
  readonly #data: KeptBytes
  #hasData = false
  /** The event's only data line so far, as a part of the current chunk; null = there is none. */
  #place: Buffer | null = null
  #name = ''
  #atStart = true
  /** True when every byte so far belongs to a finished event. */
  atBoundary = true
  /** True when a line was seen that no event stream has. */
  stray = false
  /** The number of bytes of the current chunk that were read, up to the end of the last line. */
  position = 0

  /** `longest`: of longer events only the beginning and the end are kept. */
  constructor(sink: EventSink, longest?: number) {
    this.#sink = sink
    this.#line = new KeptBytes(longest)
    this.#data = new KeptBytes(longest)
  }

  /** `matters`: where in the chunk the first byte of interest may be. Events that end before it are skipped. */
  feed(chunk: Buffer, matters = 0): void {
    this.position = 0
    if (matters === 0) this.#read(chunk)
    else if (this.atBoundary) this.#skip(chunk, matters)
    else {
      // an empty line ends an event wherever it stands, so reading can go on after any empty line
      const first = chunk.indexOf(BLANK_LINE)
      const end = first < 0 || first >= matters ? chunk.length : first + 2
      this.#read(chunk.subarray(0, end))
      this.position = end
      if (end < chunk.length) this.#skip(chunk.subarray(end), matters - end)
    }
  }

  #withFeeds(returns: LineEnds, chunk: Buffer): Buffer {
    const { afterReturn } = returns
    const ending = returns.look(chunk)
    if (ending === 'feed') this.#returns = null
    if (ending !== 'return') return chunk
    if (afterReturn) this.#lines(LINE_END)
    this.position = 0
    return withFeeds(chunk)
  }

  /** Skips the events that end before `matters`. The chunk begins between two events. */
  #skip(chunk: Buffer, matters: number): void {
    const { length } = chunk
    if (matters === length && length > 1 && chunk[length - 1] === LF && chunk[length - 2] === LF) return
    const last = matters < 2 ? -1 : chunk.lastIndexOf(BLANK_LINE, matters - 2)
    if (last >= 0) this.position += last + 2
    this.#read(last < 0 ? chunk : chunk.subarray(last + 2))
  }

  /**
   * Reads all lines of the chunk. A stream whose lines end in CR comes here with each whole chunk, because a search for
   * LF finds no blank lines in it.
   */
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

  /** The number of bytes that are kept of an event that is not whole. */
  get held(): number {
    return this.#line.length + this.#data.length
  }

  /** The stream has ended: a last line or event that lacks its end counts too. */
  end(): void {
    if (this.#line.length > 0) {
      const whole = this.#line.view()
      this.#endLine(whole, 0, whole.length, this.#line.head)
      this.#settlePlace()
      this.#line.clear()
    }
    this.#dispatch()
  }

  /** Reads a line without its LF. `head`: the beginning of the line, when the bytes are only its end. */
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

  /** Notices a line that no event stream has, by its first byte. */
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

  /** Copies the data line that is a part of the current chunk, before the chunk is gone. */
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

// --- what the rules of several protocols read in an event or a document

/** Tells whether the value of an `error` member is an error. Some upstreams always send the member, with null in it. */
export const saysError = (value: unknown): boolean => isFields(value) || (typeof value === 'string' && value !== '')

const TYPE = /^\s*\{\s*"type"\s*:\s*"([\w.]{1,64})"/

/** One event of a stream as the rules of a protocol read it. Of a long one only the beginning and the end are there. */
export class StreamEvent {
  readonly #name: string
  /** The data, or only the end of it. */
  readonly data: Buffer
  /** True when bytes are missing before `data`. */
  readonly isCut: boolean
  readonly begin: Buffer
  #fields: Fields | null | undefined = undefined

  constructor(name: string, data: Buffer, cut: Buffer | null) {
    this.#name = name
    this.data = data
    this.isCut = cut !== null
    this.begin = cut ?? data
  }

  /**
   * The type of the event: its name, or the `type` in its data where an upstream leaves names out. `type` is mostly the
   * first member, so it is looked for there first.
   */
  get type(): string {
    if (this.#name !== '') return this.#name
    return TYPE.exec(this.begin.toString('latin1', 0, 100))?.[1] ?? shortText(this.fields?.['type'], '')
  }

  /** The data as an object; null = it is none, or some of it is missing. */
  get fields(): Fields | null {
    if (this.#fields === undefined) this.#fields = this.isCut ? null : objectIn(this.data)
    return this.#fields
  }

  /** Returns the data, or of one that is no object, or that is cut, these members: those nearest to the end. */
  fieldsOr(...names: string[]): Fields {
    return this.fields ?? lastMembers(this.data, names, 1)
  }

  /** Returns the object in a member of the data, or of one that is cut these members of that object: those nearest to the end. */
  objectOr(member: string, ...names: string[]): Fields {
    const whole = this.fields?.[member]
    return isFields(whole) ? whole : lastMembers(this.data, names, 2)
  }
}

function objectIn(data: Buffer): Fields | null {
  try {
    const value: unknown = JSON.parse(data.toString())
    return isFields(value) ? value : null
  } catch {
    return null
  }
}

/** No upstream has longer ids. */
const LONGEST_ID = 1024

/** Returns the id of an answer as it stands in the body; null = it has none. */
export const answerIdOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_ID ? value : null

/**
 * Returns a string of an event that the gateway will repeat in words of its own; the fallback where it is missing or too long.
 */
export const shortText = (value: unknown, fallback: string): string =>
  typeof value === 'string' && value.length <= 256 ? value : fallback
