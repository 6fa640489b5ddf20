/**
 * The table `price_versions`: everything that a model's price, or a group's multiplier, has ever been. A version gets its
 * number from a counter row, whose lock a transaction holds from before it reads the catalogue until it commits. So of two
 * processes that change one price at the same time the second sees what the first has written, and numbers become
 * visible in order and without gaps.
 */
import type { Table } from '../base/tables.ts'
import type { Act, Actor } from '../../base/people.ts'
import type { Price } from '../../terms/records.ts'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import { StoreConflict } from '../base/errors.ts'
import { integer, integerOrNull, json, text } from '../base/text.ts'

export const PRICE_VERSIONS: Table = {
  name: 'price_versions',
  columns: {
    // From the counter `prices` of the table `meta`: without gaps, in the order of the commits.
    version: 'int',
    // `model` or `group`.
    kind: 'code',
    name: 'name',
    // By the store's clock; ms since 1970. It never falls from one version to the next.
    at_ms: 'int',
    actor: 'name',
    // How `doc` is to be read; see PRICE_FORMAT.
    format: 'int',
    // A model's price or a group's multiplier; null = from here on there is none, or the row was deleted.
    doc: 'doc?',
  },
  key: ['version'],
  index: [['kind', 'name', 'version'], ['at_ms']],
}

/**
 * The format of prices that this program writes; it reads this one and those before. Whoever gives prices a part that this
 * program would misread raises the number: gateways of an earlier version take a model with such a price for not priced.
 */
const PRICE_FORMAT = 1

/** Who made a version: the kind of the actor, or `import` for whoever imported a price list. */
type PriceActor = Actor['kind'] | 'import'

/** The operation by which price lists are imported. */
export const PRICE_IMPORT = 'prices.import'

export const priceActor = ({ actor, operation }: Act): PriceActor =>
  operation === PRICE_IMPORT ? 'import' : actor.kind

export interface Version<T> {
  version: number
  /** By the store's clock; ms since 1970. It never falls from one version to the next. */
  atMs: number
  /** When another version replaced this one, or its model or group was deleted; null = it is in force. */
  untilMs: number | null
  actor: string
  value: T
}

/** `before`: only versions with a smaller number. */
export interface VersionPage {
  before?: number
  limit: number
}

export type PricedKind = 'model' | 'group'

const LOCK = "UPDATE meta SET value = value WHERE name = 'prices'"
const LAST =
  'SELECT m.value AS version, v.at_ms FROM meta m LEFT JOIN price_versions v ON v.version = m.value ' +
  "WHERE m.name = 'prices'"
const COUNT = "UPDATE meta SET value = ? WHERE name = 'prices'"
const INSERT =
  'INSERT INTO price_versions (version, kind, name, at_ms, actor, format, doc) VALUES (?, ?, ?, ?, ?, ?, ?)'
const UNTIL =
  '(SELECT n.at_ms FROM price_versions n WHERE n.kind = v.kind AND n.name = v.name AND n.version > v.version ' +
  'ORDER BY n.version LIMIT 1) AS until_ms'
const HISTORY =
  `SELECT v.version, v.at_ms, ${UNTIL}, v.actor, v.format, v.doc FROM price_versions v ` +
  'WHERE v.kind = ? AND v.name = ? AND v.version < ? AND v.doc IS NOT NULL ORDER BY v.version DESC LIMIT ?'
const AT =
  `SELECT v.name, v.version, v.at_ms, ${UNTIL}, v.actor, v.format, v.doc FROM price_versions v ` +
  "JOIN (SELECT MAX(version) AS version FROM price_versions WHERE kind = 'model' AND at_ms <= ? GROUP BY name) latest " +
  'ON latest.version = v.version WHERE v.doc IS NOT NULL ORDER BY v.name'

/** Reads what the columns `format` and `doc` of a version say. */
export function versionValue(row: Row, doc = 'doc'): unknown {
  const format = integer(row, 'format')
  return format <= PRICE_FORMAT ? json<unknown>(row, doc) : ({ format } satisfies Price)
}

/** Call this in a transaction before it reads the row whose price may change. */
export const lockVersions = (tx: Transaction): Promise<unknown> => tx.run(LOCK, [])

/** `value`: null = from here on there is none. Returns the number of the version. */
export async function appendVersion(
  tx: Transaction,
  { dialect }: Driver,
  kind: PricedKind,
  name: string,
  actor: PriceActor | 'migration',
  value: Price | number | null,
): Promise<number> {
  if (value !== null && typeof value === 'object' && 'format' in value)
    throw new StoreConflict(`${kind} ${name}: its price has a format that this program does not know`)
  const [last] = await tx.query(LAST, [])
  const [clock] = await tx.query(`SELECT ${dialect.nowMs} AS now`, [])
  const version = integer(last!, 'version') + 1
  const atMs = Math.max(integer(clock!, 'now'), integerOrNull(last!, 'at_ms') ?? 0)
  const doc = value === null ? null : JSON.stringify(value)
  await tx.run(INSERT, [version, kind, name, atMs, actor, PRICE_FORMAT, doc])
  await tx.run(COUNT, [version])
  return version
}

const toVersion = <T>(row: Row): Version<T> => ({
  version: integer(row, 'version'),
  atMs: integer(row, 'at_ms'),
  untilMs: integerOrNull(row, 'until_ms'),
  actor: text(row, 'actor'),
  value: versionValue(row) as T,
})

export async function versionsOf<T>(
  driver: Driver,
  kind: PricedKind,
  name: string,
  { before = Number.MAX_SAFE_INTEGER, limit }: VersionPage,
): Promise<Version<T>[]> {
  const rows = await driver.query('priceVersions', HISTORY, [kind, name, before, limit])
  return rows.map(row => toVersion<T>(row))
}

export async function pricesAt(driver: Driver, atMs: number): Promise<(Version<Price> & { model: string })[]> {
  const rows = await driver.query('pricesAt', AT, [atMs])
  return rows.map(row => ({ model: text(row, 'name'), ...toVersion<Price>(row) }))
}
