/**
 * The simulator's images: links, or bytes when asked for; only with bytes it reports tokens. A stream has one event for
 * each picture.
 */
import { noUsage, type Usage } from '../../../lib/protocols/words/usage.ts'
import {
  stringOf,
  countOf,
  need,
  plainBlocks,
  type Answer,
  type Ask,
  type Dialect,
  type Fields,
  frame,
} from '../dialect.ts'
import { errorBody, FAILURE, headers, fixedPaths, PLAIN } from './plain.ts'

const MOST_PIECES = 10
const IMAGE_TOKENS = 1056
/** Input tokens of a picture that is to be changed. */
const PICTURE_INPUT_TOKENS = 100
/** The path to which the links lead. */
export const PICTURE_PATH = '/sim/picture.png'
/** A picture of one grey dot. */
export const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mOora39DwAFaQJmt1cVqgAAAABJRU5ErkJggg==',
  'base64',
)

export const images: Dialect = {
  ...PLAIN,
  route: fixedPaths({
    '/v1/images/generations': 'answer',
    '/v1/images/edits': 'answer',
    '/v1/images/variations': 'answer',
  }),
  chunk: 1,
  read(body) {
    const prompt = stringOf(body['prompt'])
    need(prompt !== '' || picturesOf(body) > 0, "Missing required parameter: 'prompt'.")
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
      offered: [],
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
    const name = picturesOf(ask.body) > 0 ? 'image_edit' : 'image_generation'
    const b64_json = bytesOf(answer)
    const common = { b64_json, created_at: answer.createdS, size: '1024x1024', quality: 'low', background: 'opaque' }
    for (let i = 0; i < (countOf(ask.body['partial_images']) ?? 0); i++)
      yield event(`${name}.partial_image`, { ...common, output_format: 'png', partial_image_index: i })
    const usage = { ...answer.usage, images: 1 }
    yield event(`${name}.completed`, { ...common, output_format: 'png', ...reportOf(ask, usage) }, usage)
  },
  usage({ option, choices, body }, { usage, tokens }, { input }) {
    // pictures always count; only models that answer with bytes report tokens
    const counts = option && usage !== 'none'
    const output = tokens ?? IMAGE_TOKENS * choices
    return {
      ...noUsage(),
      ...(counts ? { input, input_image: picturesOf(body) * PICTURE_INPUT_TOKENS, output } : {}),
      images: choices,
    }
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
      input_tokens: usage.input + usage.input_image,
      input_tokens_details: { image_tokens: usage.input_image, text_tokens: usage.input },
      output_tokens: usage.output,
      total_tokens: usage.input + usage.input_image + usage.output,
    },
  }
}

/** How many pictures were given to be changed. */
const picturesOf = ({ image, images }: Fields): number => [image ?? [], images ?? []].flat().length

const bytesOf = (answer: Answer): string =>
  Buffer.concat([PICTURE], Math.max(PICTURE.length, answer.imageBytes)).toString('base64')
