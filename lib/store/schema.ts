/**
 * The schema of the store: all tables, and the digest of them by which a store says that its tables are these.
 *
 * The digest changes with every edit of a table. A store with another one was made by another version of this program: it is refused
 * with words, and nothing in it is changed. A version is nothing but this digest: two programs with equal tables take each other's
 * stores, whatever else differs between them. So a column that is to mean something else needs another name. Two other marks tell
 * versions apart: `RECORD_MARK` that of the journal's records (`lib/ledger/records.ts`), and `PRICE_FORMAT` that of the prices in the
 * column `doc` (`catalogue/prices.ts`), which programs with equal tables may write differently.
 */
import { createHash, randomBytes } from 'node:crypto'
import { ACCOUNTS } from './accounts/accounts.ts'
import { KEY_SECRETS, KEY_USES, KEY_TABLE } from './accounts/key-rows.ts'
import { LEASES } from './books/books.ts'
import { DISPUTES } from './books/disputes.ts'
import { ENTRIES } from './books/entries.ts'
import { HOLDERS } from './books/holders.ts'
import { PURSES } from './books/purses.ts'
import { APPLIED_ROWS } from './catalogue/applied.ts'
import { CATALOG_ROWS } from './catalogue/catalogue.ts'
import { PRICE_VERSIONS } from './catalogue/prices.ts'
import { PAY_TABLES } from './payments/tables.ts'
import { PEOPLE } from './people/tables.ts'
import { CHANNEL_BALANCES, MODEL_STATS, PLACES, RATE_WINDOWS, TRAFFIC, UNCOVERED } from './shared-state.ts'
import { ACTION_TABLE } from './base/actions.ts'
import { CHANGES } from './base/changes.ts'
import type { Driver } from './base/driver.ts'
import { StoreUnavailable } from './base/errors.ts'
import { createTable, type Table } from './base/tables.ts'
import { REFUSALS } from './usage/refusals.ts'
import { USAGE_LOG } from './usage/rows.ts'
import { CHARGED_HOURS, USAGE_SUMS } from './usage/sums.ts'

/** Counters and the digest of the store, each by its name; `schema.ts` says which there are from the start. */
const META: Table = { name: 'meta', columns: { name: 'code', value: 'int' }, key: ['name'] }

export const TABLES: readonly Table[] = [
  META,
  ACCOUNTS,
  KEY_TABLE,
  KEY_SECRETS,
  KEY_USES,
  PURSES,
  LEASES,
  HOLDERS,
  CATALOG_ROWS,
  APPLIED_ROWS,
  CHANGES,
  MODEL_STATS,
  UNCOVERED,
  RATE_WINDOWS,
  PLACES,
  PRICE_VERSIONS,
  ENTRIES,
  CHARGED_HOURS,
  USAGE_LOG,
  USAGE_SUMS,
  DISPUTES,
  REFUSALS,
  TRAFFIC,
  CHANNEL_BALANCES,
  ACTION_TABLE,
  ...PEOPLE,
  ...PAY_TABLES,
]

/** 48 bits, so that it is an exact number in JavaScript. */
const DIGEST = createHash('sha256').update(JSON.stringify(TABLES)).digest().readUIntBE(0, 6)

/** Counters that a store has from the start: of changes, of versions of prices, and the moment of the last pruning. */
const COUNTERS = ['changes', 'prices', 'prune']

const EMPTY = 'store: it has no tables yet: run `gateway migrate`'
const OTHER =
  'store: it was made by another version of this program, which has other tables, and cannot be upgraded. Nothing was ' +
  'changed in it. Start the version that made it, or name another place in `store`'

/** The digest of the tables that the store was made with; null = there are no tables. */
async function digestOf(driver: Driver): Promise<number | null> {
  const rows = await driver.query('schema', "SELECT value FROM meta WHERE name = 'schema'", []).catch(error => {
    if (error instanceof StoreUnavailable) throw error
    return [] // there is no such table
  })
  return rows[0] === undefined ? null : Number(rows[0]['value'])
}

/** Throws an Error that says what to do when the store has no tables or those of another version. */
export async function wantSchema(driver: Driver): Promise<void> {
  const digest = await digestOf(driver)
  if (digest !== DIGEST) throw new Error(digest === null ? EMPTY : OTHER)
}

/** The random id of this store. Every journal record names it, so that no journal is applied to another store. */
export async function storeId(driver: Driver): Promise<number> {
  const [row] = await driver.query('storeId', "SELECT value FROM meta WHERE name = 'store'", [])
  if (row === undefined) throw new Error(EMPTY)
  return Number(row['value'])
}

/**
 * Makes the tables unless they are there. Several processes may do so at the same time; the digest comes last, so that whoever
 * finds it finds all tables. Throws when the store is that of another version, or when the engine fails `Driver.prove`.
 */
export async function makeTables(driver: Driver): Promise<void> {
  const { dialect } = driver
  const digest = await digestOf(driver)
  if (digest !== null && digest !== DIGEST) throw new Error(OTHER)
  if (digest === null) await driver.script(createTable(META, dialect))
  await driver.prove()
  if (digest !== null) return
  const put = (name: string, value: number) =>
    `INSERT ${dialect.ignore} INTO meta (name, value) VALUES ('${name}', ${value})`
  await driver.script([
    ...TABLES.flatMap(table => createTable(table, dialect)),
    ...COUNTERS.map(name => put(name, 0)),
    put('store', randomBytes(6).readUIntBE(0, 6)),
    put('schema', DIGEST),
  ])
}
