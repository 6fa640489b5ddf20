/**
 * The endpoints: every path that the gateway answers, and the tolerance for prefixes that people get wrong. The protocols name their own
 * paths, which are put together once when the process starts; what is left are model lists, pages about a key's money and a greeting. Most
 * paths are looked up as they stand; those that name a model are matched one after the other. Nothing else in the code looks at a path.
 */
import type { Placement, ClientPath } from '../protocols/protocol.ts'
import { credentialOf, headerOf } from './record/request.ts'
import type { Exchange } from './record/exchange.ts'
import type { Action, Endpoint, Target } from '../terms/target.ts'
import { FORMS, type Protocol } from '../protocols/names.ts'
import { protocolOf, protocolRow } from '../protocols/table.ts'

/** The parts of an exchange by which its endpoint is found. */
type Asked = Pick<Exchange, 'method' | 'path' | 'query' | 'req' | 'world'>

const plainTarget = (endpoint: Endpoint): Target => ({ endpoint, model: null, rawModel: '', verb: '' })

/** Paths of one endpoint that name a model. The pattern finds the version, which may be missing, and the model. */
interface ModelPath {
  pattern: RegExp
  endpoint: Endpoint
  verb: string
}

/** Paths that are looked up as they stand. */
class PathTable {
  readonly whole = new Map<string, Target>()
  /** Without their version: they are answered for clients that sent a key. */
  readonly bare = new Map<string, Target>()
}

export const POSTS = new PathTable()
/** Paths on which a client may ask to become a WebSocket, by GET. */
const UPGRADES = new PathTable()
export const MODEL_POSTS: ModelPath[] = []

const NAMES_MODEL = /^(.*)\{model\}:(\w+)$/

function learn(form: Protocol, { path, action, suffix, lastStep }: ClientPath): void {
  const { versions, repeatsVersion, placements, typesErrors } = protocolRow(form).client
  const protocol = protocolOf(form)
  const endpoint = { action, protocol, form, placements, suffix, lastStep, typesErrors, native: false }
  const [, before = '', verb] = NAMES_MODEL.exec(path) ?? []
  if (verb !== undefined) {
    const layers = [...versions, ''].map(RegExp.escape).join('|')
    MODEL_POSTS.push({ pattern: new RegExp(`^(${layers})${RegExp.escape(before)}(.+):${verb}$`), endpoint, verb })
    return
  }
  const target = plainTarget(endpoint)
  const table = action === 'upgrade' ? UPGRADES : POSTS
  table.bare.set(path, target)
  for (const version of versions) {
    table.whole.set(version + path, target)
    if (repeatsVersion) table.whole.set(version + version + path, target)
  }
}

for (const form of FORMS) for (const path of protocolRow(form).client.paths) learn(form, path)

// --- paths that no protocol has

/** Every placement that any protocol reads. */
const ANY = ['x-api-key', 'bearer', 'gamma', 'query'] as const

const ownEndpoint = (action: Action, placements: readonly Placement[], native = false): Endpoint => ({
  action,
  protocol: null,
  form: null,
  placements,
  suffix: '',
  lastStep: '',
  typesErrors: false,
  native,
})

const MODELS = ownEndpoint('models', ANY)
const MODEL = ownEndpoint('model', ANY)
const NATIVE_MODELS = ownEndpoint('models', ANY, true)
const NATIVE_MODEL = ownEndpoint('model', ANY, true)
const HELLO = ownEndpoint('hello', [])

const ESTIMATE = plainTarget(ownEndpoint('estimate', ANY))
POSTS.whole.set('/v1/estimate', ESTIMATE)
POSTS.bare.set('/estimate', ESTIMATE)

/** The pages on which a key asks for its own money. Without their version they are answered for clients that sent a key. */
const FUNDS = new Map<string, Target>([
  ['/credits', plainTarget(ownEndpoint('credits', ANY))],
  ['/key', plainTarget(ownEndpoint('key', ANY))],
  ['/auth/key', plainTarget(ownEndpoint('key', ANY))],
  ['/generation', plainTarget(ownEndpoint('generation', ANY))],
  ['/dashboard/billing/subscription', plainTarget(ownEndpoint('funds-limit', ANY))],
  ['/dashboard/billing/usage', plainTarget(ownEndpoint('funds-used', ANY))],
])
const TOKEN = plainTarget(ownEndpoint('funds', ANY))

// --- what people are told

/** A path on which clients ask, in its usual form. `{model}` in it stands for the name of a model. */
export interface PublishedPath {
  method: 'GET' | 'POST'
  path: string
  /** The path without its version. */
  behind: string
  endpoint: Endpoint
  streams: boolean
}

