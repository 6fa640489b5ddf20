/** Embeddings in the form of generate-content (gamma). The paths name the model and what is to be done with it. */

import { content } from './generate.ts'
import { inputOnly } from './input-only.ts'
import { clientPath, gammaClient, gammaUpstream, type ProtocolRow } from './protocol.ts'
import { jsonBody } from './requests/body.ts'
import { Place } from './requests/places.ts'
import * as read from './requests/readers.ts'

const request = new Place().has('model', read.repeatedModel).has('content', { inside: content })

const nativeEmbeddingsBody = new Place({ begin: read.writesNothing })
  .has('model', read.repeatedModel)
  .has('content', { inside: content })
  .has('requests', { inside: request })
  .has('serviceTier', { alias: 'service_tier', read: read.tier('service', 'serviceTier') })

export const nativeEmbeddings: ProtocolRow = {
  place: 6,
  formOf: 'embeddings',
  client: gammaClient({}, clientPath('/models/{model}:embedContent'), clientPath('/models/{model}:batchEmbedContents')),
  upstream: gammaUpstream({ gemini: '/v1beta/models/{model}:{verb}' }),
  body: jsonBody(nativeEmbeddingsBody),
  ...inputOnly('embedding', 'embeddings'),
}
