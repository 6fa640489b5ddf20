/** Writes the answers of an API: their headers, and what a call returned, in one piece or in many. */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { type Encoded, encoded, encodedHeaders, encodingFor, KeptBody } from '../base/encoding.ts'
import { ReadyJson } from '../operations/usage/reports.ts'
import { type AnswerPieces, Instead, type Operation, type Redirect, type Streamed, TextFile } from './operation.ts'
import { isHttps, type Site } from './site.ts'

const EVENTS = 'text/event-stream'
const JSON_TYPE = 'application/json; charset=utf-8'

/** node:http sends no body where the request was a HEAD. */
export function sendText(res: ServerResponse, status: number, text: string | Uint8Array, type = JSON_TYPE): void {
  if (res.headersSent || res.destroyed) return
  if (text !== '') res.setHeader('content-type', type)
  if (status !== 204) res.setHeader('content-length', Buffer.byteLength(text))
  res.writeHead(status).end(text)
}

/** Hears how long a whole answer is, before anything of it is sent, and may throw. */
type Admit = (bytes: number) => void

/** `accepts`: the header `accept-encoding`, where the answer may be compressed. */
export async function sendResult(
  res: ServerResponse,
  { answer: { status, body }, cacheS }: Pick<Operation, 'answer' | 'cacheS'>,
  result: Awaited<ReturnType<Operation['run']>>,
  clock: Clock,
  accepts?: string | string[],
  admit?: Admit,
): Promise<StreamEnd> {
  if (status === 303) res.setHeader('location', ownPath((result as Redirect).location))
  if (body === 'stream') return sendStream(res, status, result as Streamed, clock)
  if (cacheS !== undefined) await sendShared(res, result as object, cacheS, accepts)
  else if (result instanceof ReadyJson) sendEncoded(res, status, await once(result.bytes, accepts), admit)
  else if (result instanceof TextFile) sendFile(res, status, result, admit)
  else if (result instanceof Instead) sendText(res, result.status, JSON.stringify(result.body))
  else if (body === null) sendText(res, status, '')
  else sendEncoded(res, status, await once(JSON.stringify(result), accepts), admit)
  return 'complete'
}

const once = (bytes: string | Uint8Array, accepts?: string | string[]): Promise<Encoded> =>
  encoded(Buffer.from(bytes as string), encodingFor(accepts), 'once')

function sendEncoded(res: ServerResponse, status: number, made: Encoded, admit?: Admit): void {
  if (res.headersSent || res.destroyed) return
  admit?.(made.body.length)
  for (const [name, value] of Object.entries(encodedHeaders(made))) res.setHeader(name, value)
  sendText(res, status, made.body)
}

/** Sends a body of any length, or its head only. */
async function sendStream(res: ServerResponse, status: number, { type, file, pieces }: Streamed, clock: Clock) {
  if (file !== undefined) setDownload(res, file)
  res.setHeader('content-type', type)
  if (type === EVENTS) res.setHeader('x-accel-buffering', 'no') // proxies must not keep it
  res.writeHead(status)
  if (res.req.method !== 'HEAD') return sendPieces(res, pieces, clock)
  await pieces.return?.()
  res.end()
  return 'complete'
}

function sendFile(res: ServerResponse, status: number, { text, type }: TextFile, admit?: Admit): void {
  if (res.destroyed) return
  admit?.(Buffer.byteLength(text))
  res.setHeader('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
  res.setHeader('x-content-type-options', 'nosniff')
  sendText(res, status, text, type)
}

const kept = new WeakMap<object, KeptBody>()

function keptBody(result: object): KeptBody {
  const body = kept.get(result) ?? new KeptBody(JSON.stringify(result), 'while')
  kept.set(result, body)
  return body
}

/** An answer that is the same for many. Whoever has it still is told only that it has not changed. */
async function sendShared(res: ServerResponse, result: object, cacheS: number, accepts?: string | string[]) {
  const body = keptBody(result)
  res.setHeader('cache-control', cacheS === 0 ? 'private, no-cache' : `public, max-age=${cacheS}`)
  res.setHeader('etag', body.tag)
  if (body.isIn(res.req.headers['if-none-match'])) res.writeHead(304).end()
  else sendEncoded(res, 200, await body.in(accepts))
}

/** A redirect never leaves this origin; browsers read `//host` and `/\host` as another one. */
function ownPath(location: string): string {
  if (!/^\/(?![/\\])[!-~]*$/.test(location)) throw new Error('a redirect leads to another origin')
  return location
}

/**
 * The headers of every answer to a person. Its bytes come from people (names, notes, references), and it shares its
 * origin with the pages: no browser may take an answer for a page, a script or a style, nor keep it, nor show it inside
 * another site.
 */
const HEADERS: Record<string, string> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

const A_YEAR_S = 31_536_000

/** The headers of every answer to a program: a secret is shown once. */
export function setTokenHeaders(res: ServerResponse, requestId: string): void {
  res.setHeader('x-request-id', requestId)
  res.setHeader('request-id', requestId)
  res.setHeader('cache-control', 'no-store')
}

export function setApiHeaders(res: ServerResponse, requestId: string, site: Site): void {
  for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value)
  res.setHeader('x-request-id', requestId)
  res.setHeader('request-id', requestId)
  if (isHttps(site)) res.setHeader('strict-transport-security', `max-age=${A_YEAR_S}; includeSubDomains`)
}

