/** The tables of accounts, keys, the catalogue, leases and the store itself. */
import type { Table } from './tables.ts'

/** Counters and marks of the store, each by its name; `schema.ts` says which there are from the start. */
export const META: Table = { name: 'meta', columns: { name: 'code', value: 'int' }, key: ['name'] }

const ACCOUNTS: Table = {
  name: 'accounts',
  columns: {
    id: 'auto',
    // The random id by which people outside name the account.
    public_id: 'code',
    name: 'name',
    status: 'code',
    allowed_groups: 'doc',
    rate: 'doc?',
    // The limit of spending; `sql/limit-purses.ts` says what the three columns that begin with `budget_` mean.
    budget: 'int?',
    budget_every: 'code?',
    budget_before: 'code?',
    budget_until_ms: 'int?',
    // The balance of which the account's people are warned.
    low_balance: 'int?',
    sandbox: 'int?',
    // The sum of the charges of usage rows that were deleted (see sql/prune.ts).
    archived: 'int',
  },
  key: ['id'],
  unique: [['name']],
  index: [['public_id']],
}

/** The keys of an account, and those that a user made in it, are each a range of an index in the order of their pages. */
export const BY_ACCOUNT = ['account_id', 'deleted', 'id']
export const BY_CREATOR = ['created_by', 'deleted', 'id']

const KEYS: Table = {
  name: 'api_keys',
  columns: {
    id: 'auto',
    public_id: 'code',
    account_id: 'int',
    // The user who made the key.
    created_by: 'int?',
    name: 'name',
    hash: 'code',
    hint: 'name',
    group_name: 'name',
    status: 'code',
    expires_at_ms: 'int?',
    cap: 'int?',
    cap_every: 'code?',
    cap_before: 'code?',
    cap_until_ms: 'int?',
    allow_ips: 'doc?',
    models: 'doc?',
    // The list of a restriction that is switched off.
    models_off: 'doc?',
    // 0 for a key in use. A deleted key has its own id here, so that the unique indexes free its name and hash.
    deleted: 'int',
  },
  key: ['id'],
  unique: [
    ['hash', 'deleted'],
    ['account_id', 'name', 'deleted'],
  ],
  index: [['public_id'], BY_ACCOUNT, BY_CREATOR],
}

/** Earlier secrets of keys, each with the end of the time in which it still works, by the store's clock. */
const KEY_SECRETS: Table = {
  name: 'key_secrets',
  columns: { hash: 'code', key_id: 'int', until_ms: 'int' },
  key: ['hash'],
  index: [['key_id']],
}

/** When and from where each key was last used: a table of its own, so that writing it locks no key. */
const KEY_USES: Table = {
  name: 'key_uses',
  columns: { key_id: 'int', at_ms: 'int', ip: 'code' },
  key: ['key_id'],
}

export const CORE_TABLES: readonly Table[] = [
  ACCOUNTS,
  KEYS,
  KEY_SECRETS,
  KEY_USES,
  // promised: all money that ever left the purse, whether it has been charged or is still leased. See sql/books.ts.
  // A purse of a period has the end of its period.
  {
    name: 'purses',
    columns: { id: 'code', credit: 'int?', promised: 'int', ends_ms: 'int?' },
    key: ['id'],
    index: [['ends_ms']],
  },
  {
    name: 'leases',
    columns: { purse_id: 'code', holder: 'code', amount: 'int', held: 'int', ticket: 'code' },
    key: ['purse_id', 'holder'],
    index: [['holder']],
  },
  { name: 'holders', columns: { id: 'code', host: 'name', beat: 'int' }, key: ['id'] },
  // version: of the price that the row has in force.
  {
    name: 'catalog_rows',
    columns: { kind: 'code', name: 'name', doc: 'doc', version: 'int?' },
    key: ['kind', 'name'],
  },
  // What a catalogue file said of each row (see sql/applied.ts).
  {
    name: 'applied_rows',
    columns: { kind: 'code', owner: 'name', name: 'name', said: 'code', price: 'code', secret: 'code' },
    key: ['kind', 'owner', 'name'],
  },
  { name: 'changes', columns: { seq: 'int', kind: 'code', ref: 'code' }, key: ['seq'] },
  // What is known of the answers of models, by series (see `lib/exchange/record/model-stats.ts`). thinks: 1 = some were thought about.
  {
    name: 'model_stats',
    columns: { model: 'name', series: 'code', version: 'int', figure: 'int?', thinks: 'int', samples: 'doc' },
    key: ['model', 'series'],
  },
  // Who has an account's one right to an uncovered request, and until when, by the store's clock.
  {
    name: 'uncovered',
    columns: { account_id: 'int', ticket: 'code', until_ms: 'int' },
    key: ['account_id'],
    index: [['ticket']],
  },
  { name: 'rate_windows', columns: { account_id: 'int', version: 'int', state: 'doc' }, key: ['account_id'] },
]
