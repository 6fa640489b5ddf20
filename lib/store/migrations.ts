/**
 * The schema and its history: `MIGRATIONS` is a list, and the row `schema` of the table `meta` counts how many of its
 * entries have been run on this store. Every statement of a migration must be idempotent, because two processes may
 * migrate at the same time and MySQL cannot roll back a schema change. An entry is never edited after its release; a
 * change of the schema is a new entry at the end.
 */
import { randomBytes } from 'node:crypto'
import { ACTIONS } from './action-tables.ts'
import { CHAIN_DEPOSITS, DEPOSIT_REFUNDS, DEPOSIT_TABLES } from './deposit-tables.ts'
import type { Driver } from './driver.ts'
import { CHARGED_HOURS, ENTRIES } from './entry-tables.ts'
import { FIRST } from './first-tables.ts'
import { KEY_SECRETS, KEY_USES } from './key-tables.ts'
import { PAY_EXCEPTIONS, PAY_ORDERS, PAY_REFUNDS, PAY_TABLES } from './pay-tables.ts'
import { PEOPLE } from './people-tables.ts'
import { PRICE_VERSIONS } from './price-tables.ts'
import { fillChargedHours } from './sql/charged-hours.ts'
import { addAccountSums, addKeyDays } from './sql/coarser-sums.ts'
import { fillWorth } from './sql/deposit-worth.ts'
import { BY_ACCOUNT, BY_CREATOR } from './sql/key-page.ts'
import { fillModelHours } from './sql/model-hours.ts'
import { firstVersions } from './sql/price-versions.ts'
import { givePublicIds } from './sql/public-ids.ts'
import { FILL_ASKED } from './sql/refund-asked.ts'
import { copyTopUps, OLD_TOPUPS } from './sql/topup-copy.ts'
import { copyUsage, OLD_LOG } from './sql/usage-copy.ts'
import { StoreUnavailable } from './store.ts'
import { addColumn, createIndex, createTable, renameTable, type Table } from './tables.ts'
import { REFUSALS, USAGE_LOG, USAGE_SUMS } from './usage-tables.ts'

const META: Table = { name: 'meta', columns: { name: 'code', value: 'int' }, key: ['name'] }

const APPLIED: Table = {
  name: 'applied_rows',
  columns: { kind: 'code', owner: 'name', name: 'name', said: 'code', price: 'code', secret: 'code' },
  key: ['kind', 'owner', 'name'],
}

/**
 * The statements of each version, after the work that a migration does by itself. `schema`: the version that the store
 * has before it.
 */
