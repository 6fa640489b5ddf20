/**
 * The simulator's images: links, or bytes when asked for; only with bytes it reports tokens. A stream has one event for
 * each picture.
 */
import { noUsage, type Usage } from '../../terms/records.ts'
import { countOf, need, plainBlocks, stringOf } from '../reading.ts'
import { type Answer, type Ask, type Dialect, frame } from '../speech.ts'
import { errorBody, FAILURE, headers } from './openai.ts'
import { fixedPaths, PLAIN } from './plain.ts'

const MOST_PIECES = 10
const IMAGE_TOKENS = 1056
/** The path to which the links lead. */
export const PICTURE_PATH = '/sim/picture.png'
/** A picture of one grey dot. */
export const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mOora39DwAFaQJmt1cVqgAAAABJRU5ErkJggg==',
  'base64',
)

export const images: Dialect = {
  ...PLAIN,
  route: fixedPaths({ '/v1/images/generations': 'answer' }),
  chunk: 1,
  read(body) {
    const prompt = stringOf(body['prompt'])
    need(prompt !== '', "Missing required parameter: 'prompt'.")
    const stream = body['stream'] === true
    return {
      model: stringOf(body['model']),
      stream,
      body,
      prompt,
      blocks: plainBlocks([prompt]),
      maxTokens: null,
      choices: Math.min(countOf(body['n']) ?? 1, MOST_PIECES),
      thinks: false,
      tool: null,
      option: stream || body['response_format'] === 'b64_json',
    }
  },
  whole(ask, answer) {
    const piece = ask.option ? { b64_json: bytesOf(answer) } : { url: `${answer.origin}${PICTURE_PATH}` }
    return {
      created: answer.createdS,
      ...(ask.option ? { background: 'opaque' } : {}),
      data: Array.from({ length: ask.choices }, () => piece),
      ...reportOf(ask, answer.usage),
    }
  },
  *frames(ask, answer) {
    const b64_json = bytesOf(answer)
    const common = { b64_json, created_at: answer.createdS, size: '1024x1024', quality: 'low', background: 'opaque' }
    for (let i = 0; i < (countOf(ask.body['partial_images']) ?? 0); i++)
      yield event('image_generation.partial_image', { ...common, output_format: 'png', partial_image_index: i })
    const usage = { ...answer.usage, images: 1 }
    yield event('image_generation.completed', { ...common, output_format: 'png', ...reportOf(ask, usage) }, usage)
  },
  usage({ option, choices }, { usage, tokens }, { input }) {
    // pictures always count; only models that answer with bytes report tokens
    const counts = option && usage !== 'none'
    const output = tokens ?? IMAGE_TOKENS * choices
    return { ...noUsage(), ...(counts ? { input, output } : {}), images: choices }
  },
  count: null,
  error: errorBody,
  errorFrame: () => `event: error\ndata: ${JSON.stringify({ type: 'error', ...errorBody(500, FAILURE) })}\n\n`,
  headers,
}

const event = (type: string, fields: object, usage: Usage | null = null) =>
  frame(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`, usage?.output, usage)

function reportOf(ask: Ask, usage: Usage): object {
  if (!ask.option || usage.output === 0) return {}
  return {
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { image_tokens: 0, text_tokens: usage.input },
      output_tokens: usage.output,
      total_tokens: usage.input + usage.output,
    },
  }
}

const bytesOf = (answer: Answer): string =>
  Buffer.concat([PICTURE], Math.max(PICTURE.length, answer.imageBytes)).toString('base64')