/** The browser saves the answer under this name, and would run nothing in it if it were opened. */
function setDownload(res: ServerResponse, file: string): void {
  const plain = file.replaceAll(/[^\w.-]/g, '_')
  const coded = encodeURIComponent(file).replaceAll(/['()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  res.setHeader('content-disposition', `attachment; filename="${plain}"; filename*=UTF-8''${coded}`)
  res.setHeader('content-security-policy', "default-src 'none'; sandbox; frame-ancestors 'none'")
}

/** The end of an answer. `left`: the caller closed it; `stalled`: it took nothing for too long; `slow`: too little in all. */
export type StreamEnd = 'complete' | 'left' | 'stalled' | 'slow'

/** A caller may keep us waiting for so long at a time, and in all beside what its bytes take at the slowest rate. */
const STALLED_MS = 60_000
const SLOWEST_BYTES_PER_MS = 32

/**
 * How long a caller has kept an answer of any length waiting. One that takes nothing for a minute is cut off, and so is one
 * that is slow without end, because few answers of this kind are made at once and others wait for their turn.
 */
class Patience {
  readonly #res: ServerResponse
  readonly #clock: Clock
  #sentBytes = 0
  #waitedMs = 0
  /** The reason why the caller is gone. */
  end: StreamEnd = 'left'

  constructor(res: ServerResponse, clock: Clock) {
    this.#res = res
    this.#clock = clock
  }

  sent(piece: string | Uint8Array): void {
    this.#sentBytes += Buffer.byteLength(piece)
  }

  /** Resolves when the caller has room for more; false when it is gone. */
  async room(): Promise<boolean> {
    const res = this.#res
    if (res.destroyed) return false
    if (!res.writableNeedDrain) return true
    const sinceMs = this.#clock.monotonic()
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const [drained, closed] = [() => resolve(true), () => resolve(false)]
    const leftMs = this.#leftMs()
    const cancel = this.#clock.after(leftMs, () => {
      this.end = leftMs < STALLED_MS ? 'slow' : 'stalled'
      res.destroy()
    })
    res.once('drain', drained).once('close', closed)
    const isThere = await promise
    this.#waitedMs += this.#clock.monotonic() - sinceMs
    cancel()
    res.off('drain', drained).off('close', closed)
    return isThere
  }

  #leftMs(): number {
    const inAllMs = STALLED_MS + this.#sentBytes / SLOWEST_BYTES_PER_MS
    return Math.max(0, Math.min(STALLED_MS, inAllMs - this.#waitedMs))
  }
}

/**
 * Sends an answer of any length, whose head is sent already. A piece is made when the caller has taken what was sent before,
 * so that no more than one piece is in memory for a slow caller. A failure in the middle cuts the answer off, which the caller sees. When the caller leaves while a
 * piece is awaited, the making ends at once.
 */
export async function sendPieces(res: ServerResponse, pieces: AnswerPieces, clock: Clock): Promise<StreamEnd> {
  const patience = new Patience(res, clock)
  const end = () => void pieces.return?.().catch(() => {}) // whoever makes them has been told by the loop
  res.once('close', end)
  if (res.destroyed) end()
  try {
    for await (const piece of pieces) {
      res.write(piece)
      patience.sent(piece)
      if (!(await patience.room())) return patience.end
    }
    if (res.destroyed) return patience.end
    res.end()
    return 'complete'
  } catch (error) {
    res.destroy()
    throw error
  } finally {
    res.off('close', end)
  }
}
