/** Writes the answers of an API: what a call returned, or why it was refused. */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { setDownload } from './headers.ts'
import type { Operation, Redirect, Streamed } from './operation.ts'
import { sendPieces } from './stream.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** node:http sends no body where the request was a HEAD. */
export function sendText(res: ServerResponse, status: number, text: string, type = JSON_TYPE): void {
  if (res.headersSent || res.destroyed) return
  if (text !== '') res.setHeader('content-type', type)
  if (status !== 204) res.setHeader('content-length', Buffer.byteLength(text))
  res.writeHead(status).end(text)
}

/** Sends a body of any length, or its head only. */
export async function sendStream(
  res: ServerResponse,
  status: number,
  { type, pieces }: Pick<Streamed, 'type' | 'pieces'>,
  clock: Clock,
): Promise<void> {
  res.setHeader('content-type', type)
  res.writeHead(status)
  if (res.req.method !== 'HEAD') return sendPieces(res, pieces, clock)
  await pieces.return(undefined)
  res.end()
}

export async function sendResult(
  res: ServerResponse,
  { answer: { status, body } }: Pick<Operation, 'answer'>,
  result: object | Streamed | Redirect | null,
  clock: Clock,
): Promise<void> {
  if (status === 303) res.setHeader('location', ownPath((result as Redirect).location))
  if (body === 'stream') {
    setDownload(res, (result as Streamed).file)
    await sendStream(res, status, result as Streamed, clock)
  } else sendText(res, status, body === null ? '' : JSON.stringify(result))
}

/** A redirect never leaves this origin; browsers read `//host` and `/\host` as another one. */
function ownPath(location: string): string {
  if (!/^\/(?![/\\])[!-~]*$/.test(location)) throw new Error('a redirect leads to another origin')
  return location
}
