/** OpenAI-compatible responses. */
import { responsesAnswers } from './answers/responses.ts'
import { jsonBody } from './json-body.ts'
import { clientPath, type ProtocolRow, SAME_HEADERS, TEXT_COVER } from './protocol.ts'
import { responsesBody } from './requests/responses.ts'

const PATH = '/v1/responses'

export const responses: ProtocolRow = {
  place: 3,
  client: {
    paths: [
      clientPath('/responses'),
      clientPath('/responses/input_tokens', { action: 'count', suffix: '/input_tokens' }),
      clientPath('/responses', { action: 'upgrade' }),
    ],
    versions: ['/v1'],
    repeatsVersion: false,
    placements: ['bearer'],
    query: {},
    typesErrors: false,
  },
  upstream: {
    path: PATH,
    ending: /\/responses$/,
    authHeader: 'authorization',
    kinds: {
      openai: PATH,
      azure: '/openai/v1/responses',
      dashscope: '/compatible-mode/v1/responses',
      fireworks: '/inference/v1/responses',
      groq: '/openai/v1/responses',
      moonshot: PATH,
      openrouter: '/api/v1/responses',
      volcengine: '/api/v3/responses',
      xai: PATH,
    },
    atProvider: SAME_HEADERS,
  },
  body: jsonBody(responsesBody),
  streamsByPath: null,
  asksForUsage: false,
  price: { cover: TEXT_COVER, pictures: false, cachesWhenAsked: false },
  ...responsesAnswers,
}
