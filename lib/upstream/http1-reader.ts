/**
 * Reads HTTP/1.1 answers from the bytes of one connection, whatever their pieces. As strict as a relay has to be: an answer
 * whose end two readers could see in two places is none (RFC 9112, section 6.3). What came with one read of the socket goes
 * on as one piece of body, however many chunks it was.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { bytesAsText } from '../protocols/patterns.ts'
import { BadAnswer, CHUNKED, checkHeaders, parseHead, TO_END } from './http1-head.ts'

export interface ReaderEvents {
  /** The final answer's; interim ones (1xx) are passed over. */
  onHead(status: number, headers: IncomingHttpHeaders): void
  onBody(bytes: Buffer): void
  onEnd(): void
  /** Nothing may be told at the moment: what is left of a read is kept for later. */
  readonly paused: boolean
}

const IDLE = 0
const HEAD = 1
const SIZED = 2
const OPEN = 3
const SIZE = 4
const EXTENSION = 5
const SIZE_LF = 6
const DATA = 7
const DATA_CR = 8
const DATA_LF = 9
const TRAILER = 10
/** All is read, and `onEnd` is still to be called. */
const ENDING = 11

const CR = 0x0d
const LF = 0x0a
const TAB = 0x09
const SEMICOLON = 0x3b
const LINE_END = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const MAX_SIZE_DIGITS = 12
/** An end of data, and a size. */
const MAX_FRAME_BYTES = MAX_SIZE_DIGITS + 4
const MAX_EXTENSION_BYTES = 4096

export class Http1Reader {
  readonly #events: ReaderEvents
  readonly #maxHeaderBytes: number
  #state = IDLE
  /** Of a head or trailer, what earlier reads had. */
  #begun: Buffer | null = null
  /** Bytes of a read behind its head or trailer line. */
  #after = 0
  /** Bytes of the body, or of its chunk, still to come. */
  #left = 0
  #digits = 0
  #extension = 0
  #rest: Buffer | null = null
  #feeding = false
  /** The connection may be used again after this answer. */
  keepAlive = false
  /** How long the upstream keeps an idle connection, as it says; null = it does not. */
  keepAliveMs: number | null = null

  constructor(events: ReaderEvents, maxHeaderBytes: number) {
    this.#events = events
    this.#maxHeaderBytes = maxHeaderBytes
  }

  /** An answer is owed. */
  expect(): void {
    this.#state = HEAD
  }

