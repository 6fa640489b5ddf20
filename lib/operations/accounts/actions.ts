/**
 * The log of actions: who changed what, when, and from where. Nothing changes it. Owners and viewers read the lines of their account,
 * operators all of them. Who stands outside the account is shown to its owners as the gateway's operators, without a name
 * and an address.
 */
import { withoutUndefined } from '../../base/objects.ts'
import { iso } from '../../base/clock.ts'
import { z } from 'zod'
import type { Person } from '../../base/people.ts'
import * as kind from '../../config/scalars.ts'
import type { Store } from '../../store/store.ts'
import type { ActionFilter, LoggedAction } from '../../store/base/actions.ts'
import type { Account } from '../../terms/records.ts'
import type { OperationDeps } from '../deps.ts'
import { publicIdField } from '../fields.ts'
import { accountNamed, namesOfAccounts } from '../lookups.ts'
import { read, type Sent } from '../read.ts'

const operationName = kind.scalar(
  { zh: '操作的名称，例如 keys.change', en: 'the name of an operation, like keys.change' },
  { type: 'string', pattern: '^[\\w.]{1,64}$' },
  value => (typeof value === 'string' && /^[\w.]{1,64}$/.test(value) ? value : undefined),
)

const fieldsOf = (lines: number, mostLines: number) => ({
  operation: operationName.optional(),
  limit: kind.whole(1, mostLines).prefault(lines),
  after: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
})

/** The query of the admin API, where accounts go by their names. `user`: the id of a user, as the console shows it. */
export const actionsQuery = z.strictObject({
  account: kind.name.optional(),
  user: kind.name.optional(),
  ...fieldsOf(100, 1_000),
})
export const accountActionsQuery = z.strictObject({ user: publicIdField.optional(), ...fieldsOf(50, 200) })
export const allActionsQuery = accountActionsQuery.extend({ account: publicIdField.optional() })
type AllActionsQuery = z.output<typeof allActionsQuery>

export const ACTOR_KINDS = ['user', 'operators', 'token', 'cli', 'file', 'gateway'] as const

/** No row has this number. */
const NOBODY = -1

export class Actions {
  readonly #store: Store

  constructor({ store }: Pick<OperationDeps, 'store'>) {
    this.#store = store
  }

