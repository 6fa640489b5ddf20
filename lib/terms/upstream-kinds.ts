/**
 * Where an upstream answers each protocol, and how it wants to be asked: one row for each kind of provider that people
 * put behind the gateway. What a channel says itself goes before its kind. Paths are from the provider's host; they were
 * read in the providers' own pages and in the clients that speak to them.
 */
import type { Channel, Protocol } from './records.ts'

/** Where a protocol is by itself. `{model}` and `{verb}` stand for those of the request. */
export const OWN_PATHS: Readonly<Record<Protocol, string>> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  images: '/v1/images/generations',
  generate: '/v1beta/models/{model}:{verb}',
}

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

const kindOf = (name: KindName | null): Kind | null => (name === null ? null : KINDS[name])

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

type Asked = Pick<Channel, 'baseUrl' | 'kind' | 'paths' | 'query'>

/** Protocols of a channel that its kind does not speak and for which it names no path. */
export function unspoken({ kind: name, paths, protocols }: Asked & Pick<Channel, 'protocols'>): Protocol[] {
  const known = { ...kindOf(name)?.paths, ...paths }
  return name === null ? [] : protocols.filter(protocol => known[protocol] === undefined)
}

/** The path of a protocol at a channel's upstream, from its host, with `{model}` and `{verb}` where they belong. */
export function pathAt({ baseUrl, kind: name, paths }: Asked, protocol: Protocol): string {
  const base = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const own = paths[protocol]
  if (own !== undefined) return withoutRepeat(base, own) + own
  const known = kindOf(name)?.paths
  const ofKind = known?.[protocol]
  if (known !== undefined && ofKind !== undefined) return rootOf(base, Object.values(known)) + ofKind
  return joined(base, OWN_PATHS[protocol])
}

export const queryAt = ({ kind: name, query }: Asked): Record<string, string> => ({ ...kindOf(name)?.query, ...query })

const LAST_VERSION = /\/(v\d+(?:alpha|beta)?)$/
const FIRST_VERSION = /^\/(v\d+(?:alpha|beta)?)(?=\/)/

const withoutRepeat = (base: string, path: string): string => {
  const version = LAST_VERSION.exec(base)?.[1]
  return version !== undefined && FIRST_VERSION.exec(path)?.[1] === version ? base.replace(LAST_VERSION, '') : base
}

/**
 * A base that ends in a version replaces the protocol's own (`/api/paas/v4`, `/api/v3`), because that is the address which
 * clients are given. Only `/v1` beside `/v1beta` is a matter of the protocol: upstreams that speak several have both.
 */
function joined(base: string, path: string): string {
  const ofBase = LAST_VERSION.exec(base)?.[1]
  const ofPath = FIRST_VERSION.exec(path)?.[1] as string
  if (ofBase === undefined) return base + path
  if (/^v1(alpha|beta)?$/.test(ofBase) && (ofBase === 'v1') !== (ofPath === 'v1'))
    return base.replace(LAST_VERSION, '') + path
  return base + path.replace(FIRST_VERSION, '')
}

/** Of a base that was given as far as into one of the kind's paths, what stands before them. */
function rootOf(base: string, paths: readonly string[]): string {
  const steps = base.split('/').slice(1)
  for (let from = 0; from < steps.length; from++) {
    const tail = `/${steps.slice(from).join('/')}/`
    if (paths.some(path => path.startsWith(tail))) return base.slice(0, base.length - tail.length + 1)
  }
  return base.replace(LAST_VERSION, '')
}

/** The protocol whose path ends the address, which would then stand in it twice; null = none. */
export function protocolEnding(baseUrl: string): Protocol | null {
  const path = new URL(baseUrl).pathname
  const endings: [Protocol, RegExp][] = [
    ['messages', /\/messages$/],
    ['chat', /\/chat\/completions$/],
    ['responses', /\/responses$/],
    ['images', /\/images\/generations$/],
    ['generate', /\/models(\/[^/]*)?$/],
  ]
  return endings.find(([, ending]) => ending.test(path))?.[0] ?? null
}
