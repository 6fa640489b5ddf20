/**
 * The places of an embeddings request in the form of generate-content. The body may name the model of the path again, in
 * each request of a batch. All these names must be the same, and each is replaced by the upstream's name where that differs.
 */
import { Place } from '../places.ts'
import * as read from '../readers.ts'
import { content } from './generate.ts'

const request = new Place().has('model', read.repeatedModel).has('content', { inside: content })

export const nativeEmbeddingsBody = new Place({ begin: read.writesNothing })
  .has('model', read.repeatedModel)
  .has('content', { inside: content })
  .has('requests', { inside: request })
  .has('serviceTier', { alias: 'service_tier', ...read.tier('service', 'serviceTier') })
