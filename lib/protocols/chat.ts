/** OpenAI-compatible chat completions (beta). */
import { chatAnswers } from './answers/chat.ts'
import { jsonBody } from './json-body.ts'
import { clientPath, type ProtocolRow, SAME_HEADERS, TEXT_COVER } from './protocol.ts'
import { chatBody } from './requests/chat.ts'

const PATH = '/v1/chat/completions'

export const chat: ProtocolRow = {
  place: 2,
  client: {
    paths: [clientPath('/chat/completions')],
    versions: ['/v1'],
    repeatsVersion: false,
    placements: ['bearer'],
    query: {},
    typesErrors: false,
  },
  upstream: {
    path: PATH,
    ending: /\/chat\/completions$/,
    authHeader: 'authorization',
    kinds: {
      anthropic: PATH,
      openai: PATH,
      gemini: '/v1beta/openai/chat/completions',
      azure: '/openai/v1/chat/completions',
      'azure-deployments': '/openai/deployments/{model}/chat/completions',
      cerebras: PATH,
      cohere: '/compatibility/v1/chat/completions',
      dashscope: '/compatible-mode/v1/chat/completions',
      deepinfra: '/v1/openai/chat/completions',
      deepseek: PATH,
      fireworks: '/inference/v1/chat/completions',
      groq: '/openai/v1/chat/completions',
      hunyuan: PATH,
      minimax: PATH,
      mistral: PATH,
      moonshot: PATH,
      nvidia: PATH,
      openrouter: '/api/v1/chat/completions',
      perplexity: '/chat/completions',
      qianfan: '/v2/chat/completions',
      siliconflow: PATH,
      together: PATH,
      volcengine: '/api/v3/chat/completions',
      xai: PATH,
      zhipu: '/api/paas/v4/chat/completions',
    },
    atProvider: SAME_HEADERS,
  },
  body: jsonBody(chatBody),
  streamsByPath: null,
  asksForUsage: true,
  price: { cover: TEXT_COVER, pictures: false, cachesWhenAsked: false, hidesCalls: true },
  ...chatAnswers,
}
