/**
 * The admin API as a table of routes: which method and path leads to which operation, and with which status its result
 * is answered. Rules stand in lib/operations; HTTP itself in `server.ts`.
 */
import { Accounts } from '../operations/accounts.ts'
import { Actions } from '../operations/actions.ts'
import { readAudit } from '../operations/audit.ts'
import { Catalogue } from '../operations/catalogue.ts'
import type { OperationDeps } from '../operations/deps.ts'
import { Entries } from '../operations/entries.ts'
import { Keys } from '../operations/keys.ts'
import { byActor, type UserDeps } from '../operations/people/deps.ts'
import { listInvitations, revokeInvitation } from '../operations/people/invitations.ts'
import { makeReset } from '../operations/people/resets.ts'
import * as users from '../operations/people/users.ts'
import { Prices } from '../operations/prices.ts'
import { read } from '../operations/read.ts'
import { readStatement } from '../operations/statement.ts'
import { statementCsv, statementHtml } from '../operations/statement-text.ts'
import { Usage } from '../operations/usage.ts'
import { EXPORT_TYPES } from '../operations/usage-export.ts'
import type { Actor } from '../terms/people.ts'
import { type Answer, created, gone, NO_CONTENT, ok, streamed, TextFile } from './answer.ts'

/** What operations need, those on users among them. */
export type AdminDeps = OperationDeps & UserDeps

type Body = Record<string, unknown> | undefined

/** `names`: the decoded parts of the path that stand where the route has a `*`. */
type Handler = (names: string[], query: URLSearchParams, body: Body, actor: Actor) => Promise<Answer>
export type Call = (query: URLSearchParams, body: Body, actor: Actor) => Promise<Answer>

interface Route {
  method: string
  steps: string[]
  handle: Handler
}

export class Admin {
  readonly #routes: Route[]

