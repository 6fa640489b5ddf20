/**
 * Reads an event stream in pieces, beside its way to the client: complete events are shown one by one, as places in the
 * chunk where that is possible. Memory is fixed: of an event too long to be of interest as a whole, its beginning and a
 * rolling end are kept, because usage stands near the end.
 */
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a
export const BLANK_LINE = Buffer.from('\n\n')

/** An event (or what is kept of it) is at most this long. */
const LONGEST = 64 * 1024
const HEAD = 256
const SMALLEST = 512
const NOTHING = Buffer.alloc(0)

export interface EventSink {
  /** One event. `name` is empty when it had none. `cut`: bytes are missing between `head` and the data shown. */
  event(name: string, data: Buffer, cut: Buffer | null): void
}

/** Bytes that grow, until they are too many: then the first and the last of them. */
class Kept {
  #bytes = NOTHING // most streams never keep anything, and there are many
  #length = 0
  /** The beginning of what was longer than LONGEST; null = all of it is there. */
  head: Buffer | null = null

  get length(): number {
    return this.#length
  }

  add(part: Buffer): void {
    if (this.#length + part.length > LONGEST) {
      this.head ??= Buffer.from(
        Buffer.concat([this.#bytes.subarray(0, Math.min(HEAD, this.#length)), part.subarray(0, HEAD)]).subarray(
          0,
          HEAD,
        ),
      )
      const keep = Math.max(0, LONGEST - part.length)
      const tail = part.subarray(Math.max(0, part.length - LONGEST))
      this.#bytes.copyWithin(0, Math.max(0, this.#length - keep), this.#length)
      this.#length = Math.min(this.#length, keep)
      this.#append(tail)
    } else this.#append(part)
  }

  #append(part: Buffer): void {
    const need = this.#length + part.length
    if (need > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.min(LONGEST, Math.max(need, SMALLEST, this.#bytes.length * 2)))
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    part.copy(this.#bytes, this.#length)
    this.#length = need
  }

  view(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  clear(): void {
    this.#length = 0
    this.head = null
  }
}

export class EventReader {
  readonly #sink: EventSink
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

  constructor(sink: EventSink) {
    this.#sink = sink
  }

  /** `matters`: where the first thing of interest may be; events that lie wholly before it are not shown. */
  feed(chunk: Buffer, matters = 0): void {
    if (matters === 0) this.#read(chunk)
    else if (this.atBoundary) this.#skip(chunk, matters)
    else {
      // an empty line ends an event wherever it stands: reading can go on after any of them
      const first = chunk.indexOf(BLANK_LINE)
      const end = first < 0 || first >= matters ? chunk.length : first + 2
      this.#read(chunk.subarray(0, end))
      if (end < chunk.length) this.#skip(chunk.subarray(end), matters - end)
    }
  }

  /** From between two events: over those that end before `matters`. */
  #skip(chunk: Buffer, matters: number): void {
    if (matters === chunk.length && endsEvent(chunk)) return
    const last = matters < 2 ? -1 : chunk.lastIndexOf(BLANK_LINE, matters - 2)
    this.#read(last < 0 ? chunk : chunk.subarray(last + 2))
  }

  #read(chunk: Buffer): void {
    let from = 0
    for (;;) {
      const end = chunk.indexOf(LF, from)
      if (end < 0) break
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

/** The member `"name":{…}` nearest to the end of an event whose beginning may be missing, or undefined. `depth`: how many objects it stands in. */
export function lastObject(data: Buffer, name: string, depth: number): unknown {
  const marker = `"${name}"`
  for (let at = data.lastIndexOf(marker); at >= 0; at = at === 0 ? -1 : data.lastIndexOf(marker, at - 1)) {
    const open = openingAfter(data, at + marker.length)
    if (open < 0) continue
    const close = matchingEnd(data, open, 0)
    if (close < 0 || matchingEnd(data, close, depth) !== data.length) continue
    try {
      return JSON.parse(data.toString('utf8', open, close))
    } catch {
      // looked like an object and is none: further back there may be one
    }
  }
  return undefined
}

function openingAfter(data: Buffer, from: number): number {
  let colon = false
  for (let i = from; i < data.length; i++) {
    const c = data[i] as number
    if (c === 0x7b) return colon ? i : -1
    if (c === COLON && !colon) colon = true
    else if (c !== SPACE && c !== LF && c !== CR && c !== 0x09) return -1
  }
  return -1
}

/** From `from`, `depth` objects deep: just after the bracket that brings the depth to 0 (or, for depth > 0, the end of the data after it). */
function matchingEnd(data: Buffer, from: number, depth: number): number {
  let level = depth
  let quoted = false
  for (let i = from; i < data.length; i++) {
    const c = data[i] as number
    if (quoted) {
      if (c === 0x5c) i++
      else if (c === 0x22) quoted = false
    } else if (c === 0x22) quoted = true
    else if (c === 0x7b || c === 0x5b) level++
    else if ((c === 0x7d || c === 0x5d) && --level === 0) return depth === 0 ? i + 1 : restIsSpace(data, i + 1)
  }
  return -1
}

const restIsSpace = (data: Buffer, from: number): number =>
  data.toString('latin1', from).trim() === '' ? data.length : -1
