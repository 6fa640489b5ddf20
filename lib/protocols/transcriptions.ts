/** OpenAI-compatible transcriptions and translations: a file of sound goes in, and what is said in it comes out as text. */
import { transcriptionsAnswers } from './answers/transcriptions.ts'
import { clientPath, type ProtocolRow, SAME_HEADERS } from './protocol.ts'
import { transcriptionsBody } from './requests/transcriptions.ts'

const PATH = '/v1/audio/transcriptions'

export const transcriptions: ProtocolRow = {
  place: 10,
  client: {
    paths: [clientPath('/audio/transcriptions'), clientPath('/audio/translations', { lastStep: 'translations' })],
    versions: ['/v1'],
    repeatsVersion: false,
    placements: ['bearer'],
    query: {},
    typesErrors: false,
  },
  upstream: {
    path: PATH,
    ending: /\/audio\/transcriptions$/,
    authHeader: 'authorization',
    kinds: {
      openai: PATH,
      azure: '/openai/v1/audio/transcriptions',
      'azure-deployments': '/openai/deployments/{model}/audio/transcriptions',
      deepinfra: '/v1/openai/audio/transcriptions',
      groq: '/openai/v1/audio/transcriptions',
      mistral: PATH,
      siliconflow: PATH,
      together: PATH,
      zhipu: '/api/paas/v4/audio/transcriptions',
    },
    atProvider: SAME_HEADERS,
  },
  body: transcriptionsBody,
  streamsByPath: null,
  asksForUsage: false,
  price: { cover: [['second'], ['request'], ['input', 'output']], pictures: false, cachesWhenAsked: false },
  ...transcriptionsAnswers,
}
