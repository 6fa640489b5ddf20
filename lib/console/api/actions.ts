/** The calls behind the pages that show the log of actions. */
import { z } from 'zod'
import { operation } from '../../api/operation.ts'
import { ACTOR_KINDS, Actions, accountActionsQuery, allActionsQuery } from '../../operations/accounts/actions.ts'
import { SUBJECT_KINDS } from '../../store/base/actions.ts'
import type { ConsoleDeps } from './shared.ts'
import { MAY } from '../../../web/shared/roles.ts'

const fields = z.record(z.string(), z.unknown()).nullable()

const action = z
  .strictObject({
    id: z.string(),
    at: z.iso.datetime(),
    by: z
      .strictObject({
        kind: z.enum(ACTOR_KINDS),
        id: z.string().nullable(),
        name: z.string().nullable(),
        ip: z.string().nullable(),
      })
      .meta({ description: 'For owners, whoever is no member of the account is `operators`, without a name.' }),
    operation: z.string(),
    account: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
    subject: z.strictObject({ kind: z.enum(SUBJECT_KINDS), id: z.string(), name: z.string().nullable() }),
    before: fields.meta({ description: 'The fields that changed; null: it was made.' }),
    after: fields.meta({ description: 'The fields that changed; null: it was deleted.' }),
  })
  .meta({ id: 'Action' })

const page = z.strictObject({ data: z.array(action), next: z.string().nullable() }).meta({ id: 'ActionPage' })

export const ACTIONS = [
  operation({
    id: 'actions.list',
    call: 'GET /accounts/{account}/actions',
    summary: 'Who changed what in the account, when and from where; newest first.',
    who: MAY.readActions,
    scope: 'read',
    query: accountActionsQuery,
    answer: { status: 200, body: page },
    run: (deps: ConsoleDeps, { account, query }) => new Actions(deps).shown(account, query),
  }),
  operation({
    id: 'actions.all',
    call: 'GET /actions',
    summary: 'Who changed what anywhere in the gateway, when and from where; newest first.',
    who: 'operator',
    scope: 'operator',
    query: allActionsQuery,
    answer: { status: 200, body: page },
    run: (deps: ConsoleDeps, { query }) => new Actions(deps).shown(null, query),
  }),
]
