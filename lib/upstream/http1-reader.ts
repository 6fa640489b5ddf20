/**
 * The parser of HTTP/1.1 answers: a state machine that is fed the bytes of one connection, in whatever pieces they
 * arrive.
 *
 * It is as strict as a relay has to be: an answer whose end two readers could find in different places is an error (RFC
 * 9112, section 6.3). However many chunks one read of the socket contains, their data is passed on as one piece.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { bytesAsText } from '../protocols/patterns.ts'
import { BadAnswer, CHUNKED, checkHeaders, parseHead, TO_END } from './http1-head.ts'

export interface ReaderEvents {
  /** The head of the final answer; interim answers (1xx) are skipped. */
  onHead(status: number, headers: IncomingHttpHeaders): void
  onBody(bytes: Buffer): void
  onEnd(): void
  /** While this is true no event may be raised (back-pressure); the rest of a read is kept until `resume`. */
  readonly paused: boolean
}

// The states say what comes next on the connection.
/** Nothing: no answer is expected. */
const IDLE = 0
const HEAD = 1
/** A body whose length is known. */
const SIZED = 2
/** A body that ends when the connection closes. */
const OPEN = 3
// The chunked body: `SIZE [;EXTENSION] CR LF DATA CR LF` for each chunk, then the trailer.
const SIZE = 4
const EXTENSION = 5
const SIZE_LF = 6
const DATA = 7
const DATA_CR = 8
const DATA_LF = 9
const TRAILER = 10
/** Nothing: the answer is complete, and only `onEnd` is still to be called. */
const ENDING = 11

const CR = 0x0d
const LF = 0x0a
const TAB = 0x09
const SEMICOLON = 0x3b
const LINE_END = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const MAX_SIZE_DIGITS = 12
/** The longest usual frame between two chunks: CR LF, the next size, CR LF. */
const MAX_FRAME_BYTES = MAX_SIZE_DIGITS + 4
const MAX_EXTENSION_BYTES = 4096

export class Http1Reader {
  readonly #events: ReaderEvents
  readonly #maxHeaderBytes: number
  #state = IDLE
  /** The beginning of a head or trailer line that earlier reads brought. */
  #begun: Buffer | null = null
  /** How many bytes of the read come after its head or trailer line. */
  #after = 0
  /** How many bytes of the body, or of its chunk, are still to come. */
  #left = 0
  /** How many digits the size of the chunk has so far, and how many bytes its extension. */
  #digits = 0
  #extension = 0
  /** Bytes that came while reading was paused. */
  #rest: Buffer | null = null
  /** `feed` is running. */
  #feeding = false
  /** The connection may be used again after this answer. */
  keepAlive = false
  /** How long the upstream keeps an idle connection open, by its `keep-alive` header; null = it did not say. */
  keepAliveMs: number | null = null

  constructor(events: ReaderEvents, maxHeaderBytes: number) {
    this.#events = events
    this.#maxHeaderBytes = maxHeaderBytes
  }

  /** A request has been sent, so an answer is expected. */
  expect(): void {
    this.#state = HEAD
  }

  /** Takes the bytes of a read. The reader owns them and may change them. Throws BadAnswer. */
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
    if (at < chunk.length) this.keepAlive = false // there are bytes behind the end of the answer
  }

  #keep(bytes: Buffer): void {
    this.#rest = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes])
  }

  /** Goes on after a pause, with the bytes that were kept. */
  resume(): void {
    if (this.#feeding) return // `feed` goes on by itself
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

  /** The upstream has closed its side, which is how an answer without a length ends. */
  close(): void {
    if (this.#state === OPEN && this.#rest === null) this.#state = ENDING
    if (this.#state === ENDING) this.#end()
  }

  /** Reads the head. Returns the offset in `chunk` of what follows, as all methods here do. */
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

  /** The bytes up to `end`, from this read and the ones before; null = `end` has not come yet. */
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

  /** Reads the chunks of one read. Their data is moved together inside the read's own buffer. */
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
      if (begin >= 0) this.#events.onBody(chunk.subarray(begin, end)) // also when an error follows the data
    }
    return i
  }

  /**
   * A shortcut for the usual bytes between the data of two chunks (CR LF size CR LF), which are all in this read.
   * Returns where the next data begins; -1 = the bytes are something else, and nothing has changed.
   */
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

  /** Reads one byte between the data of two chunks. */
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

  /** Reads a line after the last chunk: a trailer header, which is ignored, or the empty line that ends the answer. */
  #trailer(chunk: Buffer, from: number): number {
    const line = this.#whole(chunk, from, LINE_END)
    if (line === null) return chunk.length
    if (line.length === 0) this.#state = ENDING
    else checkHeaders(bytesAsText(line))
    return chunk.length - this.#after
  }
}

/** The value of a hexadecimal digit; -1 = it is none. */
function hexDigit(c: number): number {
  if (c >= 0x30 && c <= 0x39) return c - 0x30
  const lower = c | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
