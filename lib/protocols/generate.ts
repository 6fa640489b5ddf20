/** Native generate-content (gamma). Its paths name the model and what is to be done with it. */
import { generateAnswers } from './answers/generate.ts'
import { jsonBody } from './json-body.ts'
import { clientPath, type ProtocolRow, TEXT_COVER } from './protocol.ts'
import { generateBody } from './requests/generate.ts'

const PATH = '/v1beta/models/{model}:{verb}'

export const generate: ProtocolRow = {
  place: 5,
  client: {
    paths: [
      clientPath('/models/{model}:generateContent'),
      clientPath('/models/{model}:streamGenerateContent'),
      clientPath('/models/{model}:countTokens', { action: 'count' }),
    ],
    versions: ['/v1beta', '/v1alpha', '/v1'],
    repeatsVersion: false,
    placements: ['gamma', 'query'],
    query: { alt: ['sse', 'json'] },
    typesErrors: false,
  },
  upstream: {
    path: PATH,
    ending: /\/models(\/[^/]*)?$/,
    authHeader: 'x-gamma-api-key',
    kinds: { gemini: PATH, vertex: '/publishers/google/models/{model}:{verb}' },
    verbs: { document: 'generateContent', stream: 'streamGenerateContent', streamQuery: 'alt=sse' },
    atProvider: {
      authHeader: 'x-goog-api-key',
      renamed: { 'x-gamma-api-client': 'x-goog-api-client' },
      fallback: null,
    },
  },
  body: jsonBody(generateBody),
  // without it the answer to `streamGenerateContent` is one document, an array of what would have been the events
  streamsByPath: (verb, query) => verb === 'streamGenerateContent' && query === '?alt=sse',
  arrayByPath: (verb, query) => verb === 'streamGenerateContent' && query !== '?alt=sse',
  asksForUsage: false,
  price: { cover: TEXT_COVER, pictures: false, cachesWhenAsked: false },
  ...generateAnswers,
}
