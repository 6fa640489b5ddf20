/** The calls of the admin API. Each leads to an operation, which has the rules. */
import { iso } from '../base/clock.ts'
import { appliedAnswer, applyForm, applySent } from '../operations/catalogue/apply.ts'
import { importAnswer, importForm, importSent } from '../operations/catalogue/price-import.ts'
import { z } from 'zod'
import { type Described, openApi } from '../api/openapi.ts'
import { Instead, type Operation, TextFile, madeOnce, once } from '../api/operation.ts'
import { paymentCalls } from '../console/api/pay-desk.ts'
import { USERS } from '../console/api/people.ts'
import { VERSION } from '../base/version.ts'
import { catalogSchema } from '../catalog-file/schema.ts'
import { accountChangeForm, accountForm, accountsQuery } from '../operations/accounts/accounts.ts'
import { actionsQuery } from '../operations/accounts/actions.ts'
import { readAudit } from '../operations/billing/audit.ts'
import { acceptedForm } from '../operations/catalogue/catalogue.ts'
import { disputeForm } from '../operations/billing/disputes.ts'
import { accountEntriesQuery, adjustmentForm, topUpForm } from '../operations/billing/entries.ts'
import { accountKeyForm, keyChangeForm, keyRollForm, keysQuery } from '../operations/accounts/keys.ts'
import { momentQuery, priceChangesForm, versionsQuery } from '../operations/catalogue/prices.ts'
import { moneyText, timeText } from '../operations/fields.ts'
import { reportJson } from '../operations/usage/reports.ts'
import { entryAnswer } from '../operations/billing/account-ledger.ts'
import {
  Statements,
  statementAnswer,
  statementQuery,
  statementCsv,
  statementHtml,
} from '../operations/billing/statement.ts'
import { EXPORT_TYPES } from '../operations/usage/requests.ts'
import { exportFilter, pageFilter, summaryFilter } from '../operations/usage/filters.ts'
import { type AdminParts, adminCall, list, made, ofConsole, page, readingCall } from './call.ts'
import { WATCHING } from './watching.ts'

const limit = z.union([moneyText, z.strictObject({ amount: moneyText, every: z.string() })]).nullable()
const used = { used_period: moneyText.nullable(), renews_at: timeText.nullable() }

const account = z
  .strictObject({
    name: z.string(),
    status: z.enum(['active', 'banned']),
    groups: z.array(z.string()),
    balance: moneyText.meta({ description: 'Credits less charges.' }),
    held: moneyText,
    available: moneyText,
    rate: z.strictObject({ requests: z.int(), minutes: z.int() }).nullable(),
    budget: limit,
    ...used,
    sandbox: z.boolean(),
  })
  .meta({ id: 'Account' })

const entry = entryAnswer
  .extend({ seq: z.int().nullable(), actor: z.string().nullable() })
  .meta({ id: 'Entry', description: 'The charges of a day are one line.' })

const statement = statementAnswer
  .omit({ credits: true, charges: true, models: true, shifted: true })
  .extend({ lines: z.array(entry) })
  .meta({ id: 'Statement' })

const keyFields = {
  id: z.int(),
  account: z.string().nullable(),
  name: z.string(),
  group: z.string(),
  status: z.enum(['enabled', 'disabled']),
  expires_at: timeText.nullable(),
  cap: limit,
  used: moneyText,
  ...used,
  allow_ips: z.array(z.string()).nullable(),
  models: z.array(z.string()).nullable(),
  hint: z.string(),
  last_used_at: timeText.nullable(),
  last_used_from: z.string().nullable(),
}
const key = z.strictObject(keyFields).meta({ id: 'Key' })
const secret = z.string().meta({ description: 'It is never shown again.' })