const MIGRATIONS: ((driver: Driver, schema: number) => string[] | Promise<string[]>)[] = [
  driver => [
    ...FIRST.flatMap(table => createTable(table, driver.dialect)),
    ...['changes', 'prune'].map(n => `INSERT ${driver.dialect.ignore} INTO meta (name, value) VALUES ('${n}', 0)`),
  ],
  // Makes a page of one account's or one key's use of one model a range of an index, however rare that model is.
  ({ dialect }) =>
    ['account_id', 'key_id'].map(owner => createIndex({ name: 'usage_rows' }, [owner, 'model', 'request_id'], dialect)),
  // The answer's id and the upstream key that made it: a follow-up request must go to the same upstream key.
  ({ dialect }) => [
    addColumn({ name: 'usage_rows' }, ['answer_id', 'name?'], dialect),
    addColumn({ name: 'usage_rows' }, ['upstream_key', 'code?'], dialect),
    createIndex({ name: 'usage_rows' }, ['answer_id'], dialect),
  ],
  // The random id of this store. Every journal record names it, so that no journal is applied to another store.
  ({ dialect }) => [
    `INSERT ${dialect.ignore} INTO meta (name, value) VALUES ('store', ${randomBytes(6).readUIntBE(0, 6)})`,
  ],
  // What a catalogue file said of each row (see sql/applied.ts). For rows older than this table nobody knows what the
  // file said, so they get empty digests. Deleted keys get a row too: they must not be created again by the file.
  ({ dialect }) => [
    ...createTable(APPLIED, dialect),
    ...[
      "SELECT kind, '', name, '', '', '' FROM catalog_rows",
      "SELECT 'account', '', name, '', '', '' FROM accounts",
      "SELECT DISTINCT 'key', a.name, k.name, '', '', '' FROM api_keys k JOIN accounts a ON a.id = k.account_id",
    ].map(rows => `INSERT ${dialect.ignore} INTO applied_rows (kind, owner, name, said, price, secret) ${rows}`),
  ],
  // The usage log as `usage-tables.ts` describes it, its sums, and refusals. The old log gets another name first, so that
  // an earlier version of the program cannot write there any more.
  ({ dialect }) => [
    renameTable('usage_rows', OLD_LOG),
    ...[USAGE_LOG, USAGE_SUMS, REFUSALS].flatMap(table => createTable(table, dialect)),
  ],
  async (driver, schema) => {
    await copyUsage(driver, schema)
    return []
  },
  // `usage_rows` too: a process that migrates late may have created it once more.
  () => [OLD_LOG, 'usage_rows'].map(name => `DROP TABLE IF EXISTS ${name}`),
  // Caps that renew, and budgets (see sql/limit-purses.ts). A purse of a period has the end of its period.
  ({ dialect }) => [
    addColumn({ name: 'accounts' }, ['budget', 'int?'], dialect),
    ...(['api_keys', 'accounts'] as const).flatMap(name => {
      const limit = name === 'accounts' ? 'budget' : 'cap'
      return [
        addColumn({ name }, [`${limit}_every`, 'code?'], dialect),
        addColumn({ name }, [`${limit}_before`, 'code?'], dialect),
        addColumn({ name }, [`${limit}_until_ms`, 'int?'], dialect),
      ]
    }),
    addColumn({ name: 'purses' }, ['ends_ms', 'int?'], dialect),
    createIndex({ name: 'purses' }, ['ends_ms'], dialect),
  ],
  // Entries, and charges by hour of booking. The table of top-ups gets another name first, so that an earlier version of
  // the program cannot write there any more.
  ({ dialect }) => [
    renameTable('topups', OLD_TOPUPS),
    ...[ENTRIES, CHARGED_HOURS].flatMap(table => createTable(table, dialect)),
    fillChargedHours(dialect),
  ],
  async (driver, schema) => {
    await copyTopUps(driver, schema)
    return []
  },
  // `topups` too: a process that migrates late may have created it once more.
  () => [OLD_TOPUPS, 'topups'].map(name => `DROP TABLE IF EXISTS ${name}`),
  // Versions of prices, and which of them a row of the catalogue has in force.
  ({ dialect }) => [
    ...createTable(PRICE_VERSIONS, dialect),
    addColumn({ name: 'catalog_rows' }, ['version', 'int?'], dialect),
    `INSERT ${dialect.ignore} INTO meta (name, value) VALUES ('prices', 0)`,
  ],
  async driver => {
    await firstVersions(driver)
    return []
  },
  // The log of actions, and random ids by which people outside name accounts and keys.
  ({ dialect }) => [
    ...createTable(ACTIONS, dialect),
    ...['accounts', 'api_keys'].flatMap(name => [
      addColumn({ name }, ['public_id', 'code?'], dialect),
      createIndex({ name }, ['public_id'], dialect),
    ]),
  ],
  async driver => {
    for (const table of ['accounts', 'api_keys']) await givePublicIds(driver, table)
    return []
  },
  // Money that comes in: orders, proofs, refunds.
  ({ dialect }) => [
    ...PAY_TABLES.flatMap(table => createTable(table, dialect)),
    addColumn({ name: 'accounts' }, ['sandbox', 'int?'], dialect),
  ],
  // Requests by the client's own id, refusals by account, and the balance of which an account's people are warned.
  ({ dialect }) => [
    createIndex(USAGE_LOG, ['account_id', 'client_request_id'], dialect),
    createIndex(REFUSALS, ['account_id', 'at_ms', 'request_id'], dialect),
    addColumn({ name: 'accounts' }, ['low_balance', 'int?'], dialect),
  ],
  // Users, what they are in accounts, and how they are signed in.
  ({ dialect }) => PEOPLE.flatMap(table => createTable(table, dialect)),
  // Sums by the hour of a model, for as many days as people can look back.
  ({ dialect }) => [fillModelHours(dialect, 90)],
  // Who made a key, the list of a restriction that is switched off, earlier secrets that still work, and last uses.
  ({ dialect }) => [
    addColumn({ name: 'api_keys' }, ['created_by', 'int?'], dialect),
    addColumn({ name: 'api_keys' }, ['models_off', 'doc?'], dialect),
    ...[BY_ACCOUNT, BY_CREATOR].map(columns => createIndex({ name: 'api_keys' }, columns, dialect)),
    ...[KEY_SECRETS, KEY_USES].flatMap(table => createTable(table, dialect)),
  ],
  // Sums of usage by account, without its keys.
  ({ dialect }) => addAccountSums(dialect),
  // Sums of usage by the day of a key, whatever it was used for.
  ({ dialect }) => [addKeyDays(dialect)],
  // Deposits on a chain.
  ({ dialect }) => DEPOSIT_TABLES.flatMap(table => createTable(table, dialect)),
  // What people decide about deposits: refunds, and what is credited or closed by hand.
  ({ dialect }) => [
    ...createTable(DEPOSIT_REFUNDS, dialect),
    addColumn(CHAIN_DEPOSITS, ['decided_by', 'name?'], dialect),
    addColumn(CHAIN_DEPOSITS, ['decision', 'doc?'], dialect),
  ],
  // Until when a person has to act.
  ({ dialect }) => [addColumn(PAY_EXCEPTIONS, ['due_at_ms', 'int?'], dialect)],
  // What deposits are worth, so that those of an account can be summed without being read.
  ({ dialect }) => [
    addColumn(CHAIN_DEPOSITS, ['worth', 'int?'], dialect),
    createIndex(CHAIN_DEPOSITS, ['account_id', 'state'], dialect),
  ],
  async driver => {
    await fillWorth(driver)
    return []
  },
  // What providers are asked to send back.
  ({ dialect }) => [addColumn(PAY_REFUNDS, ['asked', 'int?'], dialect), FILL_ASKED],
  // Until when a payment is held, and disputes and warnings by their time.
  ({ dialect }) => [
    addColumn(PAY_ORDERS, ['held_until_ms', 'int?'], dialect),
    ...[PAY_REFUNDS, PAY_EXCEPTIONS].map(table => createIndex(table, ['kind', 'at_ms'], dialect)),
  ],
]

