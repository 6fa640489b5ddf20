/** The headers of an answer to the client: those of the upstream that pass, or those of an answer that the gateway writes. */
import type { Lane } from '../../translate/ask.ts'
import { passResponseHeaders, passRetryHeaders } from '../../upstream/headers.ts'
import { laneHeaders } from '../record/translated-request.ts'
import type { Answer } from './answer.ts'
import { saysBusy } from './upstream-status.ts'

export const EVENTS_TYPE = 'text/event-stream; charset=utf-8'
export const JSON_TYPE = 'application/json; charset=utf-8'
/** Proxies on the way would keep an answer that comes in pieces until its end, or for the next who asks. */
export const UNBUFFERED = ['cache-control', 'no-cache', 'x-accel-buffering', 'no']
/** What upstreams that are too busy leave out, and clients want. */
const BUSY_RETRY_AFTER_S = '2'

/** The client is told how many bytes come: those of the upstream, which reach it unchanged. */
export function tellsLength({ headers, reading }: Answer): boolean {
  const length = headers['content-length']
  // with a length the client sees the end in the last byte, which must not come before the charge is safe
  return length !== undefined && !reading?.events && !reading?.foreign && !(reading?.decoder ?? reading?.links)
}

/** Adds to `headers` those of an answer that passes as it comes. `nowMs`, as below: since 1970. */
export function passedHead(
  { status, headers: upstream, reading }: Answer,
  nowMs: number,
  withLength: boolean,
  headers: string[],
): void {
  passResponseHeaders(upstream, nowMs, headers)
  if (withLength) headers.push('content-length', upstream['content-length'] as string)
  if (reading?.comesInPieces) headers.push(...UNBUFFERED)
  if (status === 429 && upstream['retry-after'] === undefined) headers.push('retry-after', BUSY_RETRY_AFTER_S)
}

/** Adds to `headers` those of a translated answer. `length`: the bytes of a document; -1 = not known. */
export function translatedHead(
  { headers: upstream, reading }: Answer,
  nowMs: number,
  lane: Lane,
  length: number,
  headers: string[],
): void {
  passRetryHeaders(upstream, nowMs, headers)
  headers.push('content-type', reading?.events ? EVENTS_TYPE : JSON_TYPE)
  if (length >= 0) headers.push('content-length', String(length))
  if (reading?.comesInPieces) headers.push(...UNBUFFERED)
  laneHeaders(lane, headers, reading?.translation?.losses)
}

/** Adds to `headers` those of an upstream's error that the gateway writes in the words of the client's protocol. */
export function errorHead({ headers: upstream, lane }: Answer, nowMs: number, status: number, headers: string[]): void {
  headers.push('content-type', JSON_TYPE)
  passRetryHeaders(upstream, nowMs, headers)
  if (saysBusy(status) && !headers.includes('retry-after')) headers.push('retry-after', BUSY_RETRY_AFTER_S)
  if (lane !== null) laneHeaders(lane, headers)
}