const ACCOUNTS = [
  readingCall({
    id: 'accounts.list',
    call: 'GET /accounts',
    summary: 'Accounts, oldest first.',
    query: accountsQuery,
    answer: page(account),
    run: ({ accounts }, { query }) => accounts.list(query),
  }),
  readingCall({
    id: 'accounts.create',
    call: 'POST /accounts',
    summary: 'Makes an account.',
    body: accountForm,
    answer: made(account),
    refuses: [409],
    run: ({ accounts }, { body, caller }) => accounts.create(body, caller.actor),
  }),
  readingCall({
    id: 'accounts.show',
    call: 'GET /accounts/{name}',
    summary: 'An account.',
    answer: account,
    run: ({ accounts }, { path }) => accounts.one(path.name),
  }),
  readingCall({
    id: 'accounts.change',
    call: 'PATCH /accounts/{name}',
    summary: 'Changes the fields that are sent.',
    body: accountChangeForm,
    answer: account,
    run: ({ accounts }, { path, body, caller }) => accounts.change(path.name, body, caller.actor),
  }),
  readingCall({
    id: 'entries.topUp',
    call: 'POST /accounts/{name}/topups',
    summary: 'Credits an amount, once for each reference.',
    body: topUpForm,
    answer: madeOnce(
      z.strictObject({ account: z.string(), amount: moneyText, reference: z.string(), balance: moneyText }),
    ),
    refuses: [409],
    run: async ({ entries }, { path, body, caller }) => once(await entries.topUp(path.name, body, caller.actor)),
  }),
  readingCall({
    id: 'entries.adjust',
    call: 'POST /accounts/{name}/adjustments',
    summary: 'Adds an amount to the balance, or takes it away, once for each reference.',
    body: adjustmentForm,
    answer: madeOnce(z.strictObject({ account: z.string(), ...entry.shape })),
    refuses: [409],
    run: async ({ entries }, { path, body, caller }) => once(await entries.adjust(path.name, body, caller.actor)),
  }),
  readingCall({
    id: 'entries.list',
    call: 'GET /accounts/{name}/entries',
    summary: 'Entries and charges, newest first.',
    query: accountEntriesQuery,
    answer: page(entry),
    run: ({ entries }, { path, query }) => entries.page(path.name, query),
  }),
  readingCall({
    id: 'statements.read',
    call: 'GET /accounts/{name}/statement',
    summary: 'The statement of a month.',
    query: statementQuery,
    answer: { body: statement, types: ['text/csv; charset=utf-8', 'text/html; charset=utf-8'] },
    async run({ deps }, { path, query }) {
      const { statement, format } = await new Statements(deps).read(path.name, query)
      if (format === 'csv') return new TextFile(statementCsv(statement), 'text/csv; charset=utf-8')
      if (format === 'html') return new TextFile(statementHtml(statement), 'text/html; charset=utf-8')
      return statement
    },
  }),
]

const KEYS = [
  readingCall({
    id: 'keys.list',
    call: 'GET /keys',
    summary: 'Keys, oldest first.',
    query: keysQuery,
    answer: page(key),
    refuses: [404],
    run: ({ keys }, { query }) => keys.list(query),
  }),
  readingCall({
    id: 'keys.create',
    call: 'POST /keys',
    summary: 'Makes a key.',
    body: accountKeyForm,
    answer: made(z.strictObject({ secret: secret.nullable(), ...keyFields })),
    refuses: [409],
    run: ({ keys }, { body, caller }) => keys.create(body, caller.actor),
  }),
  readingCall({
    id: 'keys.change',
    call: 'PATCH /keys/{id}',
    summary: 'Changes the fields that are sent; null removes a value.',
    body: keyChangeForm,
    answer: key,
    refuses: [409],
    run: ({ keys }, { path, body, caller }) => keys.change(path.id, body, caller.actor),
  }),
  readingCall({
    id: 'keys.roll',
    call: 'POST /keys/{id}/roll',
    summary: 'Gives the key another secret; the one that it has works for the time of `grace`.',
    body: keyRollForm,
    answer: made(z.strictObject({ id: z.int(), secret, hint: z.string(), old_secret_ends_at: timeText.nullable() })),
    run: ({ keys }, { path, body, caller }) => keys.roll(path.id, body, caller.actor),
  }),
  readingCall({
    id: 'keys.remove',
    call: 'DELETE /keys/{id}',
    summary: 'Deletes a key.',
    answer: null,
    run: ({ keys }, { path, caller }) => keys.remove(path.id, caller.actor),
  }),
]