async function version(driver: Driver): Promise<number> {
  const rows = await driver.query('migrate', "SELECT value FROM meta WHERE name = 'schema'", [])
  return Number(rows[0]?.['value'] ?? 0)
}

const OLDER = 'store: its schema is older than this program: run `gateway migrate`'
const newer = (version: number) =>
  `store: its schema has version ${version}, this program knows up to ${MIGRATIONS.length}`

/** Throws an Error that says what to do when the schema is not that of this program. */
export async function wantSchema(driver: Driver): Promise<void> {
  const found = await version(driver).catch((error: unknown) => {
    if (error instanceof StoreUnavailable) throw error
    return 0 // there is no such table
  })
  if (found < MIGRATIONS.length) throw new Error(OLDER)
  if (found > MIGRATIONS.length) throw new Error(newer(found))
}

export async function storeId(driver: Driver): Promise<number> {
  const [row] = await driver.query('storeId', "SELECT value FROM meta WHERE name = 'store'", [])
  if (row === undefined) throw new Error(OLDER)
  return Number(row['value'])
}

/** Throws when a newer version of this program has migrated the store, or when the engine fails `Driver.prove`. */
export async function migrate(driver: Driver, to = MIGRATIONS.length): Promise<void> {
  await driver.script(createTable(META, driver.dialect))
  await driver.prove()
  const from = await version(driver)
  if (from > MIGRATIONS.length) throw new Error(newer(from))
  for (let next = from; next < to; next++) {
    await driver.script([
      ...(await MIGRATIONS[next]!(driver, next)),
      `INSERT ${driver.dialect.ignore} INTO meta (name, value) VALUES ('schema', 0)`,
      `UPDATE meta SET value = ${next + 1} WHERE name = 'schema' AND value < ${next + 1}`,
    ])
  }
}
