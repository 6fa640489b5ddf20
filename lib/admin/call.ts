/**
 * How the rows of the admin API are written: a call is a row of `lib/api` that leads to an operation of `AdminParts`. All
 * of them are for whoever has the admin token, and name rows of the store by their names.
 */
import { z } from 'zod'
import type { Caller, Operation } from '../api/operation.ts'
import { Accounts } from '../operations/accounts/accounts.ts'
import { Actions } from '../operations/accounts/actions.ts'
import { Catalogue, type CatalogueDeps } from '../operations/catalogue/catalogue.ts'
import type { OperationDeps } from '../operations/deps.ts'
import { Disputes } from '../operations/billing/disputes.ts'
import { Entries } from '../operations/billing/entries.ts'
import { Keys } from '../operations/accounts/keys.ts'
import type { UserDeps } from '../operations/people/deps.ts'
import { Prices } from '../operations/catalogue/prices.ts'
import type { Sent } from '../operations/read.ts'
import { Requests } from '../operations/usage/requests.ts'
import type { PaymentsAdminDeps } from '../pay/admin.ts'

/** The dependencies of operations, of those on users and on payments, too. */
type AdminDeps = OperationDeps & UserDeps & PaymentsAdminDeps & CatalogueDeps

/** The operations, made once, because some keep what they have looked up. */
export const adminParts = (deps: AdminDeps) => ({
  deps,
  accounts: new Accounts(deps),
  entries: new Entries(deps),
  disputes: new Disputes(deps),
  keys: new Keys(deps),
  requests: new Requests(deps),
  catalogue: new Catalogue(deps),
  prices: new Prices(deps),
  actions: new Actions(deps),
})

export type AdminParts = ReturnType<typeof adminParts>

interface AdminCall<Q, B> {
  caller: Caller
  /** The parts of the path, decoded. */
  path: Record<'name' | 'id', string>
  query: Q
  body: B
}

/** A row without what all rows have in common; its status is 200, and 204 where the answer has no body. */
interface AdminRow<Q, B, SentQ = Q, SentB = B>
  extends Pick<Operation, 'id' | 'call' | 'summary' | 'refuses' | 'mostBodyMib'> {
  query?: z.ZodType<Q>
  body?: z.ZodType<B>
  answer: z.ZodType | null | (Partial<Operation['answer']> & Pick<Operation['answer'], 'body'>)
  run(parts: AdminParts, call: AdminCall<SentQ, SentB>): Promise<object | null> | Promise<void>
}

/** Writes a row whose forms are read before it runs. */
export const adminCall = <Q, B>(row: AdminRow<Q, B>): Operation<AdminParts> => whole(row)

/** Writes a row whose operation reads what was sent itself. */
export const readingCall = <Q, B>(row: AdminRow<Q, B, Sent, Sent>): Operation<AdminParts> => ({
  ...whole(row),
  reads: 'itself',
})

function whole<Q, B, SQ, SB>({ answer, ...row }: AdminRow<Q, B, SQ, SB>): Operation<AdminParts> {
  const told = answer === null || answer instanceof z.ZodType ? { body: answer } : answer
  const all = {
    ...row,
    at: 'root',
    who: 'operator',
    effect: row.call.startsWith('GET ') ? 'read' : 'write',
    scope: null,
    answer: { status: answer === null ? 204 : 200, ...told },
  }
  return all as unknown as Operation<AdminParts>
}

/** Rows that the console has, too, at the paths that `calls` names where they are others. */
export const ofConsole = (
  rows: readonly Operation<UserDeps & PaymentsAdminDeps>[],
  calls: Record<string, Operation['call']>,
): Operation<AdminParts>[] =>
  rows.map(row => ({
    ...row,
    call: calls[row.id] ?? row.call,
    at: 'root',
    scope: null,
    run: ({ deps }, call) => row.run(deps, call),
  }))

export const made = (body: z.ZodType): Operation['answer'] => ({ status: 201, body })
export const list = (row: z.ZodType) => z.strictObject({ data: z.array(row) })
export const page = (row: z.ZodType) => z.strictObject({ data: z.array(row), next: z.string().nullable() })