/** The form of a row of a catalogue file, whose name is that of the path. */
const putForm = ({ shape }: z.ZodObject) => z.strictObject({ ...shape, name: z.unknown(), ...acceptedForm.shape })

const PUT_FORMS = {
  groups: putForm(catalogSchema.shape.groups.unwrap().element),
  models: putForm(catalogSchema.shape.models.unwrap().element),
  channels: putForm(catalogSchema.shape.channels.unwrap().element),
}

const catalogueRow = z.looseObject({ name: z.string() })

const CATALOGUE = (['groups', 'models', 'channels'] as const).flatMap(kind => {
  const one = kind.slice(0, -1)
  return [
    readingCall({
      id: `${kind}.list`,
      call: `GET /${kind}`,
      summary: `All ${kind}.`,
      answer: list(catalogueRow),
      run: async ({ catalogue }) => ({ data: await catalogue.list(kind) }),
    }),
    readingCall({
      id: `${kind}.show`,
      call: `GET /${kind}/{name}`,
      summary: kind === 'channels' ? 'A channel, and how it fares.' : `A ${one}.`,
      answer: catalogueRow,
      run: ({ catalogue }, { path }) =>
        kind === 'channels' ? catalogue.channel(path.name) : catalogue.one(kind, path.name),
    }),
    readingCall({
      id: `${kind}.put`,
      call: `PUT /${kind}/{name}`,
      summary: `Creates or replaces a ${one}. Its name is that of the path.`,
      body: PUT_FORMS[kind],
      answer: catalogueRow,
      refuses: [409],
      run: ({ catalogue }, { path, body, caller }) => catalogue.put(kind, path.name, body, caller.actor),
    }),
    readingCall({
      id: `${kind}.remove`,
      call: `DELETE /${kind}/{name}`,
      summary: `Deletes a ${one}.`,
      answer: null,
      refuses: [409],
      run: ({ catalogue }, { path, caller }) => catalogue.remove(kind, path.name, caller.actor),
    }),
  ]
})

const YAML = 'application/yaml; charset=utf-8'

const EXPORT = readingCall({
  id: 'catalogue.export',
  call: 'GET /catalogue.yaml',
  summary: 'Groups, models, channels and accounts as a catalogue file, whose secrets are variables.',
  answer: { body: 'stream', types: [YAML] },
  run: async ({ catalogue }) => ({ type: YAML, pieces: catalogue.export() }),
})

const APPLY = adminCall({
  id: 'catalogue.apply',
  call: 'POST /catalogue',
  summary: 'Applies a catalogue file, sent with the variables and files that it names.',
  body: applyForm,
  answer: appliedAnswer,
  refuses: [400, 409],
  run: ({ deps }, { body }) => applySent(deps, body),
})

const versionFields = { version: z.int(), at: timeText, until: timeText.nullable(), actor: z.string() }
const price = z.record(z.string(), z.unknown()).nullable()

