/** Reranking, in the form that Cohere and Jina share: documents are scored by how well they answer a query. */
import { inputOnly } from './input-only.ts'
import { textOrPicture } from './layouts.ts'
import { bearerClient, clientPath, openAiUpstream, type ProtocolRow } from './protocol.ts'
import { withoutOthers } from './requests/asked-tools.ts'
import { jsonBody } from './requests/body.ts'
import { type Draft, SearchUnits } from './requests/facts.ts'
import { Place, type Read, type Value } from './requests/places.ts'
import * as read from './requests/readers.ts'

function addDocument(draft: Draft, bytes: number): void {
  draft.documents++
  draft.searchUnits?.add(bytes)
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
  if (draft.searchUnits !== null) draft.searchUnits.queryBytes += bytes
}

const readQuery: Read = (draft, value) => setQuery(draft, bytesOf(value), value.end - value.start)

const query = textOrPicture({
  element: readQuery,
  end: (draft, { start }, end) => setQuery(draft, end - start, end - start),
})

const rerankBody = withoutOthers(
  new Place({
    begin(draft) {
      read.writesNothing(draft)
      draft.searchUnits = new SearchUnits()
    },
    end(draft) {
      draft.repeatedBytes = draft.queryBytes * Math.max(0, draft.documents - 1)
    },
  }),
)
  .has('model', read.model)
  .has('query', { inside: query, read: readQuery })
  .has('documents', { inside: documents, read: (draft, value) => addDocument(draft, bytesOf(value)) })
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))

const PATH = '/v1/rerank'

export const rerank: ProtocolRow = {
  place: 7,
  client: bearerClient(clientPath('/rerank')),
  upstream: openAiUpstream(PATH, {
    cohere: '/v2/rerank',
    fireworks: '/inference/v1/rerank',
    qianfan: '/v2/rerank',
    siliconflow: PATH,
    together: PATH,
    zhipu: '/api/paas/v4/rerank',
  }),
  body: jsonBody(rerankBody),
  ...inputOnly('results', 'data'),
}
