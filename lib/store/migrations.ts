/**
 * The schema's versions, in order. A statement of a migration may be repeated without harm, because two processes may
 * migrate at once and engines exist whose schema changes cannot be rolled back.
 */
import { randomBytes } from 'node:crypto'
import type { Driver } from './driver.ts'
import { addColumn, createIndex, createTable, type Table } from './tables.ts'

const FIRST: Table[] = [
  {
    name: 'accounts',
    // archived: charges of usage rows that were pruned.
    columns: { id: 'auto', name: 'name', status: 'code', allowed_groups: 'doc', rate: 'doc?', archived: 'int' },
    key: ['id'],
    unique: [['name']],
  },
  {
    name: 'api_keys',
    columns: {
      id: 'auto',
      account_id: 'int',
      name: 'name',
      hash: 'code',
      hint: 'name',
      group_name: 'name',
      status: 'code',
      expires_at_ms: 'int?',
      cap: 'int?',
      allow_ips: 'doc?',
      models: 'doc?',
      // 0, or the key's own id once it is deleted, so that its name and hash are free again.
      deleted: 'int',
    },
    key: ['id'],
    unique: [
      ['hash', 'deleted'],
      ['account_id', 'name', 'deleted'],
    ],
  },
  // promised: everything ever moved out, whether charged by now or still leased. See books.ts.
  { name: 'purses', columns: { id: 'code', credit: 'int?', promised: 'int' }, key: ['id'] },
  {
    name: 'leases',
    columns: { purse_id: 'code', holder: 'code', amount: 'int', held: 'int', ticket: 'code' },
    key: ['purse_id', 'holder'],
    index: [['holder']],
  },
  { name: 'holders', columns: { id: 'code', host: 'name', beat: 'int' }, key: ['id'] },
  {
    name: 'topups',
    columns: { account_id: 'int', reference: 'name', amount: 'int', at_ms: 'int' },
    key: ['account_id', 'reference'],
  },
  {
    name: 'usage_rows',
    columns: {
      request_id: 'code',
      account_id: 'int',
      key_id: 'int',
      group_name: 'name',
      protocol: 'code',
      model: 'name',
      channel: 'name',
      status: 'int',
      ended: 'code',
      basis: 'code',
      charge: 'int',
      first_byte_ms: 'int?',
      duration_ms: 'int',
      input: 'int',
      cache_read: 'int',
      cache_write_5m: 'int',
      cache_write_1h: 'int',
      output: 'int',
      images: 'int',
    },
    key: ['request_id'],
    // The first also holds all that the audit sums.
    index: [
      ['account_id', 'request_id', 'charge'],
      ['key_id', 'request_id'],
      ['model', 'request_id'],
    ],
  },
  { name: 'catalog_rows', columns: { kind: 'code', name: 'name', doc: 'doc' }, key: ['kind', 'name'] },
  { name: 'changes', columns: { seq: 'int', kind: 'code', ref: 'code' }, key: ['seq'] },
  { name: 'rate_windows', columns: { account_id: 'int', version: 'int', state: 'doc' }, key: ['account_id'] },
]

const META: Table = { name: 'meta', columns: { name: 'code', value: 'int' }, key: ['name'] }

const APPLIED: Table = {
  name: 'applied_rows',
  columns: { kind: 'code', owner: 'name', name: 'name', said: 'code', price: 'code', secret: 'code' },
  key: ['kind', 'owner', 'name'],
}

const MIGRATIONS: ((driver: Driver) => string[])[] = [
  driver => [
    ...FIRST.flatMap(table => createTable(table, driver.dialect)),
    ...['changes', 'prune'].map(n => `INSERT ${driver.dialect.ignore} INTO meta (name, value) VALUES ('${n}', 0)`),
  ],
  // A page of an account or a key and a model that it seldom uses is a range too, not a search.
  ({ dialect }) =>
    ['account_id', 'key_id'].map(owner => createIndex({ name: 'usage_rows' }, [owner, 'model', 'request_id'], dialect)),
  // Which account an answer was made for, and which upstream holds it.
  ({ dialect }) => [
    addColumn({ name: 'usage_rows' }, ['answer_id', 'name?'], dialect),
    addColumn({ name: 'usage_rows' }, ['upstream_key', 'code?'], dialect),
    createIndex({ name: 'usage_rows' }, ['answer_id'], dialect),
  ],
  // Journals name the store that they are for.
  ({ dialect }) => [
    `INSERT ${dialect.ignore} INTO meta (name, value) VALUES ('store', ${randomBytes(6).readUIntBE(0, 6)})`,
  ],
  // What a catalogue file said of rows. Of those that are there already, and of deleted keys, nobody knows it any more.
  ({ dialect }) => [
    ...createTable(APPLIED, dialect),
    ...[
      "SELECT kind, '', name, '', '', '' FROM catalog_rows",
      "SELECT 'account', '', name, '', '', '' FROM accounts",
      "SELECT DISTINCT 'key', a.name, k.name, '', '', '' FROM api_keys k JOIN accounts a ON a.id = k.account_id",
    ].map(rows => `INSERT ${dialect.ignore} INTO applied_rows (kind, owner, name, said, price, secret) ${rows}`),
  ],
]

async function version(driver: Driver): Promise<number> {
  const rows = await driver.query('migrate', "SELECT value FROM meta WHERE name = 'schema'", [])
  return Number(rows[0]?.['value'] ?? 0)
}

export async function storeId(driver: Driver): Promise<number> {
  const [row] = await driver.query('storeId', "SELECT value FROM meta WHERE name = 'store'", [])
  if (row === undefined) throw new Error('store: its schema is older than this program: run `gateway migrate`')
  return Number(row['value'])
}

/** Throws when the store was written by a newer version of this program, or cannot keep the books. */
export async function migrate(driver: Driver): Promise<void> {
  await driver.script(createTable(META, driver.dialect))
  await driver.prove()
  const from = await version(driver)
  if (from > MIGRATIONS.length) {
    throw new Error(`store: its schema has version ${from}, this program knows up to ${MIGRATIONS.length}`)
  }
  for (let next = from; next < MIGRATIONS.length; next++) {
    await driver.script([
      ...MIGRATIONS[next]!(driver),
      `INSERT ${driver.dialect.ignore} INTO meta (name, value) VALUES ('schema', 0)`,
      `UPDATE meta SET value = ${next + 1} WHERE name = 'schema' AND value < ${next + 1}`,
    ])
  }
}
