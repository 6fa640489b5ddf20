/** The admin API: which call leads where. */
import type { Answer } from '../answer.ts'
import type { OpsDeps } from '../server.ts'
import { Accounts } from './accounts.ts'
import { readAudit } from './audit.ts'
import { Catalogue } from './catalogue.ts'
import { Keys } from './keys.ts'
import { Usage } from './usage.ts'

export type Body = Record<string, unknown> | undefined

/** `names`: what stands in the path where the route has a `*`, decoded. */
type Handler = (names: string[], query: URLSearchParams, body: Body) => Promise<Answer>
export type Call = (query: URLSearchParams, body: Body) => Promise<Answer>

interface Route {
  method: string
  steps: string[]
  handle: Handler
}

/** Calls that show money: what was charged up to now is in their answer. */
const READS_BOOKS = /\b(accounts|keys|usage|audit)\b/
const MUTATES = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

export class Admin {
  readonly #deps: OpsDeps
  readonly #routes: Route[]

  constructor(deps: OpsDeps) {
    const accounts = new Accounts(deps)
    const keys = new Keys(deps)
    const usage = new Usage(deps)
    const catalogue = new Catalogue(deps)
    this.#deps = deps
    this.#routes = [
      route('GET /admin/accounts', () => accounts.list()),
      route('POST /admin/accounts', (_, __, body) => accounts.create(body)),
      route('GET /admin/accounts/*', ([name]) => accounts.one(name!)),
      route('PATCH /admin/accounts/*', ([name], _, body) => accounts.change(name!, body)),
      route('POST /admin/accounts/*/topups', ([name], _, body) => accounts.topUp(name!, body)),
      route('GET /admin/keys', (_, query) => keys.list(query)),
      route('POST /admin/keys', (_, __, body) => keys.create(body)),
      route('PATCH /admin/keys/*', ([id], _, body) => keys.change(id!, body)),
      route('DELETE /admin/keys/*', ([id]) => keys.remove(id!)),
      ...(['groups', 'models', 'channels'] as const).flatMap(kind => [
        route(`GET /admin/${kind}`, () => catalogue.list(kind)),
        route(`GET /admin/${kind}/*`, ([name]) => catalogue.one(kind, name!)),
        route(`PUT /admin/${kind}/*`, ([name], _, body) => catalogue.put(kind, name!, body)),
        route(`DELETE /admin/${kind}/*`, ([name]) => catalogue.remove(kind, name!)),
      ]),
      route('GET /admin/usage', (_, query) => usage.page(query)),
      route('GET /admin/audit', () => readAudit(deps.store, deps.setAside())),
    ]
  }

  readonly #unfollowed = (error: unknown): void => {
    this.#deps.log.warn({ err: error }, 'the gateway does not follow the change yet')
  }

  /** null when there is no such call. */
  find(method: string, path: string): Call | null {
    const steps = decode(path)
    if (steps === null) return null
    const asked = method === 'HEAD' ? 'GET' : method
    for (const route of this.#routes) {
      if (route.method === asked && fits(route.steps, steps)) return this.#call(route, steps)
    }
    return null
  }

  /**
   * What was changed is in force in this gateway's processes before the answer goes out. Should they not follow at once,
   * they do so soon: it is written, and the answer says so.
   */
  #call(route: Route, steps: string[]): Call {
    const names = steps.filter((_, i) => route.steps[i] === '*')
    return async (query, body) => {
      if (READS_BOOKS.test(route.steps.join('/'))) await this.#deps.fleet.settled()
      const answer = await route.handle(names, query, body)
      if (MUTATES.has(route.method)) await this.#deps.fleet.changed().catch(this.#unfollowed)
      return answer
    }
  }
}

function route(call: string, handle: Handler): Route {
  const [method, path] = call.split(' ') as [string, string]
  return { method, steps: path.split('/'), handle }
}

const fits = (pattern: string[], steps: string[]): boolean =>
  pattern.length === steps.length && pattern.every((step, i) => (step === '*' ? steps[i] !== '' : step === steps[i]))

/** Names may hold anything, percent-encoded. */
function decode(path: string): string[] | null {
  try {
    return path.split('/').map(decodeURIComponent)
  } catch {
    return null
  }
}
