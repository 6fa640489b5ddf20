/** Answering with a row of the error table, and the headers that every answer of ours carries. */
import { ERRORS, type ErrorName, type ErrorRow, renderError } from '../terms/errors.ts'
import type { Exchange } from './exchange.ts'
import { CLIENT_CLOSED } from './verdict.ts'

/** Seconds a client is asked to wait when nothing tells a better number. Small: some clients give up on large ones. */
const RETRY_AFTER_S = 2

/** `[name, value, …]` that every answer begins with; those that are the same in all come before them. */
export function ownHeaders(x: Exchange): string[] {
  const headers = ['x-request-id', x.id, 'request-id', x.id]
  if (x.req.headers.origin !== undefined) {
    headers.push(
      'access-control-allow-origin',
      '*',
      'access-control-expose-headers',
      'x-request-id, request-id, retry-after',
    )
  }
  return headers
}

export function refuse(x: Exchange, name: ErrorName, args: string[], retryAfterS: number): void {
  if (x.ended) return // from outside of its plan, while a stage was waiting
  x.refusal = name
  const row: ErrorRow = ERRORS[name]
  const endpoint = x.target?.endpoint
  const messages = endpoint === undefined ? /\/messages(\/|$)/.test(x.path) : endpoint.messagesErrors
  const body = Buffer.from(renderError(name, args, x.id, prefersEnglish(x.req.headers['accept-language']), messages))
  const headers = ownHeaders(x)
  headers.push('content-type', 'application/json; charset=utf-8')
  if (row.retry === 'never') headers.push('x-should-retry', 'false')
  if (row.retry === 'later') headers.push('retry-after', String(Math.max(1, Math.ceil(retryAfterS || RETRY_AFTER_S))))
  answer(x, row.status, headers, body)
}

/** A whole answer of our own. */
export function answer(x: Exchange, status: number, headers: string[], body: Buffer): void {
  x.ended = true
  x.dropBody()
  if (x.left) {
    x.status ||= CLIENT_CLOSED
    x.finish()
    return
  }
  x.status = status
  headers.push('content-length', String(body.length))
  x.reply.begin(status, headers, x.services.clock.now())
  x.reply.end(body)
}

/** Only when English is what the client wants most: `*` is no preference, `ent` is another language. */
export function prefersEnglish(header: string | undefined): boolean {
  if (header === undefined || !/en/i.test(header)) return false
  let best = ''
  let bestQ = 0
  for (const part of header.split(',')) {
    const [tag = '', ...parameters] = part.split(';')
    const q = parameters.map(p => /^\s*q=([\d.]+)\s*$/i.exec(p)?.[1]).find(v => v !== undefined)
    const weight = q === undefined ? 1 : Number(q)
    if (weight > bestQ) {
      best = tag.trim()
      bestQ = weight
    }
  }
  return /^en(-|$)/i.test(best)
}
