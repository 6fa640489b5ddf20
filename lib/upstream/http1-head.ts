/**
 * Heads of HTTP/1.1. That of an answer is parsed: its status and headers, how its body ends, and whether the connection may be used
 * again. What two readers could understand differently is an error. That of a request is written with the body behind it: a path
 * or header with bytes that could end its line is refused, because the upstream could read the rest as another request (request
 * splitting).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { headerLine } from '../base/http.ts'
import { BadRequest } from './attempt.ts'

/** The bytes are not a valid answer. */
export class BadAnswer extends Error {
  override name = 'BadAnswer'
  readonly code = 'BAD_ANSWER'
}

/** Values of `Head.length` for a body in chunks, and for one that ends when the connection closes. */
export const CHUNKED = -1
export const TO_END = -2

export interface Head {
  status: number
  headers: IncomingHttpHeaders
  /** Bytes of the body, or CHUNKED, or TO_END. */
  length: number
  /** The connection may be used again after this answer. */
  keepAlive: boolean
  /** The time for which the upstream keeps an idle connection open, by its `keep-alive` header; null = it did not say. */
  keepAliveMs: number | null
}

const STATUS = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/
const HEADER = /^[\w!#$%&'*+\-.^`|~]+:[\t\x20-\x7e\x80-\xff]*$/
const LENGTH = /^\d{1,15}$/
const TIMEOUT = /timeout=(\d{1,6})/
const CLOSES = /(?:^|[,\t ])close(?:$|[,\t ])/
const SPACE = 0x20
const TAB = 0x09

/** A line of the last head, and what it says. */
interface HeaderLine {
  text: string
  name: string
  value: string
}

/** The headers of one answer, without any of Object.prototype. The engine is faster with them than with an object that has no prototype. */
const NoHeaders = function NoHeaders() {} as unknown as new () => IncomingHttpHeaders
NoHeaders.prototype = Object.create(null)

/** The most lines of a head that are compared with those of the next one. */
const MOST_KNOWN = 64

/** Reads the heads of one upstream. Lines that stood at the same place of the last one, as most do, are not read and checked again. */
export class HeadReader {
  #first: string | null = null
  #status = 0
  #isNewer = false
  readonly #lines: HeaderLine[] = []
  #keepAlive = ''
  #keepAliveMs: number | null = null

  /**
   * `text` is the head without the empty line at its end, one character per byte. Returns null for an interim answer
   * (1xx). Throws BadAnswer.
   */
  read(text: string): Head | null {
    let end = lineEnd(text, 0)
    // slices are compared, because the engine's `startsWith` takes longer
    const first = text.slice(0, end)
    if (first !== this.#first) this.#readFirst(first)
    const status = this.#status
    const headers = new NoHeaders()
    for (let i = 0, from = end + 2; from < text.length; i++, from = end + 2) {
      end = lineEnd(text, from)
      const line = text.slice(from, end)
      let known = this.#lines[i]
      if (known === undefined || known.text !== line) {
        known = readLine(line)
        if (i < MOST_KNOWN) this.#lines[i] = known
      }
      addHeader(headers, known)
    }
    if (status === 101) throw new BadAnswer('another protocol than was asked for')
    if (status < 200) return null
    const length = bodyLength(status, headers)
    const keepAlive = length !== TO_END && keepsAlive(this.#isNewer, headers) && !mayHaveStrayBody(status, headers)
    return { status, headers, length, keepAlive, keepAliveMs: this.#idleMs(headers['keep-alive']) }
  }

  #readFirst(line: string): void {
    const found = STATUS.exec(line)
    if (found === null) throw new BadAnswer('no status line')
    this.#first = line
    this.#isNewer = found[1] === '1'
    this.#status = Number(found[2])
  }

  #idleMs(named: string | string[] | undefined): number | null {
    if (named === undefined) return null
    if (named !== this.#keepAlive) {
      this.#keepAlive = String(named)
      const timeout = TIMEOUT.exec(this.#keepAlive)
      this.#keepAliveMs = timeout === null ? null : Number(timeout[1]) * 1000
    }
    return this.#keepAliveMs
  }
}

/** Checks a header line, which comes without its end. Throws BadAnswer. */
export function checkHeader(line: string): void {
  if (!HEADER.test(line)) throw new BadAnswer('a header that is none')
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\r\n', from)
  return at < 0 ? text.length : at
}

function readLine(text: string): HeaderLine {
  checkHeader(text)
  const colon = text.indexOf(':')
  return { text, name: text.slice(0, colon).toLowerCase(), value: bare(text, colon + 1, text.length) }
}

function addHeader(headers: IncomingHttpHeaders, { name, value }: HeaderLine): void {
  const before = headers[name]
  if (before === undefined) headers[name] = value
  else if (typeof before === 'string') headers[name] = [before, value]
  else before.push(value)
}

/** The value without the blanks around it. `trim` would also remove U+00A0, which is a byte of the value here. */
function bare(text: string, from: number, end: number): string {
  for (let c = text.charCodeAt(from); from < end && (c === SPACE || c === TAB); c = text.charCodeAt(from)) from++
  for (let c = text.charCodeAt(end - 1); end > from && (c === SPACE || c === TAB); c = text.charCodeAt(end - 1)) end--
  return text.slice(from, end)
}

function bodyLength(status: number, headers: IncomingHttpHeaders): number {
  const encoding = headers['transfer-encoding']
  const length = headers['content-length'] as string | string[] | undefined
  if (encoding !== undefined && length !== undefined) throw new BadAnswer('two lengths')
  if (status === 204 || status === 304) return 0
  if (encoding !== undefined) {
    // we ask for no other coding, and would pass it on as if it were the body
    if (typeof encoding !== 'string' || encoding.toLowerCase() !== 'chunked')
      throw new BadAnswer('an unknown transfer-encoding')
    return CHUNKED
  }
  if (length === undefined) return TO_END
  if (typeof length !== 'string' || !LENGTH.test(length)) throw new BadAnswer('a length that is none')
  return Number(length)
}

/** Tells whether an answer that must not have a body (204, 304) announces one, which could still follow on the connection. */
function mayHaveStrayBody(status: number, headers: IncomingHttpHeaders): boolean {
  if (status !== 204 && status !== 304) return false
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (status === 204 && length !== undefined && length !== '0')
}

function keepsAlive(isNewer: boolean, headers: IncomingHttpHeaders): boolean {
  if (!isNewer && headers['transfer-encoding'] !== undefined) return false // HTTP/1.0 has no transfer-encoding
  const { connection } = headers
  if (connection === undefined) return isNewer
  if (connection === 'keep-alive') return true
  const words = String(connection).toLowerCase()
  return !CLOSES.test(words) && (isNewer || words.includes('keep-alive'))
}

const PATH = /^\/[\x21-\x7e\x80-\xff]*$/
/** A body up to this size is copied behind the head, so that both are one buffer and one write. */
const JOINED_BYTES = 64 * 1024

/** Writes the requests to one upstream. A request with the path and the headers of the last one, as most have, has its head. */
export class RequestBytes {
  readonly #host: string
  #method = ''
  #path = ''
  #headers: readonly string[] = []
  /** The last head, up to the length of the body or, where the headers tell that, to its end. */
  #head: Buffer = Buffer.alloc(0)
  #sized = false

  constructor(host: string) {
    this.#host = host
  }

  /** `headers` is `[name, value, …]`, `body` one buffer or several. Throws BadRequest. */
  write({ method, path, headers, body }: Dispatcher.DispatchOptions): Buffer[] {
    const list = (headers ?? []) as string[]
    if (path !== this.#path || method !== this.#method || !isSame(list, this.#headers)) this.#begin(method, path, list)
    const parts = Buffer.isBuffer(body) ? [body] : ((body ?? []) as unknown as readonly Buffer[])
    let length = 0
    for (const part of parts) length += part.length
    const head = this.#head
    const end = this.#sized ? '\r\n\r\n' : `${length}\r\n\r\n`
    const isJoined = length <= JOINED_BYTES
    const bytes = Buffer.allocUnsafe(head.length + end.length + (isJoined ? length : 0))
    let at = head.copy(bytes)
    at += bytes.write(end, at, 'latin1')
    if (!isJoined) return [bytes, ...parts]
    for (const part of parts) at += part.copy(bytes, at)
    return [bytes]
  }

  #begin(method: string, path: string, headers: readonly string[]): void {
    if (!PATH.test(path)) throw new BadRequest('the path cannot be sent')
    let head = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\nconnection: keep-alive`
    let sized = false
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string
      const line = headerLine(name, headers[i + 1] as string)
      if (line === null) throw new BadRequest(`the header ${JSON.stringify(name)} cannot be sent`)
      sized ||= name === 'content-length'
      head += line
    }
    this.#head = Buffer.from(sized ? head : `${head}\r\ncontent-length: `, 'latin1')
    this.#sized = sized
    this.#method = method
    this.#path = path
    this.#headers = headers.slice() // whoever made them may change them
  }
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false
  for (let i = 0; i < some.length; i++) if (some[i] !== others[i]) return false
  return true
}
