/** What upstreams of a walk answer with: streams and documents, whole, broken, compressed, foreign, and refusals. */
import type { IncomingHttpHeaders } from 'node:http'
import { gzipSync } from 'node:zlib'
import { cut, type Random } from '../../support/random.ts'

export interface Said {
  status: number
  headers: IncomingHttpHeaders
  /** Not compressed. */
  plain: string
  chunks: Buffer[]
}

const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const words = (n: number): string =>
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'word '.repeat(n) } })
const USAGE = { input_tokens: 100, output_tokens: 40 }
const END = event('message_delta', { delta: {}, usage: USAGE }) + event('message_stop', {})
const ERROR = { error: { type: 'overloaded_error', message: 'no' } }

function stream(random: Random): string {
  const begin = random.next() < 0.7 ? event('message_start', { message: { id: 'msg_1', usage: USAGE } }) : ''
  const body = Array.from({ length: random.int(0, 5) }, () => words(random.int(1, 20))).join('')
  const end = random.pick([END, END, END, END + event('ping', {}), END + words(5), event('error', ERROR), ''])
  return random.next() < 0.1 ? event('error', ERROR) : begin + body + end
}

const DOCUMENT = { type: 'message', id: 'msg_2', content: [{ type: 'text', text: 'word '.repeat(50) }], usage: USAGE }

function document(random: Random): string {
  return JSON.stringify(random.pick([DOCUMENT, DOCUMENT, { type: 'error', ...ERROR }, { other: 'thing' }]))
}

const count = (random: Random): string => JSON.stringify(random.pick([{ input_tokens: 12 }, DOCUMENT, { other: 1 }]))

const refusal = (random: Random): Said => {
  const status = random.pick([400, 401, 404, 429, 500, 503, 529])
  const plain = JSON.stringify({ type: 'error', ...ERROR })
  return { status, headers: { 'content-type': 'application/json' }, plain, chunks: cut(random, Buffer.from(plain)) }
}

export function answer(random: Random, of: { free: boolean; streams: boolean }): Said {
  if (random.next() < 0.2) return refusal(random)
  const asStream = of.streams === random.next() < 0.9
  const plain = asStream ? stream(random) : of.free && random.next() < 0.8 ? count(random) : document(random)
  const type = random.next() < 0.05 ? 'text/html' : asStream ? 'text/event-stream' : 'application/json'
  const isPacked = random.next() < 0.15
  const bytes = isPacked ? gzipSync(plain) : Buffer.from(plain)
  const headers: IncomingHttpHeaders = { 'content-type': type }
  if (isPacked) headers['content-encoding'] = 'gzip'
  if (!asStream && random.next() < 0.7) headers['content-length'] = String(bytes.length)
  return { status: 200, headers, plain, chunks: random.next() < 0.3 ? [bytes] : cut(random, bytes) }
}
