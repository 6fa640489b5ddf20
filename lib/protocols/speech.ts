/** OpenAI-compatible speech: a text goes in, and its sound comes out, as bytes or as events. */
import { speechAnswers } from './answers/speech.ts'
import { jsonBody } from './json-body.ts'
import { clientPath, type ProtocolRow, SAME_HEADERS } from './protocol.ts'
import { speechBody } from './requests/speech.ts'

const PATH = '/v1/audio/speech'

export const speech: ProtocolRow = {
  place: 9,
  client: {
    paths: [clientPath('/audio/speech')],
    versions: ['/v1'],
    repeatsVersion: false,
    placements: ['bearer'],
    query: {},
    typesErrors: false,
  },
  upstream: {
    path: PATH,
    ending: /\/audio\/speech$/,
    authHeader: 'authorization',
    kinds: {
      openai: PATH,
      azure: '/openai/v1/audio/speech',
      'azure-deployments': '/openai/deployments/{model}/audio/speech',
      deepinfra: '/v1/openai/audio/speech',
      groq: '/openai/v1/audio/speech',
      siliconflow: PATH,
      together: PATH,
      zhipu: '/api/paas/v4/audio/speech',
    },
    atProvider: SAME_HEADERS,
  },
  body: jsonBody(speechBody),
  streamsByPath: null,
  asksForUsage: false,
  price: {
    cover: [['character'], ['second'], ['request']],
    pictures: false,
    tokensAsReported: true,
    cachesWhenAsked: false,
  },
  ...speechAnswers,
}
