/**
 * The places of a rerank request's body in which something matters. Most upstreams read the query once with each document,
 * and count it as often.
 */
import type { Draft } from '../draft.ts'
import { Place, type Read, type Value } from '../places.ts'
import * as read from '../readers.ts'
import { SearchUnits } from '../search-units.ts'
import { textOrPicture } from './texts.ts'

function addDocument(draft: Draft, bytes: number): void {
  draft.documents++
  draft.units?.add(bytes)
}

/** Without the quotes around a text. */
const bytesOf = ({ kind, start, end }: Value): number => end - start - (kind === 'string' ? 2 : 0)

const documents = textOrPicture({
  element: (draft, value) => addDocument(draft, bytesOf(value)),
  end: (draft, { start }, end) => addDocument(draft, end - start),
})

/** `written`: with the quotes around a text. */
function setQuery(draft: Draft, bytes: number, written: number): void {
  draft.queryBytes += written
  if (draft.units !== null) draft.units.queryBytes += bytes
}

const readQuery: Read = (draft, value) => setQuery(draft, bytesOf(value), value.end - value.start)

const query = textOrPicture({
  element: readQuery,
  end: (draft, { start }, end) => setQuery(draft, end - start, end - start),
})

export const rerankBody = new Place({
  begin(draft) {
    read.writesNothing(draft)
    draft.units = new SearchUnits()
  },
  end(draft) {
    draft.repeatedBytes = draft.queryBytes * Math.max(0, draft.documents - 1)
  },
})
  .has('model', read.model)
  .has('query', { inside: query, read: readQuery })
  .has('documents', { inside: documents, read: (draft, value) => addDocument(draft, bytesOf(value)) })
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))
