/** OpenAI-compatible moderations: texts and pictures are judged, and most upstreams report no usage. */
import { inputAnswers } from './answers/input-only.ts'
import { jsonBody } from './json-body.ts'
import { clientPath, INPUT_COVER, type ProtocolRow, SAME_HEADERS } from './protocol.ts'
import { moderationsBody } from './requests/moderations.ts'

const PATH = '/v1/moderations'

export const moderations: ProtocolRow = {
  place: 8,
  client: {
    paths: [clientPath('/moderations')],
    versions: ['/v1'],
    repeatsVersion: false,
    placements: ['bearer'],
    query: {},
    typesErrors: false,
  },
  upstream: {
    path: PATH,
    ending: /\/moderations$/,
    authHeader: 'authorization',
    kinds: { openai: PATH, mistral: PATH },
    atProvider: SAME_HEADERS,
  },
  body: jsonBody(moderationsBody),
  streamsByPath: () => false,
  asksForUsage: false,
  price: { cover: INPUT_COVER, pictures: false, cachesWhenAsked: false },
  ...inputAnswers('results'),
}
