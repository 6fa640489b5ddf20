/** The simulator's embeddings in the form of generate-content. As some models do, it reports usage only for single texts. */
import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { countOf, need, rowsOf, textOf } from '../reading.ts'
import type { Dialect, Fields } from '../speech.ts'
import { vectorOf } from './embeddings.ts'
import { generate } from './generate.ts'
import { INPUT_ONLY, inputAsk } from './input-only.ts'

const PATH = /^\/v1(?:beta|alpha)?\/models\/(.+):(embedContent|batchEmbedContents)$/
const DIMENSIONS = 8
const MOST_DIMENSIONS = 8192

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
    const texts = requests.map(textIn)
    need(
      texts.every(text => text !== ''),
      '* EmbedContentRequest.content: contents is not specified',
    )
    return { ...inputAsk(body, texts, texts.length), model: model ?? '' }
  },
  whole({ body }, { usage, reports }) {
    const vectors = requestsOf(body).map(request => ({ values: vectorOf(textIn(request), lengthOf(request)) }))
    if (body['requests'] !== undefined) return { embeddings: vectors }
    return { embedding: vectors[0], ...(reports ? { usageMetadata: { promptTokenCount: usage.input } } : {}) }
  },
}

const requestsOf = (body: Fields): Fields[] => (body['requests'] === undefined ? [body] : rowsOf(body['requests']))
const textIn = (request: Fields): string => textOf(fieldsOf(request['content'])['parts'])
const lengthOf = (request: Fields): number =>
  Math.min(countOf(request['outputDimensionality']) ?? DIMENSIONS, MOST_DIMENSIONS)
