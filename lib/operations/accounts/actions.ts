/** Reads the log of actions: who changed what, when, and from where. Nothing changes it. */
import { z } from 'zod'
import type { ActionFilter, LoggedAction } from '../../store/store.ts'
import * as kind from '../../config/scalars.ts'
import type { OperationDeps } from '../deps.ts'
import { accountNamed, accountNames } from '../lookups.ts'
import { read, type Sent } from '../read.ts'

const MOST_LINES = 1_000
const LINES = 100

const OPERATION = /^[\w.]{1,64}$/

export const actionsQuery = z.strictObject({
  account: kind.name.optional(),
  /** The id of a user, as the console shows it. */
  user: kind.name.optional(),
  operation: kind
    .scalar('the name of an operation, like keys.change', {}, value =>
      typeof value === 'string' && OPERATION.test(value) ? value : undefined,
    )
    .optional(),
  limit: kind.whole(1, MOST_LINES).prefault(LINES),
  after: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
})

export class Actions {
  readonly #deps: Pick<OperationDeps, 'store'>

  constructor(deps: Pick<OperationDeps, 'store'>) {
    this.#deps = deps
  }

  /** One page, newest first. `next` is the `after` of the following page; null on the last page. */
  async list(filter: Sent) {
    const { store } = this.#deps
    const { account, user, operation, limit, after } = read(actionsQuery, filter)
    const wanted: ActionFilter = {
      ...(account === undefined ? {} : { accountId: (await accountNamed(store, account)).id }),
      ...(user === undefined ? {} : { userId: (await store.people.byPublicId(user))?.id ?? NOBODY }),
      ...(operation === undefined ? {} : { operation }),
      ...(after === undefined ? {} : { beforeSeq: after }),
      limit,
    }
    const lines = await store.actions(wanted)
    const names = await accountNames(
      store,
      lines.flatMap(({ accountId }) => accountId ?? []),
    )
    const users = await this.#publicIds(lines)
    return {
      data: lines.map(line => showAction(line, names, users)),
      next: lines.length === limit ? String(lines.at(-1)!.seq) : null,
    }
  }

  /** The ids of the users who acted; a deleted user has none any more. */
  async #publicIds(lines: readonly LoggedAction[]): Promise<Map<number, string>> {
    const { people } = this.#deps.store
    const ids = [...new Set(lines.flatMap(({ actor }) => actor.userId ?? []))]
    const found = await Promise.all(ids.map(id => people.byId(id)))
    return new Map(found.flatMap(person => (person === null ? [] : [[person.id, person.publicId] as const])))
  }
}

/** No user has this number. */
const NOBODY = -1

const showAction = (
  { seq, atMs, actor, operation, accountId, subject, before, after }: LoggedAction,
  names: ReadonlyMap<number, string>,
  users: ReadonlyMap<number, string>,
) => ({
  seq,
  at: new Date(atMs).toISOString(),
  actor: {
    kind: actor.kind,
    name: actor.name,
    user: actor.userId === null ? null : (users.get(actor.userId) ?? null),
    ip: actor.ip,
  },
  operation,
  account: accountId === null ? null : (names.get(accountId) ?? null),
  subject,
  before,
  after,
})
