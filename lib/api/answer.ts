/** Writes the answers of an API: what a call returned, or why it was refused. */
import { hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { ReadyJson } from '../operations/usage/reports.ts'
import { setDownload } from './headers.ts'
import type { Operation, Redirect, Streamed } from './operation.ts'
import { type StreamEnd, sendPieces } from './stream.ts'

/** 132 bits. */
const TAG_LENGTH = 22

export const JSON_TYPE = 'application/json; charset=utf-8'

/** node:http sends no body where the request was a HEAD. */
export function sendText(res: ServerResponse, status: number, text: string | Uint8Array, type = JSON_TYPE): void {
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
): Promise<StreamEnd> {
  res.setHeader('content-type', type)
  res.writeHead(status)
  if (res.req.method !== 'HEAD') return sendPieces(res, pieces, clock)
  await pieces.return?.()
  res.end()
  return 'complete'
}

export async function sendResult(
  res: ServerResponse,
  { answer: { status, body }, cacheS }: Pick<Operation, 'answer' | 'cacheS'>,
  result: object | Streamed | Redirect | null,
  clock: Clock,
): Promise<StreamEnd> {
  if (status === 303) res.setHeader('location', ownPath((result as Redirect).location))
  if (body === 'stream') {
    setDownload(res, (result as Streamed).file)
    return sendStream(res, status, result as Streamed, clock)
  }
  if (cacheS !== undefined) sendShared(res, result as object, cacheS)
  else if (result instanceof ReadyJson) sendText(res, status, result.bytes)
  else sendText(res, status, body === null ? '' : JSON.stringify(result))
  return 'complete'
}

interface Tagged {
  text: string
  tag: string
}

const tagged = new WeakMap<object, Tagged>()

function taggedText(result: object): Tagged {
  let made = tagged.get(result)
  if (made === undefined) {
    const text = JSON.stringify(result)
    tagged.set(result, (made = { text, tag: `"${hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)}"` }))
  }
  return made
}

/** An answer that is the same for everybody. Whoever has it still is told only that it has not changed. */
function sendShared(res: ServerResponse, result: object, cacheS: number): void {
  const { text, tag } = taggedText(result)
  res.setHeader('cache-control', `public, max-age=${cacheS}`)
  res.setHeader('etag', tag)
  const known = (res.req.headers['if-none-match'] ?? '').split(',').map(one => one.trim().replace(/^W\//, ''))
  if (known.includes(tag) || known.includes('*')) res.writeHead(304).end()
  else sendText(res, 200, text)
}

/** A redirect never leaves this origin; browsers read `//host` and `/\host` as another one. */
function ownPath(location: string): string {
  if (!/^\/(?![/\\])[!-~]*$/.test(location)) throw new Error('a redirect leads to another origin')
  return location
}
