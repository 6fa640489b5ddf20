/** The messages protocol (alpha). */
import { messagesAnswers } from './answers/messages.ts'
import { MESSAGES_ON_BEDROCK } from './bedrock.ts'
import { jsonBody } from './json-body.ts'
import { clientPath, type ProtocolRow, TEXT_COVER } from './protocol.ts'
import { messagesBody } from './requests/messages.ts'
import { MESSAGES_ON_VERTEX } from './vertex.ts'

export const messages: ProtocolRow = {
  place: 1,
  client: {
    paths: [
      clientPath('/messages'),
      clientPath('/messages/count_tokens', { action: 'count', suffix: '/count_tokens' }),
    ],
    versions: ['/v1'],
    repeatsVersion: true,
    placements: ['x-api-key', 'bearer'],
    query: { beta: ['true', 'false'] },
    typesErrors: true,
  },
  upstream: {
    path: '/v1/messages',
    ending: /\/messages$/,
    authHeader: 'x-api-key',
    kinds: {
      anthropic: '/v1/messages',
      azure: { path: '/anthropic/v1/messages', authHeader: 'x-api-key' },
      bedrock: MESSAGES_ON_BEDROCK,
      'bedrock-api-key': { ...MESSAGES_ON_BEDROCK, authHeader: 'authorization' },
      dashscope: '/apps/anthropic/v1/messages',
      deepseek: '/anthropic/v1/messages',
      minimax: '/anthropic/v1/messages',
      moonshot: '/anthropic/v1/messages',
      openrouter: { path: '/api/v1/messages', authHeader: 'authorization' },
      siliconflow: '/v1/messages',
      vertex: MESSAGES_ON_VERTEX,
      zhipu: { path: '/api/anthropic/v1/messages', authHeader: 'authorization' },
    },
    atProvider: {
      authHeader: 'x-api-key',
      renamed: { 'alpha-version': 'anthropic-version', 'alpha-beta': 'anthropic-beta' },
      fallback: ['anthropic-version', '2023-06-01'],
    },
  },
  body: jsonBody(messagesBody),
  streamsByPath: null,
  asksForUsage: false,
  price: { cover: TEXT_COVER, pictures: false, cachesWhenAsked: true },
  ...messagesAnswers,
}
