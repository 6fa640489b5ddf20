/**
 * How an upstream wants to be asked: one row for each kind of provider that people put behind the gateway. A channel's
 * own settings win over those of its kind. Paths begin at the provider's host; they, the headers and the queries were
 * taken from the providers' own pages and from the clients that speak to them.
 */
import type { Protocol } from './records.ts'

export interface Kind {
  /** The protocols that it speaks. */
  paths: Partial<Record<Protocol, string>>
  /** Headers that carry the key, where they are not those of `PROVIDER_HEADERS`. */
  auth: Partial<Record<Protocol, string>>
  query: Record<string, string>
}

const kind = (paths: Kind['paths'], more: Partial<Kind> = {}): Kind => ({ paths, auth: {}, query: {}, ...more })

const CHAT = '/v1/chat/completions'
const AZURE_KEY = { chat: 'api-key', responses: 'api-key', images: 'api-key' }

export const KINDS = {
  anthropic: kind({ messages: '/v1/messages', chat: CHAT }),
  openai: kind({ chat: CHAT, responses: '/v1/responses', images: '/v1/images/generations' }),
  gemini: kind({
    generate: '/v1beta/models/{model}:{verb}',
    chat: '/v1beta/openai/chat/completions',
    images: '/v1beta/openai/images/generations',
  }),
  azure: kind(
    {
      chat: '/openai/v1/chat/completions',
      responses: '/openai/v1/responses',
      images: '/openai/v1/images/generations',
    },
    { auth: AZURE_KEY },
  ),
  'azure-deployments': kind(
    {
      chat: '/openai/deployments/{model}/chat/completions',
      images: '/openai/deployments/{model}/images/generations',
    },
    { auth: AZURE_KEY, query: { 'api-version': '2024-10-21' } },
  ),
  cerebras: kind({ chat: CHAT }),
  cohere: kind({ chat: '/compatibility/v1/chat/completions' }),
  dashscope: kind({
    chat: '/compatible-mode/v1/chat/completions',
    responses: '/compatible-mode/v1/responses',
    messages: '/apps/anthropic/v1/messages',
  }),
  deepinfra: kind({ chat: '/v1/openai/chat/completions' }),
  deepseek: kind({ chat: CHAT, messages: '/anthropic/v1/messages' }),
  fireworks: kind({ chat: '/inference/v1/chat/completions', responses: '/inference/v1/responses' }),
  groq: kind({ chat: '/openai/v1/chat/completions', responses: '/openai/v1/responses' }),
  hunyuan: kind({ chat: CHAT }),
  minimax: kind({ chat: CHAT, messages: '/anthropic/v1/messages' }),
  mistral: kind({ chat: CHAT }),
  moonshot: kind({ chat: CHAT, responses: '/v1/responses', messages: '/anthropic/v1/messages' }),
  nvidia: kind({ chat: CHAT }),
  openrouter: kind(
    { chat: '/api/v1/chat/completions', responses: '/api/v1/responses', messages: '/api/v1/messages' },
    { auth: { messages: 'authorization' } },
  ),
  perplexity: kind({ chat: '/chat/completions' }),
  qianfan: kind({ chat: '/v2/chat/completions', images: '/v2/images/generations' }),
  siliconflow: kind({ chat: CHAT, messages: '/v1/messages', images: '/v1/images/generations' }),
  together: kind({ chat: CHAT, images: '/v1/images/generations' }),
  volcengine: kind({
    chat: '/api/v3/chat/completions',
    responses: '/api/v3/responses',
    images: '/api/v3/images/generations',
  }),
  xai: kind({ chat: CHAT, responses: '/v1/responses', images: '/v1/images/generations' }),
  zhipu: kind(
    {
      chat: '/api/paas/v4/chat/completions',
      messages: '/api/anthropic/v1/messages',
      images: '/api/paas/v4/images/generations',
    },
    { auth: { messages: 'authorization' } },
  ),
} satisfies Record<string, Kind>

export type KindName = keyof typeof KINDS
export const KIND_NAMES = Object.keys(KINDS) as KindName[]

export const kindOf = (name: KindName | null): Kind | null => (name === null ? null : KINDS[name])

/** How the providers themselves call what our protocols call by other names. */
interface ProviderHeaders {
  auth: string | null
  /** As `headers` of a channel. */
  renamed: Readonly<Record<string, string>>
  /** Sent when the client sends none. */
  fallback: readonly [name: string, value: string] | null
}
const PLAIN: ProviderHeaders = { auth: null, renamed: {}, fallback: null }
const PROVIDER_HEADERS: Readonly<Record<Protocol, ProviderHeaders>> = {
  messages: {
    auth: 'x-api-key',
    renamed: { 'alpha-version': 'anthropic-version', 'alpha-beta': 'anthropic-beta' },
    fallback: ['anthropic-version', '2023-06-01'],
  },
  chat: PLAIN,
  responses: PLAIN,
  images: PLAIN,
  generate: {
    auth: 'x-goog-api-key',
    renamed: { 'x-gamma-api-client': 'x-goog-api-client' },
    fallback: null,
  },
}

/** What the kind of a channel says about headers; without a kind nothing. */
export function providerHeaders(name: KindName | null, protocol: Protocol): ProviderHeaders {
  const of = kindOf(name)
  if (of === null) return PLAIN
  const usual = PROVIDER_HEADERS[protocol]
  return { ...usual, auth: of.auth[protocol] ?? usual.auth }
}