const PRICES = [
  readingCall({
    id: 'prices.history',
    call: 'GET /models/{name}/prices',
    summary: 'The prices that a model has had, newest first.',
    query: versionsQuery,
    answer: page(z.strictObject({ ...versionFields, price })),
    run: ({ prices }, { path, query }) => prices.history(path.name, query),
  }),
  adminCall({
    id: 'prices.set',
    call: 'PATCH /models/{name}/prices',
    summary: 'Changes some prices of a model; the others stay. Prices are named by their paths; null takes one away.',
    body: priceChangesForm,
    answer: z.strictObject({
      model: z.string(),
      changes: z.record(z.string(), z.strictObject({ before: z.string().nullable(), after: z.string().nullable() })),
      warnings: z.array(z.string()).optional(),
    }),
    refuses: [400],
    run: ({ deps, prices }, { path, body, caller }) => prices.change(path.name, body, caller.actor, deps),
  }),
  readingCall({
    id: 'prices.multipliers',
    call: 'GET /groups/{name}/multipliers',
    summary: 'The multipliers that a group has had, newest first.',
    query: versionsQuery,
    answer: page(z.strictObject({ ...versionFields, multiplier: z.number() })),
    run: ({ prices }, { path, query }) => prices.multipliers(path.name, query),
  }),
  readingCall({
    id: 'prices.at',
    call: 'GET /prices',
    summary: 'What every model with a price costs, or cost at a moment.',
    query: momentQuery,
    answer: list(z.strictObject({ model: z.string(), ...versionFields, price })),
    run: ({ prices }, { query }) => prices.at(query),
  }),
  adminCall({
    id: 'prices.import',
    call: 'POST /prices/import',
    summary: 'Takes the prices of a list.',
    body: importForm,
    mostBodyMib: 32,
    answer: importAnswer,
    refuses: [400],
    run: ({ deps }, { body, caller }) => importSent(deps, body, caller.actor),
  }),
]

const usageRow = z
  .looseObject({
    request_id: z.string(),
    at: z.string(),
    booked_at: timeText,
    status: z.int(),
    end: z.string(),
    charge: moneyText,
  })
  .meta({ id: 'UsageRow' })
const usageTotals = z.looseObject({ requests: z.int(), errors: z.int(), charge: moneyText, cost: moneyText.nullable() })

const USAGE = [
  readingCall({
    id: 'usage.list',
    call: 'GET /usage',
    summary: 'Settled requests, newest first.',
    query: pageFilter,
    answer: page(usageRow),
    run: ({ deps }, { query }) => reportJson(deps, 'log', query),
  }),
  readingCall({
    id: 'usage.summary',
    call: 'GET /usage/summary',
    summary: 'Totals of requests, by what `by` names.',
    query: summaryFilter,
    answer: list(usageTotals),
    run: ({ deps }, { query }) => reportJson(deps, 'totals', query),
  }),
  ...(['csv', 'jsonl'] as const).map(format =>
    readingCall({
      id: `usage.${format}`,
      call: `GET /usage.${format}`,
      summary: 'All settled requests that fit the filters, as a file.',
      query: exportFilter,
      answer: { body: 'stream', types: [EXPORT_TYPES[format]] },
      refuses: [409],
      run: async ({ requests }, { query }) => ({
        type: EXPORT_TYPES[format],
        pieces: await requests.exportAll(format, query),
      }),
    }),
  ),
  readingCall({
    id: 'requests.show',
    call: 'GET /requests/{id}',
    summary: 'The receipt of a request, or why it was refused; 410 with the totals of its day when its row is deleted.',
    answer: { body: z.record(z.string(), z.unknown()), also: [410] },
    async run({ requests }, { path }) {
      const found = await requests.one(path.id)
      return 'row' in found ? found.row : new Instead(410, found)
    },
  }),
  readingCall({
    id: 'disputes.decide',
    call: 'POST /requests/{id}/dispute',
    summary: 'Decides about the part of a report that was not charged because the request can hardly have caused it.',
    body: disputeForm,
    answer: madeOnce(
      z
        .strictObject({ request_id: z.string(), disputed: moneyText, state: z.string(), charged: moneyText })
        .meta({ id: 'Dispute' }),
    ),
    refuses: [409],
    run: async ({ disputes }, { path, body, caller }) => once(await disputes.decide(path.id, body, caller.actor)),
  }),
]

const fields = z.record(z.string(), z.unknown()).nullable()

