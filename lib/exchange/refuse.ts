/** Answers of our own: a row of the error table, or any other that is whole. Each carries the headers that are the gateway's. */
import { ERRORS, type ErrorName, type ErrorRow, renderError } from '../terms/errors.ts'
import { prefersEnglish } from '../terms/language.ts'
import { dropBody } from './body-memory.ts'
import type { Exchange } from './exchange.ts'
import { finish } from './finish.ts'
import type { Services } from './services.ts'
import { CLIENT_CLOSED, DONE, type Verdict } from './verdict.ts'

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
      'x-request-id, request-id, retry-after, x-gateway-via, x-gateway-dropped',
    )
  }
  return headers
}

/** Answers with a row of the error table. Nothing more is to be done then, which is what it returns. */
export function refuse(
  x: Exchange,
  services: Services,
  name: ErrorName,
  args: string[] = [],
  retryAfterS = 0,
): Verdict {
  if (x.ended) return DONE // from outside of its plan, while a stage was waiting
  x.refusal = name
  const row: ErrorRow = ERRORS[name]
  const endpoint = x.target?.endpoint
  const messages = endpoint === undefined ? /\/messages(\/|$)/.test(x.path) : endpoint.typesErrors
  const body = Buffer.from(renderError(name, args, x.id, prefersEnglish(x.req.headers['accept-language']), messages))
  const headers = ownHeaders(x)
  headers.push('content-type', 'application/json; charset=utf-8')
  if (row.retry === 'never') headers.push('x-should-retry', 'false')
  if (row.retry === 'later') headers.push('retry-after', String(Math.max(1, Math.ceil(retryAfterS || RETRY_AFTER_S))))
  answer(x, services, row.status, headers, body)
  return DONE
}

/** A whole answer of our own. */
export function answer(x: Exchange, services: Services, status: number, headers: string[], body: Buffer): void {
  x.ended = true
  dropBody(x, services.buffered)
  if (x.left) {
    x.status ||= CLIENT_CLOSED
    finish(x, services)
    return
  }
  x.status = status
  headers.push('content-length', String(body.length))
  x.reply.begin(status, headers, services.clock.now())
  x.reply.end(body)
}
