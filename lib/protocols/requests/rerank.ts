/**
 * The places of a rerank request's body in which something matters. Most upstreams read the query once with each document,
 * and count it as often.
 */
import type { Draft } from '../draft.ts'
import { Place } from '../places.ts'
import * as read from '../readers.ts'
import { textOrPicture } from './texts.ts'

const addDocument = (draft: Draft): void => {
  draft.documents++
}

const documents = textOrPicture({
  begin: addDocument,
  element: (draft, { kind }) => {
    if (kind === 'string') addDocument(draft)
  },
})

export const rerankBody = new Place({
  begin: read.writesNothing,
  end(draft) {
    draft.repeatedBytes = draft.queryBytes * Math.max(0, draft.documents - 1)
  },
})
  .has('model', read.model)
  .has('query', {
    inside: textOrPicture(),
    read(draft, { start, end }) {
      draft.queryBytes = end - start
    },
  })
  .has('documents', { inside: documents })
  .has('service_tier', read.tier('service', 'service_tier'))