function publishedOf(form: Protocol, { path, action, suffix }: ClientPath): PublishedPath[] {
  if (action === 'upgrade') return []
  const row = protocolRow(form)
  const version = row.client.versions[0] as string
  const [, , verb] = NAMES_MODEL.exec(path) ?? []
  const target = POSTS.whole.get(version + path)?.endpoint
  const endpoint =
    target ?? (MODEL_POSTS.find(one => one.endpoint.form === form && one.verb === verb) as ModelPath).endpoint
  const streams = row.streamsByPath?.(verb ?? '', '?alt=sse') ?? suffix === ''
  return [{ method: 'POST', path: version + path, behind: path, endpoint, streams }]
}

const ownPath = (method: 'GET' | 'POST', path: string, endpoint: Endpoint): PublishedPath => ({
  method,
  path,
  behind: path,
  endpoint,
  streams: false,
})

/** Every path that is promised to clients. Other forms of them (without their version, twice) are answered too, and not advertised. */
export const PUBLISHED: readonly PublishedPath[] = [
  ...FORMS.flatMap(form => protocolRow(form).client.paths.flatMap(path => publishedOf(form, path))),
  ownPath('GET', '/v1/models', MODELS),
  ownPath('GET', '/v1/models/{model}', MODEL),
  ownPath('GET', '/v1beta/models', NATIVE_MODELS),
  ownPath('GET', '/v1beta/models/{model}', NATIVE_MODEL),
  ownPath('POST', '/v1/estimate', ESTIMATE.endpoint),
  ...[...FUNDS].map(([path, { endpoint }]) => ownPath('GET', `/v1${path}`, endpoint)),
  ownPath('GET', '/api/usage/token', TOKEN.endpoint),
]

/** A proxy may send the whole address; what stands in it before the path, a password perhaps, is not for us. */
export function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const rest = /^https?:\/\/[^/?#]*(.*)$/is.exec(url)?.[1]
  return rest === undefined || rest.startsWith('/') ? (rest ?? url) : `/${rest}`
}

/** What a client of Google's is told that asks on a path of its newer API, whose conversations are kept by the provider. */
export const insteadOf = (path: string): string =>
  /^\/v1(?:alpha|beta)?\/interactions(?:\/|$)/.test(path) ? ', use /v1beta/models/MODEL:generateContent' : ''

// --- which one is meant

/** A key was sent, be it where the protocol does not read it. */
const hasKey = (x: Asked): boolean => ANY.some(place => (credentialOf(x, [place]) ?? '') !== '')

/** null = no such path, or not with this method. */
export function findTarget(x: Asked): Target | null {
  if (x.method === 'POST') return POSTS.whole.get(x.path) ?? postTarget(x)
  if (x.method === 'GET') return getTarget(x)
  return x.method === 'HEAD' && (x.path === '/' || x.path === '/api/hello') ? plainTarget(HELLO) : null
}

function postTarget(x: Asked): Target | null {
  const bare = POSTS.bare.get(x.path)
  if (bare !== undefined) return hasKey(x) ? bare : null
  for (const { pattern, endpoint, verb } of MODEL_POSTS) {
    const found = pattern.exec(x.path)
    if (found === null) continue
    return found[1] === '' && !hasKey(x) ? null : modelTarget(endpoint, found[2] as string, verb)
  }
  return null
}

function getTarget(x: Asked): Target | null {
  let { path } = x
  if (path === '/api/hello') return plainTarget(HELLO)
  if (path === '/api/usage/token' || path === '/api/usage/token/') return TOKEN
  const funds = FUNDS.get(path.startsWith('/v1/') ? path.slice(3) : path)
  if (funds !== undefined) return path.startsWith('/v1/') || hasKey(x) ? funds : null
  const upgrade = UPGRADES.whole.get(path) ?? (hasKey(x) ? UPGRADES.bare.get(path) : undefined)
  if (upgrade !== undefined) return x.req.headers.upgrade !== undefined ? upgrade : null
  if (MODEL_POSTS.some(({ pattern }) => pattern.test(path))) return null // it is posted to, and no model has that name
  if (path.startsWith('/v1/v1/models') && headerOf(x, 'alpha-version') !== undefined) path = path.slice(3)
  if (path === '/models' || path.startsWith('/models/')) {
    if (!hasKey(x)) return null
    path = `/v1${path}`
  }
  if (path === '/v1/models') return plainTarget(MODELS)
  if (path === '/v1beta/models') return plainTarget(NATIVE_MODELS)
  if (path.startsWith('/v1/models/')) return modelTarget(MODEL, path.slice('/v1/models/'.length), '')
  if (path.startsWith('/v1beta/models/')) return modelTarget(NATIVE_MODEL, path.slice('/v1beta/models/'.length), '')
  return null
}

function modelTarget(endpoint: Endpoint, rawModel: string, verb: string): Target | null {
  if (rawModel === '') return null
  try {
    return { endpoint, model: decodeURIComponent(rawModel), rawModel, verb }
  } catch {
    return null // a broken percent escape names nothing
  }
}
