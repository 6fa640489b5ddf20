/** OpenAI-compatible embeddings: a text goes in, a vector comes out, and only the input is charged. */
import { inputAnswers } from './answers/input-only.ts'
import { jsonBody } from './json-body.ts'
import { clientPath, INPUT_COVER, type ProtocolRow, SAME_HEADERS } from './protocol.ts'
import { embeddingsBody } from './requests/embeddings.ts'

const PATH = '/v1/embeddings'

export const embeddings: ProtocolRow = {
  place: 6,
  client: {
    paths: [clientPath('/embeddings')],
    versions: ['/v1'],
    repeatsVersion: false,
    placements: ['bearer'],
    query: {},
    typesErrors: false,
  },
  upstream: {
    path: PATH,
    ending: /\/embeddings$/,
    authHeader: 'authorization',
    kinds: {
      openai: PATH,
      gemini: '/v1beta/openai/embeddings',
      azure: '/openai/v1/embeddings',
      'azure-deployments': '/openai/deployments/{model}/embeddings',
      cohere: '/compatibility/v1/embeddings',
      dashscope: '/compatible-mode/v1/embeddings',
      deepinfra: '/v1/openai/embeddings',
      fireworks: '/inference/v1/embeddings',
      hunyuan: PATH,
      mistral: PATH,
      nvidia: PATH,
      openrouter: '/api/v1/embeddings',
      qianfan: '/v2/embeddings',
      siliconflow: PATH,
      together: PATH,
      volcengine: '/api/v3/embeddings',
      zhipu: '/api/paas/v4/embeddings',
    },
    atProvider: SAME_HEADERS,
  },
  body: jsonBody(embeddingsBody),
  streamsByPath: () => false,
  asksForUsage: false,
  price: { cover: INPUT_COVER, pictures: false, cachesWhenAsked: false },
  ...inputAnswers('data'),
}
