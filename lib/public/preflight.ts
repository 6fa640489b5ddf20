/**
 * Answers CORS preflights: before a page of another site may send a request with a key, the browser asks with OPTIONS
 * whether that is allowed. Every site may ask; none may send cookies.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { NO_PAGE } from '../reply/fixed-headers.ts'

const A_DAY_S = '86400'

/** Answers a preflight and returns true; false = the request is not one. */
export function preflight(req: IncomingMessage, res: ServerResponse, nextId: () => string): boolean {
  if (req.method !== 'OPTIONS' || req.headers.origin === undefined) return false
  const id = nextId()
  // `*` does not include `authorization`, so the answer repeats the names that the browser asked for
  const asked = req.headers['access-control-request-headers']
  res.writeHead(204, [
    'x-request-id',
    id,
    'request-id',
    id,
    ...NO_PAGE.pairs,
    'access-control-allow-origin',
    '*',
    'access-control-allow-methods',
    'GET, POST, OPTIONS',
    'access-control-allow-headers',
    typeof asked === 'string' && /^[\w\-, ]{1,2000}$/.test(asked) ? asked : 'authorization, content-type, x-api-key',
    'access-control-max-age',
    A_DAY_S,
    'vary',
    'access-control-request-headers',
  ])
  res.end()
  return true
}
