/**
 * The simulator's dialect of embeddings. For each input it answers with a vector of small numbers, which is a hash of the input
 * and so always the same for the same input. An input is a text, or a list of numbers, which are tokens.
 */
import { createHash } from 'node:crypto'
import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { type Dialect, type Fields, countOf, need, rowsOf, textOf } from '../dialect.ts'
import { generate } from './generate.ts'
import { INPUT_ONLY, inputAsk, fixedPaths } from './plain.ts'

const DIMENSIONS = 8
const MOST_DIMENSIONS = 8192
/** How many bytes of text the simulator counts as one token. An input of tokens is taken as a text of so many bytes each. */
const BYTES_PER_TOKEN = 4

export const embeddings: Dialect = {
  ...INPUT_ONLY,
  route: fixedPaths({ '/v1/embeddings': 'answer' }),
  read(body) {
    const inputs = inputsOf(body['input'])
    need(inputs.length > 0, "'$.input' is invalid. Please check the API reference.")
    return inputAsk(body, inputs.map(asText), inputs.length)
  },
  whole({ model, body }, { usage, reports }) {
    const { input } = usage
    const data = inputsOf(body['input']).map((text, index) => ({
      object: 'embedding',
      index,
      embedding: say(body, text),
    }))
    return {
      object: 'list',
      data,
      model,
      ...(reports ? { usage: { prompt_tokens: input, total_tokens: input } } : {}),
    }
  },
}

function inputsOf(input: unknown): unknown[] {
  if (!Array.isArray(input)) return typeof input === 'string' && input !== '' ? [input] : []
  return typeof input[0] === 'number' ? [input] : input
}

const asText = (input: unknown): string =>
  Array.isArray(input)
    ? 'x'.repeat(BYTES_PER_TOKEN * input.length)
    : typeof input === 'string'
      ? input
      : JSON.stringify(input)

/** Writes the vector as the request asks: as numbers, or as the base64 of its numbers, 32 bits each. */
function say(body: Fields, input: unknown): number[] | string {
  const length = Math.min(countOf(body['dimensions']) ?? DIMENSIONS, MOST_DIMENSIONS)
  const numbers = vectorOf(JSON.stringify(input), length)
  return body['encoding_format'] === 'base64'
    ? Buffer.from(new Float32Array(numbers).buffer).toString('base64')
    : numbers
}

/** Makes a vector from a text. Its numbers are sixteenths, because floating-point numbers of 32 bits hold those exactly. */
export function vectorOf(text: string, length: number): number[] {
  const bytes = createHash('sha256').update(text).digest()
  return Array.from({ length }, (_, i) => ((bytes[i % bytes.length] as number) - 128) / 16)
}

const PATH = /^\/v1(?:beta|alpha)?\/models\/(.+):(embedContent|batchEmbedContents)$/

export const nativeEmbeddings: Dialect = {
  ...INPUT_ONLY,
  credential: generate.credential,
  error: generate.error,
  headers: generate.headers,
  route({ pathname }) {
    const found = PATH.exec(pathname)
    return found === null ? null : { action: 'answer', model: found[1] as string, stream: false, events: false }
  },
  read(body, { model }) {
    const requests = requestsOf(body)
    for (const request of requests)
      need(
        [undefined, `models/${model}`].includes(request['model'] as string),
        '* model must match the model of the path',
      )
    const texts = requests.map(text)
    need(
      texts.every(text => text !== ''),
      '* EmbedContentRequest.content: contents is not specified',
    )
    return { ...inputAsk(body, texts, texts.length), model: model ?? '' }
  },
  whole({ body }, { usage, reports }) {
    const vectors = requestsOf(body).map(request => ({ values: vectorOf(text(request), lengthOf(request)) }))
    if (body['requests'] !== undefined) return { embeddings: vectors }
    return { embedding: vectors[0], ...(reports ? { usageMetadata: { promptTokenCount: usage.input } } : {}) }
  },
}

const requestsOf = (body: Fields): Fields[] => (body['requests'] === undefined ? [body] : rowsOf(body['requests']))
const text = (request: Fields): string => textOf(fieldsOf(request['content'])['parts'])
const lengthOf = (request: Fields): number =>
  Math.min(countOf(request['outputDimensionality']) ?? DIMENSIONS, MOST_DIMENSIONS)