  constructor(deps: AdminDeps) {
    const accounts = new Accounts(deps)
    const entries = new Entries(deps)
    const keys = new Keys(deps)
    const usage = new Usage(deps)
    const catalogue = new Catalogue(deps)
    const prices = new Prices(deps)
    const actions = new Actions(deps)
    this.#routes = [
      route('GET /admin/accounts', async (_, query) => ok(await accounts.list(parameters(query)))),
      route('POST /admin/accounts', async (_, __, body, actor) => created(await accounts.create(body, actor))),
      route('GET /admin/accounts/*', async ([name]) => ok(await accounts.one(name!))),
      route('PATCH /admin/accounts/*', async ([name], _, body, actor) => ok(await accounts.change(name!, body, actor))),
      route('POST /admin/accounts/*/topups', async ([name], _, body, actor) =>
        once(await entries.topUp(name!, body, actor)),
      ),
      route('POST /admin/accounts/*/adjustments', async ([name], _, body, actor) =>
        once(await entries.adjust(name!, body, actor)),
      ),
      route('GET /admin/accounts/*/entries', async ([name], query) => ok(await entries.page(name!, parameters(query)))),
      route('GET /admin/accounts/*/statement', async ([name], query) =>
        statementAnswer(await readStatement(deps, name!, parameters(query))),
      ),
      route('GET /admin/keys', async (_, query) => ok(await keys.list(parameters(query)))),
      route('POST /admin/keys', async (_, __, body, actor) => created(await keys.create(body, actor))),
      route('PATCH /admin/keys/*', async ([id], _, body, actor) => ok(await keys.change(id!, body, actor))),
      route('POST /admin/keys/*/roll', async ([id], _, body, actor) => created(await keys.roll(id!, body, actor))),
      route('DELETE /admin/keys/*', async ([id], _, __, actor) => {
        await keys.remove(id!, actor)
        return NO_CONTENT
      }),
      ...(['groups', 'models', 'channels'] as const).flatMap(kind => [
        route(`GET /admin/${kind}`, async () => ok({ data: await catalogue.list(kind) })),
        route(`GET /admin/${kind}/*`, async ([name]) => ok(await catalogue.one(kind, name!))),
        route(`PUT /admin/${kind}/*`, async ([name], _, body, actor) =>
          ok(await catalogue.put(kind, name!, body, actor)),
        ),
        route(`DELETE /admin/${kind}/*`, async ([name], _, __, actor) => {
          await catalogue.remove(kind, name!, actor)
          return NO_CONTENT
        }),
      ]),
      route('GET /admin/models/*/prices', async ([name], query) => ok(await prices.history(name!, parameters(query)))),
      route('GET /admin/groups/*/multipliers', async ([name], query) =>
        ok(await prices.multipliers(name!, parameters(query))),
      ),
      route('GET /admin/prices', async (_, query) => ok(await prices.at(parameters(query)))),
      route('GET /admin/usage', async (_, query) => ok(await usage.page(parameters(query)))),
      route('GET /admin/usage/summary', async (_, query) => ok(await usage.summary(parameters(query)))),
      ...(['csv', 'jsonl'] as const).map(format =>
        route(`GET /admin/usage.${format}`, async (_, query) =>
          streamed(EXPORT_TYPES[format], await usage.export(format, parameters(query))),
        ),
      ),
      route('GET /admin/requests/*', async ([id]) => {
        const found = await usage.request(id!)
        return 'row' in found ? ok(found.row) : gone(found)
      }),
      route('GET /admin/actions', async (_, query) => ok(await actions.list(parameters(query)))),
      route('GET /admin/users', async (_, query) =>
        ok(await users.listUsers(deps, read(users.usersFilter, parameters(query)))),
      ),
      route('GET /admin/users/*', async ([id]) => ok(await users.showUser(deps, await users.userNamed(deps, id!)))),
      route('PATCH /admin/users/*', async ([id], _, body, actor) => {
        const { status } = read(users.statusForm, body)
        return ok(await users.setStatus(deps, byActor(actor), await users.userNamed(deps, id!), status))
      }),
      route('DELETE /admin/users/*/sessions', async ([id], _, __, actor) =>
        ok(await users.endUserSessions(deps, byActor(actor), await users.userNamed(deps, id!))),
      ),
      route('POST /admin/users/*/reset', async ([id], _, __, actor) =>
        created(await makeReset(deps, byActor(actor), await users.userNamed(deps, id!))),
      ),
      route('DELETE /admin/users/*/second-factor', async ([id], _, __, actor) => {
        await users.resetFactor(deps, byActor(actor), await users.userNamed(deps, id!))
        return NO_CONTENT
      }),
      route('GET /admin/invitations', async () => ok(await listInvitations(deps, null))),
      route('POST /admin/invitations', async (_, __, body, actor) =>
        created(await users.inviteUser(deps, byActor(actor), read(users.inviteForm, body))),
      ),
      route('DELETE /admin/invitations/*', async ([id], _, __, actor) => {
        await revokeInvitation(deps, byActor(actor), null, id!)
        return NO_CONTENT
      }),
      route('GET /admin/audit', async () => ok((await readAudit(deps)).row)),
    ]
  }

  /** The call that a request means; null when there is none. */
  find(method: string, path: string): Call | null {
    const steps = decode(path)
    if (steps === null) return null
    const asked = method === 'HEAD' ? 'GET' : method
    const found = this.#routes.find(route => route.method === asked && fits(route.steps, steps))
    if (found === undefined) return null
    const names = steps.filter((_, i) => found.steps[i] === '*')
    return (query, body, actor) => found.handle(names, query, body, actor)
  }
}

function route(call: string, handle: Handler): Route {
  const [method, path] = call.split(' ') as [string, string]
  return { method, steps: path.split('/'), handle }
}

/** 201 for what was made by this call, 200 for what an earlier one made. */
const once = (done: { created: boolean; row: object }): Answer => (done.created ? created(done.row) : ok(done.row))

function statementAnswer({ statement, format }: Awaited<ReturnType<typeof readStatement>>): Answer {
  if (format === 'csv') return ok(new TextFile(statementCsv(statement), 'text/csv; charset=utf-8'))
  if (format === 'html') return ok(new TextFile(statementHtml(statement), 'text/html; charset=utf-8'))
  return ok(statement)
}

const fits = (pattern: string[], steps: string[]): boolean =>
  pattern.length === steps.length && pattern.every((step, i) => (step === '*' ? steps[i] !== '' : step === steps[i]))

/** The steps of a path, decoded one by one, because a name may contain a slash. null when the encoding is broken. */
function decode(path: string): string[] | null {
  try {
    return path.split('/').map(decodeURIComponent)
  } catch {
    return null
  }
}

/** The query as an object. Empty parameters are dropped, so that `?account=&model=x` filters by the model only. */
const parameters = (query: URLSearchParams): Record<string, string> =>
  Object.fromEntries([...query].filter(([, value]) => value !== ''))
