/**
 * The admin API as a table of routes: which method and path leads to which operation, and with which status its result
 * is answered. Rules stand in lib/operations; HTTP itself in `server.ts`.
 */
import { Routes } from '../api/routes.ts'
import { Accounts } from '../operations/accounts/accounts.ts'
import { Actions } from '../operations/accounts/actions.ts'
import { readAudit } from '../operations/billing/audit.ts'
import { Catalogue } from '../operations/catalogue/catalogue.ts'
import type { OperationDeps } from '../operations/deps.ts'
import { Disputes } from '../operations/billing/disputes.ts'
import { Entries } from '../operations/billing/entries.ts'
import { Keys } from '../operations/accounts/keys.ts'
import { byActor, type UserDeps } from '../operations/people/deps.ts'
import { listInvitations, revokeInvitation } from '../operations/people/invitations.ts'
import { makeReset } from '../operations/people/resets.ts'
import * as users from '../operations/people/users.ts'
import { Prices } from '../operations/catalogue/prices.ts'
import { read } from '../operations/read.ts'
import { statementCsv, statementHtml, Statements } from '../operations/billing/statement.ts'
import type { PaymentsAdminDeps } from '../pay/admin.ts'
import { report } from '../operations/usage/reports.ts'
import { Usage } from '../operations/usage/usage.ts'
import { EXPORT_TYPES } from '../operations/usage/usage-export.ts'
import type { Actor } from '../base/people.ts'
import { type Answer, created, gone, NO_CONTENT, ok, streamed, TextFile } from './answer.ts'
import { payRoutes } from './pay-routes.ts'
import { type Body, type Handler, once, parameters, type Route, route } from './route.ts'

/** What operations need, those on users and on payments among them. */
export type AdminDeps = OperationDeps & UserDeps & PaymentsAdminDeps

export type Call = (query: URLSearchParams, body: Body, actor: Actor) => Promise<Answer>
export class Admin {
  readonly #routes = new Routes<Handler>()

