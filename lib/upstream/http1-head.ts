/**
 * Heads of HTTP/1.1. That of an answer is parsed: its status and headers, how its body ends, and whether the connection may be used
 * again. What two readers could understand differently is an error. That of a request is written with the body behind it: a path
 * or header with bytes that could end its line is refused, because the upstream could read the rest as another request (request
 * splitting).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { headerLine } from '../base/header-line.ts'
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
const HEADERS = /^(?:[\w!#$%&'*+\-.^`|~]+:[\t\x20-\x7e\x80-\xff]*(?:\r\n|$))*$/
const LENGTH = /^\d{1,15}$/
const TIMEOUT = /timeout=(\d{1,6})/
const CLOSES = /(?:^|[,\t ])close(?:$|[,\t ])/
const SPACE = 0x20
const TAB = 0x09

/**
 * `text` is the head without the empty line at its end, one character per byte. Returns null for an interim answer
 * (1xx). Throws BadAnswer.
 */
export function parseHead(text: string): Head | null {
  const first = lineEnd(text, 0)
  const found = STATUS.exec(text.slice(0, first))
  if (found === null) throw new BadAnswer('no status line')
  checkHeaders(text.slice(first + 2))
  const status = Number(found[2])
  if (status === 101) throw new BadAnswer('another protocol than was asked for')
  if (status < 200) return null
  const headers: IncomingHttpHeaders = { __proto__: null } as never
  for (let from = first + 2; from < text.length; ) {
    const end = lineEnd(text, from)
    addHeader(headers, text, from, end)
    from = end + 2
  }
  const length = bodyLength(status, headers)
  const keepAlive = length !== TO_END && keepsAlive(found[1] === '1', headers) && !mayHaveStrayBody(status, headers)
  const timeout = headers['keep-alive'] === undefined ? null : TIMEOUT.exec(String(headers['keep-alive']))
  return { status, headers, length, keepAlive, keepAliveMs: timeout === null ? null : Number(timeout[1]) * 1000 }
}

/** Checks header lines; the last one comes without its line end. Throws BadAnswer. */
export function checkHeaders(lines: string): void {
  if (!HEADERS.test(lines)) throw new BadAnswer('a header that is none')
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\r\n', from)
  return at < 0 ? text.length : at
}

function addHeader(headers: IncomingHttpHeaders, text: string, from: number, end: number): void {
  const colon = text.indexOf(':', from)
  const name = text.slice(from, colon).toLowerCase()
  const value = bare(text, colon + 1, end)
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
  const words = String(connection).toLowerCase()
  return !CLOSES.test(words) && (isNewer || words.includes('keep-alive'))
}

const PATH = /^\/[\x21-\x7e\x80-\xff]*$/
/** A body up to this size is copied behind the head, so that both are one buffer and one write. */
const JOINED_BYTES = 64 * 1024

/** `headers` is `[name, value, …]`, `body` one buffer or several. Throws BadRequest. */
export function requestBytes({ method, path, headers, body }: Dispatcher.DispatchOptions, host: string): Buffer[] {
  if (!PATH.test(path)) throw new BadRequest('the path cannot be sent')
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive`
  const list = (headers ?? []) as string[]
  let sized = false
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i] as string
    const line = headerLine(name, list[i + 1] as string)
    if (line === null) throw new BadRequest(`the header ${JSON.stringify(name)} cannot be sent`)
    sized ||= name === 'content-length'
    head += line
  }
  const parts = Buffer.isBuffer(body) ? [body] : ((body ?? []) as unknown as readonly Buffer[])
  let length = 0
  for (const part of parts) length += part.length
  head += sized ? '\r\n\r\n' : `\r\ncontent-length: ${length}\r\n\r\n`
  if (length > JOINED_BYTES) return [Buffer.from(head, 'latin1'), ...parts]
  const bytes = Buffer.allocUnsafe(head.length + length)
  let at = bytes.write(head, 'latin1')
  for (const part of parts) at += part.copy(bytes, at)
  return [bytes]
}