  /** The bytes of a read, which are the reader's from now on. Throws BadAnswer. */
  feed(chunk: Buffer): void {
    this.#feeding = true
    try {
      this.#read(chunk)
    } finally {
      this.#feeding = false
    }
    if (this.#state === ENDING) this.#end()
  }

  #read(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length && this.#state !== ENDING) {
      if (this.#events.paused) {
        this.#keep(chunk.subarray(at))
        return
      }
      if (this.#state === HEAD) at = this.#head(chunk, at)
      else if (this.#state === SIZED) at = this.#sized(chunk, at)
      else if (this.#state === OPEN) {
        this.#events.onBody(at === 0 ? chunk : chunk.subarray(at))
        return
      } else if (this.#state === IDLE) throw new BadAnswer('bytes that nobody asked for')
      else at = this.#chunked(chunk, at)
    }
    if (at < chunk.length) this.keepAlive = false // whatever stands behind the end
  }

  #keep(bytes: Buffer): void {
    this.#rest = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes])
  }

  /** No more paused. */
  resume(): void {
    if (this.#feeding) return // it goes on by itself
    const rest = this.#rest
    this.#rest = null
    if (rest !== null) this.feed(rest)
    else if (this.#state === ENDING) this.#end()
  }

  #end(): void {
    if (this.#events.paused) return
    this.#state = IDLE
    this.#events.onEnd()
  }

  /** The upstream says no more, which may be how an answer ends. */
  close(): void {
    if (this.#state === OPEN && this.#rest === null) this.#state = ENDING
    if (this.#state === ENDING) this.#end()
  }

  #head(chunk: Buffer, from: number): number {
    const bytes = this.#whole(chunk, from, HEAD_END)
    if (bytes === null) return chunk.length
    const next = chunk.length - this.#after
    const head = parseHead(bytesAsText(bytes))
    if (head === null) return next
    this.keepAlive = head.keepAlive
    this.keepAliveMs = head.keepAliveMs
    if (head.length === CHUNKED) this.#beginChunk()
    else {
      this.#left = head.length
      this.#state = head.length === TO_END ? OPEN : head.length === 0 ? ENDING : SIZED
    }
    this.#events.onHead(head.status, head.headers)
    return next
  }

  /** What stands up to `end`, from this read and those before; null = more is to come. */
  #whole(chunk: Buffer, from: number, end: Buffer): Buffer | null {
    const fresh = from === 0 ? chunk : chunk.subarray(from)
    const bytes = this.#begun === null ? fresh : Buffer.concat([this.#begun, fresh])
    const at = bytes.indexOf(end, Math.max(0, bytes.length - fresh.length - end.length + 1))
    if ((at < 0 ? bytes.length : at) > this.#maxHeaderBytes) throw new BadAnswer('headers without end')
    this.#begun = at < 0 ? bytes : null
    if (at < 0) return null
    this.#after = bytes.length - at - end.length
    return bytes.subarray(0, at)
  }

  #beginChunk(): void {
    this.#state = SIZE
    this.#left = this.#digits = this.#extension = 0
  }

  #sized(chunk: Buffer, from: number): number {
    const end = Math.min(chunk.length, from + this.#left)
    this.#left -= end - from
    if (this.#left === 0) this.#state = ENDING
    this.#events.onBody(from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end))
    return end
  }

  /** All chunks of one read, moved together: its bytes are nobody else's. */
  #chunked(chunk: Buffer, from: number): number {
    let begin = -1
    let end = -1
    let i = from
    try {
      while (i < chunk.length && this.#state !== ENDING) {
        if (this.#state === DATA) {
          const last = Math.min(chunk.length, i + this.#left)
          if (begin < 0) {
            begin = i
            end = last
          } else end += chunk.copy(chunk, end, i, last)
          this.#left -= last - i
          if (this.#left === 0) this.#state = DATA_CR
          i = last
        } else if (this.#state === TRAILER) i = this.#trailer(chunk, i)
        else {
          const data = this.#state === DATA_CR ? this.#wholeFrame(chunk, i) : -1
          if (data < 0) this.#frame(chunk[i++] as number)
          else i = data
        }
      }
    } finally {
      if (begin >= 0) this.#events.onBody(chunk.subarray(begin, end)) // also what stands before something wrong
    }
    return i
  }

  /** What mostly stands between the data of two chunks, at once. Returns where the data goes on; -1 = it is something else. */
  #wholeFrame(chunk: Buffer, from: number): number {
    if (from + MAX_FRAME_BYTES > chunk.length || chunk[from] !== CR || chunk[from + 1] !== LF) return -1
    let size = 0
    let i = from + 2
    for (let digit = hexDigit(chunk[i] as number); digit >= 0 && i < from + 2 + MAX_SIZE_DIGITS; ) {
      size = size * 16 + digit
      digit = hexDigit(chunk[++i] as number)
    }
    if (size === 0 || chunk[i] !== CR || chunk[i + 1] !== LF) return -1
    this.#left = size
    this.#state = DATA
    return i + 2
  }

  /** One byte of what stands between the data of two chunks. */
  #frame(c: number): void {
    switch (this.#state) {
      case SIZE: {
        const digit = hexDigit(c)
        if (digit >= 0 && this.#digits < MAX_SIZE_DIGITS) {
          this.#digits++
          this.#left = this.#left * 16 + digit
        } else if (this.#digits > 0 && c === CR) this.#state = SIZE_LF
        else if (this.#digits > 0 && c === SEMICOLON) this.#state = EXTENSION
        else throw new BadAnswer('a chunk without size')
        break
      }
      case EXTENSION:
        if (c === CR) this.#state = SIZE_LF
        else if ((c < 0x20 && c !== TAB) || c === 0x7f || ++this.#extension > MAX_EXTENSION_BYTES)
          throw new BadAnswer('a chunk without size')
        break
      case SIZE_LF:
        if (c !== LF) throw new BadAnswer('a chunk without size')
        this.#state = this.#left > 0 ? DATA : TRAILER
        break
      case DATA_CR:
        if (c !== CR) throw new BadAnswer('a chunk without end')
        this.#state = DATA_LF
        break
      default:
        if (c !== LF) throw new BadAnswer('a chunk without end')
        this.#beginChunk()
    }
  }

  /** Behind the last chunk: an empty line, or headers that nobody wants and then one. */
  #trailer(chunk: Buffer, from: number): number {
    const line = this.#whole(chunk, from, LINE_END)
    if (line === null) return chunk.length
    if (line.length === 0) this.#state = ENDING
    else checkHeaders(bytesAsText(line))
    return chunk.length - this.#after
  }
}

function hexDigit(c: number): number {
  if (c >= 0x30 && c <= 0x39) return c - 0x30
  const lower = c | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
