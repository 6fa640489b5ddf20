/** OpenAI-compatible images. */
import { imagesAnswers } from './answers/images.ts'
import { clientPath, type ProtocolRow, SAME_HEADERS } from './protocol.ts'
import { imagesBody } from './requests/images.ts'

const PATH = '/v1/images/generations'

export const images: ProtocolRow = {
  place: 4,
  client: {
    paths: [
      clientPath('/images/generations'),
      clientPath('/images/edits', { lastStep: 'edits' }),
      clientPath('/images/variations', { lastStep: 'variations' }),
    ],
    versions: ['/v1'],
    repeatsVersion: false,
    placements: ['bearer'],
    query: {},
    typesErrors: false,
  },
  upstream: {
    path: PATH,
    ending: /\/images\/generations$/,
    authHeader: 'authorization',
    kinds: {
      openai: PATH,
      gemini: '/v1beta/openai/images/generations',
      azure: '/openai/v1/images/generations',
      'azure-deployments': '/openai/deployments/{model}/images/generations',
      qianfan: '/v2/images/generations',
      siliconflow: PATH,
      together: PATH,
      volcengine: '/api/v3/images/generations',
      xai: PATH,
      zhipu: '/api/paas/v4/images/generations',
    },
    atProvider: SAME_HEADERS,
  },
  body: imagesBody,
  streamsByPath: null,
  asksForUsage: false,
  price: { cover: [['image'], ['input', 'output'], ['request']], pictures: true, cachesWhenAsked: false },
  ...imagesAnswers,
}
