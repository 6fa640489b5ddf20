/** Reranking, in the form that Cohere and Jina share: documents are scored by how well they answer a query. */
import { inputAnswers } from './answers/input-only.ts'
import { jsonBody } from './json-body.ts'
import { clientPath, INPUT_COVER, type ProtocolRow, SAME_HEADERS } from './protocol.ts'
import { rerankBody } from './requests/rerank.ts'

const PATH = '/v1/rerank'

export const rerank: ProtocolRow = {
  place: 7,
  client: {
    paths: [clientPath('/rerank')],
    versions: ['/v1'],
    repeatsVersion: false,
    placements: ['bearer'],
    query: {},
    typesErrors: false,
  },
  upstream: {
    path: PATH,
    ending: /\/rerank$/,
    authHeader: 'authorization',
    kinds: {
      cohere: '/v2/rerank',
      fireworks: '/inference/v1/rerank',
      qianfan: '/v2/rerank',
      siliconflow: PATH,
      together: PATH,
      zhipu: '/api/paas/v4/rerank',
    },
    atProvider: SAME_HEADERS,
  },
  body: jsonBody(rerankBody),
  streamsByPath: () => false,
  asksForUsage: false,
  price: { cover: INPUT_COVER, pictures: false, cachesWhenAsked: false },
  ...inputAnswers('results', 'data'),
}