  constructor(deps: AdminDeps) {
    const accounts = new Accounts(deps)
    const entries = new Entries(deps)
    const disputes = new Disputes(deps)
    const keys = new Keys(deps)
    const usage = new Usage(deps)
    const catalogue = new Catalogue(deps)
    const prices = new Prices(deps)
    const actions = new Actions(deps)
    const routes: Route[] = [
      route('GET /admin/accounts', async (_, query) => ok(await accounts.list(parameters(query)))),
      route('POST /admin/accounts', async (_, __, body, actor) => created(await accounts.create(body, actor))),
      route('GET /admin/accounts/{name}', async ({ name }) => ok(await accounts.one(name!))),
      route('PATCH /admin/accounts/{name}', async ({ name }, _, body, actor) =>
        ok(await accounts.change(name!, body, actor)),
      ),
      route('POST /admin/accounts/{name}/topups', async ({ name }, _, body, actor) =>
        once(await entries.topUp(name!, body, actor)),
      ),
      route('POST /admin/accounts/{name}/adjustments', async ({ name }, _, body, actor) =>
        once(await entries.adjust(name!, body, actor)),
      ),
      route('GET /admin/accounts/{name}/entries', async ({ name }, query) =>
        ok(await entries.page(name!, parameters(query))),
      ),
      route('GET /admin/accounts/{name}/statement', async ({ name }, query) =>
        statementAnswer(await new Statements(deps).read(name!, parameters(query))),
      ),
      route('GET /admin/keys', async (_, query) => ok(await keys.list(parameters(query)))),
      route('POST /admin/keys', async (_, __, body, actor) => created(await keys.create(body, actor))),
      route('PATCH /admin/keys/{id}', async ({ id }, _, body, actor) => ok(await keys.change(id!, body, actor))),
      route('POST /admin/keys/{id}/roll', async ({ id }, _, body, actor) => created(await keys.roll(id!, body, actor))),
      route('DELETE /admin/keys/{id}', async ({ id }, _, __, actor) => {
        await keys.remove(id!, actor)
        return NO_CONTENT
      }),
      ...(['groups', 'models', 'channels'] as const).flatMap(kind => [
        route(`GET /admin/${kind}`, async () => ok({ data: await catalogue.list(kind) })),
        route(`GET /admin/${kind}/{name}`, async ({ name }) => ok(await catalogue.one(kind, name!))),
        route(`PUT /admin/${kind}/{name}`, async ({ name }, _, body, actor) =>
          ok(await catalogue.put(kind, name!, body, actor)),
        ),
        route(`DELETE /admin/${kind}/{name}`, async ({ name }, _, __, actor) => {
          await catalogue.remove(kind, name!, actor)
          return NO_CONTENT
        }),
      ]),
      route('GET /admin/models/{name}/prices', async ({ name }, query) =>
        ok(await prices.history(name!, parameters(query))),
      ),
      route('GET /admin/groups/{name}/multipliers', async ({ name }, query) =>
        ok(await prices.multipliers(name!, parameters(query))),
      ),
      route('GET /admin/prices', async (_, query) => ok(await prices.at(parameters(query)))),
      route('GET /admin/usage', async (_, query) => ok(await report(deps, 'log', parameters(query)))),
      route('GET /admin/usage/summary', async (_, query) => ok(await report(deps, 'totals', parameters(query)))),
      ...(['csv', 'jsonl'] as const).map(format =>
        route(`GET /admin/usage.${format}`, async (_, query) =>
          streamed(EXPORT_TYPES[format], await usage.export(format, parameters(query))),
        ),
      ),
      route('GET /admin/requests/{id}', async ({ id }) => {
        const found = await usage.request(id!)
        return 'row' in found ? ok(found.row) : gone(found)
      }),
      route('POST /admin/requests/{id}/dispute', async ({ id }, _, body, actor) =>
        once(await disputes.decide(id!, body, actor)),
      ),
      route('GET /admin/actions', async (_, query) => ok(await actions.list(parameters(query)))),
      route('GET /admin/users', async (_, query) =>
        ok(await users.listUsers(deps, read(users.usersFilter, parameters(query)))),
      ),
      route('GET /admin/users/{id}', async ({ id }) =>
        ok(await users.showUser(deps, await users.userNamed(deps, id!))),
      ),
      route('PATCH /admin/users/{id}', async ({ id }, _, body, actor) => {
        const { status } = read(users.statusForm, body)
        return ok(await users.setStatus(deps, byActor(actor), await users.userNamed(deps, id!), status))
      }),
      route('DELETE /admin/users/{id}/sessions', async ({ id }, _, __, actor) =>
        ok(await users.endUserSessions(deps, byActor(actor), await users.userNamed(deps, id!))),
      ),
      route('POST /admin/users/{id}/reset', async ({ id }, _, __, actor) =>
        created(await makeReset(deps, byActor(actor), await users.userNamed(deps, id!))),
      ),
      route('DELETE /admin/users/{id}/second-factor', async ({ id }, _, __, actor) => {
        await users.resetFactor(deps, byActor(actor), await users.userNamed(deps, id!))
        return NO_CONTENT
      }),
      route('GET /admin/invitations', async () => ok(await listInvitations(deps, null))),
      route('POST /admin/invitations', async (_, __, body, actor) =>
        created(await users.inviteUser(deps, byActor(actor), read(users.inviteForm, body))),
      ),
      route('DELETE /admin/invitations/{id}', async ({ id }, _, __, actor) => {
        await revokeInvitation(deps, byActor(actor), null, id!)
        return NO_CONTENT
      }),
      ...payRoutes(deps),
      route('GET /admin/audit', async () => ok((await readAudit(deps)).row)),
    ]
    for (const [call, handle] of routes) this.#routes.add(call, handle)
  }

  /** The call that a request means; null when there is none. */
  find(method: string, path: string): Call | null {
    const found = this.#routes.find(method, path)
    if (found === null || Array.isArray(found)) return null
    const { row: handle, names } = found
    return (query, body, actor) => handle(names, query, body, actor)
  }
}

function statementAnswer({ statement, format }: Awaited<ReturnType<Statements['read']>>): Answer {
  if (format === 'csv') return ok(new TextFile(statementCsv(statement), 'text/csv; charset=utf-8'))
  if (format === 'html') return ok(new TextFile(statementHtml(statement), 'text/html; charset=utf-8'))
  return ok(statement)
}
