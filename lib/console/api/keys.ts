/** The calls behind the page Keys. Members see and manage the keys that they made; billing sees no keys. */
import { z } from 'zod'
import { type Call, type Operation, operation } from '../../api/operation.ts'
import { EVERY } from '../../base/periods.ts'
import {
  KEY_STATES,
  keyForm,
  keyInPath,
  newKeyForm,
  OwnKeys,
  rollForm,
  severalForm,
  type Keeper,
} from '../../operations/accounts/own-keys.ts'
import { keysFileQuery, ownKeysQuery } from '../../operations/accounts/key-list.ts'
import { CSV_TYPE } from '../../operations/csv.ts'
import { bothWords, moneyText, wholeCount } from '../../operations/fields.ts'
import { reportFile, reportJson } from '../../operations/usage/reports.ts'
import { testForm, testKey } from '../../operations/usage/requests.ts'
import type { ConsoleDeps } from './shared.ts'
import { MAY, seesOwnOnly } from '../../../web/shared/roles.ts'

/** An operator who looks at an account without being in it has no role there, and sees what its owner sees. */
const keeperOf = ({ account, caller }: Pick<Call, 'account' | 'caller'>): Keeper => ({
  account,
  madeBy: seesOwnOnly(caller.role) ? (caller.user?.id ?? -1) : null,
})
const keysOf = (deps: ConsoleDeps, call: Pick<Call, 'account' | 'caller'>): OwnKeys => new OwnKeys(deps, keeperOf(call))

const time = z.iso.datetime()
const keyRecord = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    hint: z.string(),
    group: z.string(),
    status: z.enum(['enabled', 'disabled']),
    state: z.enum(KEY_STATES),
    expires_at: time.nullable(),
    cap: z.strictObject({ amount: z.string(), every: z.enum(EVERY).nullable() }).nullable(),
    used: z.string(),
    used_period: z.string().nullable(),
    renews_at: time.nullable(),
    allow_ips: z.array(z.string()).nullable(),
    restricted: z.boolean(),
    models: z.array(z.string()),
    created_at: time,
    created_by: z.strictObject({ id: z.string(), name: z.string() }).nullable(),
    last_used_at: time.nullable(),
    last_used_from: z.string().nullable(),
  })
  .meta({ id: 'Key' })

const reads = { who: MAY.readKeys, effect: 'read', scope: 'read' } as const
const writes = { who: MAY.makeKeys, effect: 'write', scope: 'keys' } as const

