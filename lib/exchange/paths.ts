/**
 * Which request is which: every path the gateway knows, and the tolerance for prefixes people get wrong.
 * Nothing else in the code looks at a path.
 */
import type { Protocol } from '../terms/records.ts'
import type { Action, Endpoint, Placement, Target } from '../terms/target.ts'

const BEARER = ['bearer'] as const
const MESSAGES = ['x-api-key', 'bearer'] as const
const GAMMA = ['gamma', 'query'] as const
/** Every placement that any protocol reads. */
export const ANY = ['x-api-key', 'bearer', 'gamma', 'query'] as const

const endpoint = (
  action: Action,
  protocol: Protocol | null,
  placements: readonly Placement[],
  suffix = '',
): Endpoint => ({
  action,
  protocol,
  placements,
  suffix,
  messagesErrors: protocol === 'messages',
  native: false,
})

const MODELS = endpoint('models', null, ANY)
const MODEL = endpoint('model', null, ANY)
const NATIVE_MODELS: Endpoint = { ...MODELS, native: true }
const NATIVE_MODEL: Endpoint = { ...MODEL, native: true }
const GENERATE = endpoint('relay', 'generate', GAMMA)
const GENERATE_COUNT = endpoint('count', 'generate', GAMMA)
const UPGRADE = endpoint('upgrade', 'responses', BEARER)
const HELLO = endpoint('hello', null, [])

/** Without the `/v1` layer, which a client with a key may leave out. */
const POST: Record<string, Endpoint> = {
  '/messages': endpoint('relay', 'messages', MESSAGES),
  '/messages/count_tokens': endpoint('count', 'messages', MESSAGES, '/count_tokens'),
  '/chat/completions': endpoint('relay', 'chat', BEARER),
  '/responses': endpoint('relay', 'responses', BEARER),
  '/responses/input_tokens': endpoint('count', 'responses', BEARER, '/input_tokens'),
  '/images/generations': endpoint('relay', 'images', BEARER),
}

const GENERATE_PATH = /^(\/v1beta|\/v1alpha|\/v1|)\/models\/(.+):(generateContent|streamGenerateContent|countTokens)$/

export interface PathQuestion {
  method: string
  path: string
  /** The request asks to become a WebSocket. */
  upgrade: boolean
  /** A key was sent, be it where the protocol does not read it. */
  hasKey(): boolean
  /** A version header of the messages protocol was sent. */
  hasVersion(): boolean
}

const plain = (e: Endpoint): Target => ({ endpoint: e, model: null, rawModel: '', verb: '' })
const PLAIN = new Map<string, Target>(Object.entries(POST).map(([path, e]) => [`/v1${path}`, plain(e)]))

/** A proxy may send the whole address; what stands in it before the path, a password perhaps, is not for us. */
export function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const rest = /^https?:\/\/[^/?#]*(.*)$/is.exec(url)?.[1]
  return rest === undefined || rest.startsWith('/') ? (rest ?? url) : `/${rest}`
}

/** null = no such path, or not with this method. */
export function findTarget(q: PathQuestion): Target | null {
  if (q.method === 'POST') return PLAIN.get(q.path) ?? postTarget(q)
  if (q.method === 'GET') return getTarget(q)
  return q.method === 'HEAD' && q.path === '/' ? plain(HELLO) : null
}

function postTarget(q: PathQuestion): Target | null {
  const { path } = q
  if (path.startsWith('/v1/v1/messages')) return PLAIN.get(path.slice(3)) ?? null
  const bare = POST[path]
  if (bare !== undefined && Object.hasOwn(POST, path)) return q.hasKey() ? plain(bare) : null
  const m = GENERATE_PATH.exec(path)
  if (m === null || (m[1] === '' && !q.hasKey())) return null
  const verb = m[3] as string
  return modelTarget(verb === 'countTokens' ? GENERATE_COUNT : GENERATE, m[2] as string, verb)
}

function getTarget(q: PathQuestion): Target | null {
  let { path } = q
  if (path === '/api/hello') return plain(HELLO)
  if (path === '/v1/responses' || (path === '/responses' && q.hasKey())) return q.upgrade ? plain(UPGRADE) : null
  if (GENERATE_PATH.test(path)) return null // a path that is posted to, and no model of that name
  if (path.startsWith('/v1/v1/models') && q.hasVersion()) path = path.slice(3)
  if (path === '/models' || path.startsWith('/models/')) {
    if (!q.hasKey()) return null
    path = `/v1${path}`
  }
  if (path === '/v1/models') return plain(MODELS)
  if (path === '/v1beta/models') return plain(NATIVE_MODELS)
  if (path.startsWith('/v1/models/')) return modelTarget(MODEL, path.slice('/v1/models/'.length), '')
  if (path.startsWith('/v1beta/models/')) return modelTarget(NATIVE_MODEL, path.slice('/v1beta/models/'.length), '')
  return null
}

function modelTarget(e: Endpoint, rawModel: string, verb: string): Target | null {
  if (rawModel === '') return null
  try {
    return { endpoint: e, model: decodeURIComponent(rawModel), rawModel, verb }
  } catch {
    return null // a broken percent escape names nothing
  }
}

const NONE: ReadonlySet<string> = new Set()

/** What a client may say in the query, and to what values: everything else could change what the answer looks like. */
const QUERY: Partial<Record<Protocol, ReadonlyMap<string, readonly string[]>>> = {
  messages: new Map([['beta', ['true', 'false']]]),
  generate: new Map([['alt', ['sse', 'json']]]),
}

/** What of a client's query goes upstream, each name once, without `others`. With its `?`, or empty. */
export function passedQuery(query: string, protocol: Protocol | null, others = NONE): string {
  const allowed = protocol === null ? undefined : QUERY[protocol]
  if (query === '' || allowed === undefined) return ''
  const kept = new Map<string, string>()
  for (const part of query.split('&')) {
    const name = queryName(part)
    const value = unescaped(part.slice(part.indexOf('=') + 1))
    if (!kept.has(name) && !others.has(name) && allowed.get(name)?.includes(value)) kept.set(name, value)
  }
  return kept.size === 0 ? '' : `?${[...kept].map(([name, value]) => `${name}=${value}`).join('&')}`
}

/** The value of the `key` parameter, or null. A name that only resembles it does not count. */
export function queryKey(query: string): string | null {
  if (!/key|%/i.test(query)) return null
  const part = query.split('&').find(one => queryName(one) === 'key')
  return part === undefined ? null : unescaped(part.slice(part.indexOf('=') + 1 || part.length))
}

function queryName(part: string): string {
  const end = part.indexOf('=')
  return unescaped(end < 0 ? part : part.slice(0, end))
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
