/** What upstreams of a walk answer with, in the protocol in which they are asked: streams and documents, whole, broken, compressed, foreign, long, and refusals. */
import type { IncomingHttpHeaders } from 'node:http'
import { gzipSync } from 'node:zlib'
import { cut, type Random } from '../../support/random.ts'

export type Spoken = 'messages' | 'chat' | 'images'

export interface Said {
  status: number
  headers: IncomingHttpHeaders
  /** Not compressed. */
  plain: string
  chunks: Buffer[]
  /** The words of its text, up to its end. */
  words: number
  /** All of it together is an answer of the model, of which nothing is wrong. */
  isGood: boolean
}

const WORD = 'word '
export const wordsIn = (text: string): number => text.split(WORD).length - 1

const ERROR = { error: { type: 'overloaded_error', message: 'no' } }
/** What every answer reports that reports something. */
export const USAGE = { input: 100, output: 40 }
/** No document that is translated is written elsewhere unless it is so long. */
const LONG = WORD.repeat(110_000)
const PICTURES = ['AAAA', 'QUJDREVG', Buffer.alloc(700, 7).toString('base64'), '', 'not base64!', null]

/** How one protocol says things. */
interface Speech {
  begin: string
  text(words: number): string
  end: string
  behind: string
  error: string
  document(text: string): object
  refusal: object
}

const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const reported = { input_tokens: USAGE.input, output_tokens: USAGE.output }
const inChat = { prompt_tokens: USAGE.input, completion_tokens: USAGE.output }

const SPEECH: Record<'messages' | 'chat', Speech> = {
  messages: {
    begin: event('message_start', { message: { id: 'msg_1', usage: reported } }),
    text: n => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: WORD.repeat(n) } }),
    end: event('message_delta', { delta: {}, usage: reported }) + event('message_stop', {}),
    behind: event('ping', {}),
    error: event('error', ERROR),
    document: text => ({ type: 'message', id: 'msg_2', content: [{ type: 'text', text }], usage: reported }),
    refusal: { type: 'error', ...ERROR },
  },
  chat: {
    begin: data({ id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }),
    text: n => data({ id: 'c', choices: [{ index: 0, delta: { content: WORD.repeat(n) } }] }),
    end: `${data({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}${data({ choices: [], usage: inChat })}data: [DONE]\n\n`,
    behind: ': ping\n\n',
    error: data(ERROR),
    document: content => ({
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: inChat,
    }),
    refusal: ERROR,
  },
}

function stream(random: Random, { begin, text, end, behind, error }: Speech): string {
  const start = random.next() < 0.7 ? begin : ''
  const body = Array.from({ length: random.int(0, 5) }, () => text(random.int(1, 20))).join('')
  const last = random.pick([end, end, end, end + behind, end + text(5), error, ''])
  return random.next() < 0.1 ? error : start + body + last
}

function document(random: Random, { document, refusal }: Speech): object {
  const text = random.next() < 0.05 ? LONG : WORD.repeat(50)
  return random.pick([document(text), document(text), refusal, { other: 'thing' }])
}

const pictures = (random: Random): object => ({
  created: 1,
  data: Array.from({ length: random.int(0, 2) }, () => ({ b64_json: random.pick(PICTURES), revised_prompt: 'x' })),
  ...(random.next() < 0.5 ? { usage: { input_tokens: 100, output_tokens: 40, total_tokens: 140 } } : {}),
})

const count = (random: Random): object =>
  random.pick([{ input_tokens: 12 }, SPEECH.messages.document(WORD), { other: 1 }])

const refusal = (random: Random): Said => {
  const status = random.pick([400, 401, 404, 429, 500, 503, 529])
  const plain = JSON.stringify({ type: 'error', ...ERROR })
  const chunks = cut(random, Buffer.from(plain))
  return { status, headers: { 'content-type': 'application/json' }, plain, chunks, words: 0, isGood: false }
}

export function answer(random: Random, of: { free: boolean; streams: boolean; spoken: Spoken }): Said {
  if (random.next() < 0.2) return refusal(random)
  const asStream = of.spoken !== 'images' && of.streams === random.next() < 0.9
  const plain = asStream ? stream(random, SPEECH[of.spoken as 'chat']) : JSON.stringify(documentOf(random, of))
  const type = random.next() < 0.05 ? 'text/html' : asStream ? 'text/event-stream' : 'application/json'
  const packing = random.next()
  const bytes = packing < 0.3 ? gzipSync(plain) : Buffer.from(plain)
  const headers: IncomingHttpHeaders = { 'content-type': type }
  if (packing < 0.32)
    headers['content-encoding'] = 'gzip' // some are not in the encoding that they name
  else if (packing < 0.33) headers['content-encoding'] = 'unknown'
  if (!asStream && random.next() < 0.7) headers['content-length'] = String(bytes.length)
  const isEmpty = random.next() < 0.03
  const chunks = isEmpty ? [] : random.next() < 0.3 ? [bytes] : cut(random, bytes, Math.max(400, bytes.length / 4))
  const { end, error } = SPEECH[of.spoken === 'images' ? 'chat' : of.spoken]
  const [told = ''] = asStream ? plain.split(end) : [plain]
  const isReadable = !isEmpty && type !== 'text/html' && (packing < 0.3 || packing >= 0.33)
  const isAnswer = asStream ? plain.includes(end) && !plain.includes(error) : plain.includes(WORD)
  return { status: 200, headers, plain, chunks, words: wordsIn(told), isGood: isReadable && isAnswer }
}

function documentOf(random: Random, { free, spoken }: { free: boolean; spoken: Spoken }): object {
  if (spoken === 'images') return pictures(random)
  return free && random.next() < 0.8 ? count(random) : document(random, SPEECH[spoken])
}