export const KEYS: Operation<ConsoleDeps>[] = [
  operation({
    id: 'keys.list',
    call: 'GET /accounts/{account}/keys',
    summary:
      'The keys of the account, newest first or in another order; for members, those that they made. The totals are of all keys that fit the filter.',
    ...reads,
    limit: 'heavy',
    query: ownKeysQuery,
    answer: {
      status: 200,
      body: z
        .strictObject({
          data: z.array(keyRecord),
          next: z.string().nullable(),
          totals: z.strictObject({ keys: wholeCount, used: moneyText }),
        })
        .meta({ id: 'KeyPage' }),
    },
    refuses: [400, 404],
    run: async (deps: ConsoleDeps, call) => reportJson(deps, 'keys', keeperOf(call), call.query),
  }),
  operation({
    id: 'keys.csv',
    call: 'GET /accounts/{account}/keys.csv',
    summary: 'All keys of a filter as CSV, newest first. The last line says how many there are.',
    ...reads,
    viewAs: false,
    limit: 'heavy',
    query: keysFileQuery,
    answer: { status: 200, body: 'stream', types: [CSV_TYPE] },
    refuses: [400],
    run: async (deps: ConsoleDeps, call) => ({
      type: CSV_TYPE,
      file: 'keys.csv',
      pieces: await reportFile(deps, 'keysFile', keeperOf(call), call.query, call.caller.language),
    }),
  }),
  operation({
    id: 'keys.show',
    call: 'GET /accounts/{account}/keys/{id}',
    summary: 'One key.',
    ...reads,
    path: keyInPath,
    answer: { status: 200, body: keyRecord },
    run: (deps: ConsoleDeps, call) => keysOf(deps, call).show(call.path.id),
  }),
  operation({
    id: 'keys.create',
    call: 'POST /accounts/{account}/keys',
    summary: 'Make a key. The answer has its secret, which is never shown again.',
    ...writes,
    body: newKeyForm,
    answer: {
      status: 201,
      body: z.strictObject({ key: keyRecord, secret: z.string() }).meta({ id: 'NewKey' }),
    },
    refuses: [409],
    run: (deps: ConsoleDeps, call) => keysOf(deps, call).create(call.body, call.caller.actor, deps.config()),
  }),
  operation({
    id: 'keys.change',
    call: 'PATCH /accounts/{account}/keys/{id}',
    summary:
      'Change a key. A field that is not sent stays as it is; null removes an expiry, a cap or a list of addresses.',
    ...writes,
    path: keyInPath,
    body: keyForm,
    answer: { status: 200, body: keyRecord },
    refuses: [409],
    run: (deps: ConsoleDeps, call) => keysOf(deps, call).change(call.path.id, call.body, call.caller.actor),
  }),
  operation({
    id: 'keys.roll',
    call: 'POST /accounts/{account}/keys/{id}/roll',
    summary: 'Give a key another secret. The one that it has works for the time of grace: 0, 1h or 24h.',
    ...writes,
    effect: 'danger',
    path: keyInPath,
    body: rollForm,
    answer: {
      status: 201,
      body: z
        .strictObject({ key: keyRecord, secret: z.string(), old_secret_ends_at: time.nullable() })
        .meta({ id: 'RolledKey' }),
    },
    refuses: [409],
    run: (deps: ConsoleDeps, call) => keysOf(deps, call).roll(call.path.id, call.body.grace, call.caller.actor),
  }),
  operation({
    id: 'keys.delete',
    call: 'DELETE /accounts/{account}/keys/{id}',
    summary: 'Delete a key. What it used stays in the usage.',
    ...writes,
    effect: 'danger',
    path: keyInPath,
    run: (deps: ConsoleDeps, call) => keysOf(deps, call).remove(call.path.id, call.caller.actor),
  }),
  operation({
    id: 'keys.several',
    call: 'POST /accounts/{account}/keys/several',
    summary: 'Enable, disable or delete up to a hundred keys. The answer says which of them there were.',
    ...writes,
    effect: 'danger',
    body: severalForm,
    counts: ({ ids }) => new Set(ids).size,
    answer: {
      status: 200,
      body: z
        .strictObject({ data: z.array(z.strictObject({ id: z.string(), done: z.boolean() })) })
        .meta({ id: 'SeveralKeys' }),
    },
    run: (deps: ConsoleDeps, call) => keysOf(deps, call).changeSeveral(call.body, call.caller.actor),
  }),
  operation({
    id: 'keys.test',
    call: 'POST /accounts/{account}/keys/{id}/test',
    summary:
      'Try whether a request with the key from your address would be answered. Nothing is sent upstream or charged.',
    ...writes,
    path: keyInPath,
    body: testForm,
    answer: {
      status: 200,
      body: z
        .strictObject({
          ok: z.boolean(),
          stage: z.string().nullable(),
          status: z.int().nullable(),
          message: z.string().nullable(),
          why: bothWords.nullable(),
          address: z.string(),
        })
        .meta({ id: 'KeyTest' }),
    },
    run: (deps: ConsoleDeps, call) => testKey(keysOf(deps, call), call.path.id, deps.dryRun, call.body, call.caller),
  }),
  operation({
    id: 'keys.ask',
    call: 'POST /accounts/{account}/keys/{id}/ask',
    summary:
      "Make a request of the models' API with the key, as a client would that has its secret: the same limits, and what it costs is charged. The body goes there as it is.",
    ...writes,
    scope: null, // a token that leaks must not be able to spend
    path: keyInPath,
    query: z.strictObject({
      path: z
        .string()
        .max(2_000)
        .regex(/^\/v1[\w.~%:/?&=-]*$/)
        .meta({ description: "A path of the models' API to which clients post, with its query." }),
    }),
    body: z.looseObject({}),
    answer: { status: 200, body: 'handed over' },
    async run(deps: ConsoleDeps, call) {
      const { hash } = await keysOf(deps, call).find(call.path.id)
      return deps.ask({ keyHash: hash, url: call.query.path })
    },
  }),
  operation({
    id: 'groups.list',
    call: 'GET /accounts/{account}/groups',
    summary: 'The groups that keys of the account may be in, and where their prices are shown.',
    ...reads,
    answer: {
      status: 200,
      body: z
        .strictObject({
          data: z.array(z.strictObject({ name: z.string(), multiplier: z.number(), prices: z.string() })),
        })
        .meta({ id: 'AccountGroups' }),
    },
    run: (deps: ConsoleDeps, call) => keysOf(deps, call).groups(),
  }),
  operation({
    id: 'address.show',
    call: 'GET /address',
    summary: 'The address that your requests come from, as a list of addresses of a key would see it.',
    who: 'user',
    scope: 'read',
    answer: { status: 200, body: z.strictObject({ address: z.string() }).meta({ id: 'Address' }) },
    run: async (_: ConsoleDeps, { caller }) => ({ address: caller.ip }),
  }),
]
