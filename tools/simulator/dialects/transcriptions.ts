/**
 * The simulator's transcriptions and translations, as JSON, text, subtitles or events. A second of sound has 16,000 bytes,
 * whatever the file is. The answer reports seconds, or tokens where `input=N` asks for them.
 */
import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { noUsage, type Usage } from '../../../lib/protocols/words/usage.ts'
import {
  stringOf,
  countOf,
  need,
  plainBlocks,
  type Answer,
  Bytes,
  type Dialect,
  type Fields,
  frame,
  groups,
} from '../dialect.ts'
import { errorBody, FAILURE, headers, fixedPaths, PLAIN } from './plain.ts'

const BYTES_PER_S = 16_000

export const transcriptions: Dialect = {
  ...PLAIN,
  route: fixedPaths({ '/v1/audio/transcriptions': 'answer', '/v1/audio/translations': 'answer' }),
  chunk: 3,
  read(body) {
    need(bytesOf(body) !== null, 'file: Field required')
    const prompt = stringOf(body['prompt'])
    return {
      model: stringOf(body['model']),
      stream: body['stream'] === true,
      body,
      prompt,
      blocks: plainBlocks([prompt]),
      maxTokens: null,
      choices: 1,
      thinks: false,
      tool: null,
      offered: [],
      option: false,
    }
  },
  usage: ({ body }, { input }, usage): Usage =>
    input === undefined ? { ...noUsage(), output: usage.output, seconds: lengthOf(body) } : usage,
  whole(ask, answer) {
    const text = answer.text.join('')
    const seconds = lengthOf(ask.body)
    switch (ask.body['response_format']) {
      case 'text':
        return new Bytes('text/plain; charset=utf-8', Buffer.from(`${text}\n`))
      case 'srt':
        return new Bytes('text/plain; charset=utf-8', Buffer.from(`1\n${lineOf(seconds, ',')}\n${text}\n\n`))
      case 'vtt':
        return new Bytes('text/plain; charset=utf-8', Buffer.from(`WEBVTT\n\n${lineOf(seconds, '.')}\n${text}\n\n`))
      case 'verbose_json': {
        const segments = [{ id: 0, start: 0, end: seconds, text }]
        return { task: 'transcribe', language: 'english', duration: seconds, text, segments, ...reportOf(answer) }
      }
      default:
        return { text, ...reportOf(answer) }
    }
  },
  *frames(_ask, answer) {
    for (const { text, tokens } of groups(answer.text, answer.chunk))
      yield event('transcript.text.delta', { delta: text }, tokens)
    const last = event('transcript.text.done', { text: answer.text.join(''), ...reportOf(answer) })
    yield { ...last, usage: answer.reports ? answer.usage : null }
  },
  count: null,
  error: errorBody,
  errorFrame: () => event('error', errorBody(500, FAILURE)).bytes,
  headers,
}

const event = (type: string, fields: object, tokens = 0) =>
  frame(`data: ${JSON.stringify({ type, ...fields })}\n\n`, tokens)

const bytesOf = ({ file }: Fields): number | null => countOf(fieldsOf(file)['bytes'])

const lengthOf = (body: Fields): number => Math.ceil((bytesOf(body) ?? 0) / BYTES_PER_S)

function reportOf({ usage, reports }: Answer): object {
  if (!reports) return {}
  const { seconds, output } = usage
  if (seconds > 0) return { usage: { type: 'duration', seconds } }
  const input = usage.input + usage.cache_read
  const text_tokens = Math.min(10, input)
  return {
    usage: {
      type: 'tokens',
      input_tokens: input,
      input_token_details: { audio_tokens: input - text_tokens, text_tokens },
      output_tokens: output,
      total_tokens: input + output,
    },
  }
}

/** The time line of a subtitle from the beginning to the end. */
function lineOf(seconds: number, point: string): string {
  const two = (part: number) => String(Math.floor(part)).padStart(2, '0')
  const end = `${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`
  return `00:00:00${point}000 --> ${end}${point}000`
}