const BOOKS = [
  readingCall({
    id: 'actions.list',
    call: 'GET /actions',
    summary: 'The log of actions, newest first.',
    query: actionsQuery,
    answer: page(
      z.strictObject({
        seq: z.int(),
        at: timeText,
        actor: z.strictObject({
          kind: z.string(),
          name: z.string(),
          user: z.string().nullable(),
          ip: z.string().nullable(),
        }),
        operation: z.string(),
        account: z.string().nullable(),
        subject: z.strictObject({ kind: z.string(), id: z.string() }),
        before: fields,
        after: fields,
      }),
    ),
    refuses: [404],
    run: ({ actions }, { query }) => actions.list(query),
  }),
  readingCall({
    id: 'audit.run',
    call: 'GET /audit',
    summary: 'Compares credits, charges and balances of every account, and says what does not agree and what mends it.',
    answer: z.strictObject({
      ok: z.boolean(),
      accounts: z.int(),
      credits: moneyText,
      charges: moneyText,
      balances: moneyText,
      leased: moneyText,
      imbalance: moneyText,
      by_hand: moneyText,
      proven: moneyText,
      set_aside: z.int(),
      broken: z.int(),
      unfit: z.array(z.string()),
      findings: z.array(
        z.strictObject({
          account: z.string().nullable(),
          equation: z.string(),
          says: z.string(),
          expected: moneyText,
          found: moneyText,
          difference: moneyText,
          mend: z.string(),
        }),
      ),
    }),
    run: async ({ deps }) => (await readAudit(deps)).row,
  }),
]

const PEOPLE = ofConsole(USERS, {
  'users.invite': 'POST /invitations',
  'users.invitations': 'GET /invitations',
  'users.revoke_invitation': 'DELETE /invitations/{id}',
})

const PAYMENTS = ofConsole(
  paymentCalls(({ store }, account) => store.accounts.byName(account)),
  {
    'payments.orders': 'GET /orders',
    'payments.order': 'GET /orders/{id}',
    'payments.refund': 'POST /orders/{id}/refunds',
    'payments.release': 'POST /orders/{id}/release',
    'payments.exceptions': 'GET /exceptions',
    'payments.resolve': 'POST /exceptions/{id}/resolution',
    'payments.rates': 'GET /rates',
    'payments.set_rate': 'POST /rates',
    'payments.to_send': 'GET /refunds',
    'payments.refund_end': 'POST /refunds/{id}/end',
    'payments.addresses': 'GET /usdt/addresses.csv',
    'payments.rewind': 'POST /usdt/rewind',
  },
)

const DESCRIPTION =
  'The calls of operators. Money is text with six decimals, in CNY; times are ISO 8601 in UTC; lists are `{data, next}`, and ' +
  '`after` is the `next` of the page before.'

let document: object | null = null

const DOCUMENT = [
  readingCall({
    id: 'version.read',
    call: 'GET /version',
    summary: 'Which version of the gateway answers, on which Node, and since when.',
    answer: z.strictObject({ version: z.string(), node: z.string(), started_at: timeText }).meta({ id: 'Version' }),
    run: async ({ deps: { clock } }) => ({
      version: VERSION,
      node: process.version,
      started_at: iso(clock.now() - process.uptime() * 1000),
    }),
  }),
  readingCall({
    id: 'document.read',
    call: 'GET /openapi.json',
    summary: 'This document.',
    answer: z.looseObject({ openapi: z.string() }),
    run: async () => (document ??= adminDocument(ADMIN_CALLS)),
  }),
]

const adminDocument = (rows: readonly Described[]): object =>
  openApi(rows, { title: 'Admin', description: DESCRIPTION, root: '/admin', cookie: null })

export const ADMIN_CALLS: readonly Operation<AdminParts>[] = [
  ...ACCOUNTS,
  ...KEYS,
  ...CATALOGUE,
  EXPORT,
  APPLY,
  ...PRICES,
  ...USAGE,
  ...WATCHING,
  ...BOOKS,
  ...PEOPLE,
  ...PAYMENTS,
  ...DOCUMENT,
]