  /** For the admin API: one page, newest first. `next` is the `after` of the following page; null on the last page. */
  async list(filter: Sent) {
    const { account, ...query } = read(actionsQuery, filter)
    const within = account === undefined ? undefined : (await accountNamed(this.#store, account)).id
    const { lines, next } = await this.#page(query, within)
    const accountIds = lines.flatMap(({ accountId }) => accountId ?? [])
    const names = new Names(this.#store, null)
    const accounts = await namesOfAccounts(this.#store, accountIds)
    const data = await Promise.all(
      lines.map(async ({ seq, atMs, actor, operation, accountId, subject, before, after }) => ({
        seq,
        at: iso(atMs),
        actor: { kind: actor.kind, name: actor.name, user: await names.userId(actor.userId), ip: actor.ip },
        operation,
        account: accountId === null ? null : (accounts.get(accountId) ?? null),
        subject,
        before,
        after,
      })),
    )
    return { data, next }
  }

  /** `account`: the one whose members read; null = operators do, and see everything. */
  async shown(account: Account | null, query: AllActionsQuery) {
    const asked = query.account === undefined ? null : await this.#store.accounts.byPublicId(query.account)
    const within = account ?? asked
    const isWithin = within !== null || query.account !== undefined
    const { lines, next } = await this.#page(query, isWithin ? (within?.id ?? NOBODY) : undefined)
    const names = new Names(this.#store, account)
    const data = []
    for (const line of lines) data.push(await shownAction(line, names))
    return { data, next }
  }

  async #page({ user, operation, after, limit }: Omit<AllActionsQuery, 'account'>, accountId: number | undefined) {
    const filter: ActionFilter = {
      ...withoutUndefined({ accountId, operation, beforeSeq: after }),
      ...(user === undefined ? {} : { userId: (await this.#store.people.users.byPublicId(user))?.id ?? NOBODY }),
      limit,
    }
    const lines = await this.#store.actions.page(filter)
    return { lines, next: lines.length === limit ? String(lines.at(-1)!.seq) : null }
  }
}

async function shownAction(line: LoggedAction, names: Names) {
  const { seq, atMs, operation, accountId, before, after } = line
  return {
    id: String(seq),
    at: iso(atMs),
    by: await names.actor(line),
    operation,
    account: await names.account(accountId),
    subject: { ...names.outward(line), name: await names.subject(line) },
    before: await names.fields(line, before),
    after: await names.fields(line, after),
  }
}

/** Looks up what a page of lines names, each once. */
class Names {
  readonly #store: Store
  readonly #reader: Account | null
  readonly #known = new Map<string, Promise<unknown>>()

  constructor(store: Store, reader: Account | null) {
    this.#store = store
    this.#reader = reader
  }

  #once<T>(key: string, find: () => Promise<T>): Promise<T> {
    const found = (this.#known.get(key) as Promise<T> | undefined) ?? find()
    this.#known.set(key, found)
    return found
  }

  #person(id: number): Promise<Person | null> {
    return this.#once(`person ${id}`, () => this.#store.people.users.byId(id))
  }

  /** The outward id of a user; a deleted user has none any more. */
  async userId(id: number | null): Promise<string | null> {
    return id === null ? null : ((await this.#person(id))?.publicId ?? null)
  }

  async actor({ actor: { kind, userId, ip } }: LoggedAction) {
    const person = userId === null ? null : await this.#person(userId)
    if (this.#reader !== null && (await this.#isOutside(kind, person)))
      return {
        kind: kind === 'gateway' ? ('gateway' as const) : ('operators' as const),
        id: null,
        name: null,
        ip: null,
      }
    return { kind, id: person?.publicId ?? null, name: person?.name ?? null, ip }
  }

  /** People who have left, or who are no longer known, were members: they are shown as they were. */
  async #isOutside(kind: LoggedAction['actor']['kind'], person: Person | null): Promise<boolean> {
    if (kind !== 'user') return true
    if (person === null || !person.operator) return false
    const role = this.#once(`role ${person.id}`, () => this.#store.people.members.role(person.id, this.#reader!.id))
    return (await role) === null
  }

  account(id: number | null) {
    if (id === null) return null
    return this.#once(`account ${id}`, async () => {
      const found = await this.#store.accounts.byId(id)
      return found === null ? null : { id: found.publicId, name: found.name }
    })
  }

  subject({ subject: { kind, id }, before, after }: LoggedAction): Promise<string | null> {
    const written = [after, before].map(row => row?.['name']).find(name => typeof name === 'string')
    return this.#once(`${kind} ${id}`, async () => {
      if (kind === 'key') return (await this.#store.keys.byPublicId(id))?.name ?? written ?? null
      if (kind === 'user' || kind === 'member') return (await this.#store.people.users.byPublicId(id))?.name ?? null
      return written ?? null
    })
  }

  /** How many entries and quotes the gateway has made is told to nobody outside: an entry goes by its reference there. */
  outward({ subject, after }: LoggedAction) {
    const { kind, id } = subject
    if (this.#reader === null) return subject
    if (kind === 'entry') return { kind, id: String(after?.['reference'] ?? '') }
    return kind === 'deposit' ? { kind, id: id.replace(/^quote:.*/, 'quote') } : subject
  }

  /** A key says who made it by the number of a row, which nobody outside knows, and so does an address of USDT. */
  async fields({ subject }: LoggedAction, row: Record<string, unknown> | null) {
    if (subject.kind === 'deposit' && this.#reader !== null && row !== null) {
      const { number: _, ...told } = row
      return told
    }
    const maker = row?.['created_by']
    if (subject.kind !== 'key' || typeof maker !== 'number') return row
    return { ...row, created_by: (await this.#person(maker))?.name ?? null }
  }
}
