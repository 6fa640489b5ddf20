/**
 * Which request is which: every path that the gateway answers, and the tolerance for prefixes that people get wrong. The
 * protocols name their own paths; what is left are model lists, pages about a key's money and a greeting. Nothing else in the code looks at a path.
 */
import type { Placement } from '../protocols/protocol.ts'
import type { Action, Endpoint, Target } from '../terms/target.ts'
import { MODEL_POSTS, POSTS, plainTarget, UPGRADES } from './path-table.ts'

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

/** Every placement that any protocol reads. */
export const ANY = ['x-api-key', 'bearer', 'gamma', 'query'] as const

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

/** Where a key asks for its own money. Without their version they are answered for clients that sent a key. */
const FUNDS = new Map<string, Target>([
  ['/dashboard/billing/subscription', plainTarget(ownEndpoint('funds-limit', ANY))],
  ['/dashboard/billing/usage', plainTarget(ownEndpoint('funds-used', ANY))],
])
const TOKEN = plainTarget(ownEndpoint('funds', ANY))

/** A proxy may send the whole address; what stands in it before the path, a password perhaps, is not for us. */
export function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const rest = /^https?:\/\/[^/?#]*(.*)$/is.exec(url)?.[1]
  return rest === undefined || rest.startsWith('/') ? (rest ?? url) : `/${rest}`
}

/** null = no such path, or not with this method. */
export function findTarget(q: PathQuestion): Target | null {
  if (q.method === 'POST') return POSTS.whole.get(q.path) ?? postTarget(q)
  if (q.method === 'GET') return getTarget(q)
  return q.method === 'HEAD' && q.path === '/' ? plainTarget(HELLO) : null
}

function postTarget(q: PathQuestion): Target | null {
  const bare = POSTS.bare.get(q.path)
  if (bare !== undefined) return q.hasKey() ? bare : null
  for (const { pattern, endpoint, verb } of MODEL_POSTS) {
    const found = pattern.exec(q.path)
    if (found === null) continue
    return found[1] === '' && !q.hasKey() ? null : modelTarget(endpoint, found[2] as string, verb)
  }
  return null
}

function getTarget(q: PathQuestion): Target | null {
  let { path } = q
  if (path === '/api/hello') return plainTarget(HELLO)
  if (path === '/api/usage/token' || path === '/api/usage/token/') return TOKEN
  const funds = FUNDS.get(path.startsWith('/v1/') ? path.slice(3) : path)
  if (funds !== undefined) return path.startsWith('/v1/') || q.hasKey() ? funds : null
  const upgrade = UPGRADES.whole.get(path) ?? (q.hasKey() ? UPGRADES.bare.get(path) : undefined)
  if (upgrade !== undefined) return q.upgrade ? upgrade : null
  if (MODEL_POSTS.some(({ pattern }) => pattern.test(path))) return null // it is posted to, and no model has that name
  if (path.startsWith('/v1/v1/models') && q.hasVersion()) path = path.slice(3)
  if (path === '/models' || path.startsWith('/models/')) {
    if (!q.hasKey()) return null
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
