/** Embeddings in the form of generate-content (gamma). The paths name the model and what is to be done with it. */
import { inputAnswers } from './answers/input-only.ts'
import { jsonBody } from './json-body.ts'
import { clientPath, INPUT_COVER, type ProtocolRow } from './protocol.ts'
import { nativeEmbeddingsBody } from './requests/native-embeddings.ts'

export const nativeEmbeddings: ProtocolRow = {
  place: 6,
  formOf: 'embeddings',
  client: {
    paths: [clientPath('/models/{model}:embedContent'), clientPath('/models/{model}:batchEmbedContents')],
    versions: ['/v1beta', '/v1alpha', '/v1'],
    repeatsVersion: false,
    placements: ['gamma', 'query'],
    query: {},
    typesErrors: false,
  },
  upstream: {
    path: '/v1beta/models/{model}:{verb}',
    ending: /\/models(\/[^/]*)?$/,
    authHeader: 'x-gamma-api-key',
    kinds: {},
    atProvider: {
      authHeader: 'x-goog-api-key',
      renamed: { 'x-gamma-api-client': 'x-goog-api-client' },
      fallback: null,
    },
  },
  body: jsonBody(nativeEmbeddingsBody),
  streamsByPath: () => false,
  asksForUsage: false,
  price: { cover: INPUT_COVER, pictures: false, cachesWhenAsked: false },
  ...inputAnswers('embedding', 'embeddings'),
}
