/**
 * The simulator's speech: silence, as MP3 or as samples. Each token of output lasts 48 ms. Events report usage; bytes have no
 * place for it.
 */
import { stringOf, need, plainBlocks, type Answer, Bytes, type Dialect, frame, groups } from '../dialect.ts'
import { errorBody, FAILURE, headers, fixedPaths, PLAIN } from './plain.ts'

/** Two frames of MPEG 2 layer 3: 64 kbit/s, 24,000 samples in a second. */
const MP3_FRAME = Buffer.concat([Buffer.of(0xff, 0xf3, 0x84, 0xc0), Buffer.alloc(188)])
const MP3_TOKEN = Buffer.concat([MP3_FRAME, MP3_FRAME])
const HERTZ = 24_000
const PCM_TOKEN = Buffer.alloc((HERTZ * 2 * 48) / 1000)
const TYPES: Readonly<Record<string, string>> = { pcm: 'audio/pcm', wav: 'audio/wav' }

export const speech: Dialect = {
  ...PLAIN,
  route: fixedPaths({ '/v1/audio/speech': 'answer' }),
  chunk: 5,
  read(body) {
    const input = stringOf(body['input'])
    need(input !== '', "Missing required parameter: 'input'.")
    return {
      model: stringOf(body['model']),
      stream: body['stream_format'] === 'sse',
      body,
      prompt: input,
      blocks: plainBlocks([input]),
      maxTokens: null,
      choices: 1,
      thinks: false,
      tool: null,
      offered: [],
      option: false,
    }
  },
  whole(ask, { text }) {
    const format = stringOf(ask.body['response_format'])
    const sound = soundOf(format, text.length)
    const head = format === 'wav' ? wavHead() : Buffer.alloc(0)
    return new Bytes(TYPES[format] ?? 'audio/mpeg', Buffer.concat([head, sound]))
  },
  *frames(ask, answer) {
    const format = stringOf(ask.body['response_format'])
    for (const { tokens } of groups(answer.text, answer.chunk))
      yield event('speech.audio.delta', { audio: soundOf(format, tokens).toString('base64') }, tokens)
    const usage = answer.reports ? answer.usage : null
    yield { ...event('speech.audio.done', usage === null ? {} : { usage: usageOf(answer) }), usage }
  },
  count: null,
  error: errorBody,
  errorFrame: () => event('error', errorBody(500, FAILURE)).bytes,
  headers,
}

const event = (type: string, fields: object, tokens = 0) =>
  frame(`data: ${JSON.stringify({ type, ...fields })}\n\n`, tokens)

const soundOf = (format: string, tokens: number): Buffer =>
  Buffer.concat(Array.from({ length: tokens }, () => (format in TYPES ? PCM_TOKEN : MP3_TOKEN)))

const usageOf = ({ usage: { input, cache_read, output } }: Answer): object => ({
  input_tokens: input + cache_read,
  output_tokens: output,
  total_tokens: input + cache_read + output,
})

/** Lengths are those of writers who do not know them when they begin. */
function wavHead(): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(0xffffffff, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(HERTZ, 24)
  head.writeUInt32LE(HERTZ * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(0xffffffff, 40)
  return head
}
