/**
 * Writes millions of usage rows in a minute or two. It goes past the store's interface, and writes the sums over rows
 * and the money in the purses itself, so that the books add up as if every row had been settled.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import mysql from 'mysql2/promise'
import { timeOfId } from '../../lib/base/ids.ts'
import type { Param } from '../../lib/store/base/driver.ts'
import { sumsOf, USAGE_SUMS } from '../../lib/store/usage/sums.ts'
import { INSERTED_COLUMNS, toBook, usageValues, USAGE_LOG } from '../../lib/store/usage/rows.ts'
import { indexName } from '../../lib/store/base/tables.ts'
import type { UsageRow } from '../../lib/terms/usage-row.ts'
import { type Books, rows } from './store-rows.ts'

export const FILL_FROM_MS = Date.UTC(2026, 0, 1)
const FILL_DAYS = 150
const FILE_ROWS = 200_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const bookedAtMs = (row: UsageRow) => timeOfId(row.requestId) + row.durationMs
const valuesOf = (row: UsageRow): Param[] => usageValues(toBook(row), bookedAtMs(row))

export const fillStepMs = (count: number): number => Math.max(1, Math.floor((FILL_DAYS * DAY_MS) / count))

type Values = readonly Param[]
type Write = (table: string, columns: string, values: Values[]) => unknown

/** Resolves with the number of seconds that it took. */
export async function fillUsage(url: string, { keys }: Books, count: number): Promise<number> {
  const began = performance.now()
  if (url.startsWith('sqlite:')) await fillSqlite(url.slice('sqlite:'.length), rowsByDay(keys, count))
  else await fillMysql(url, rowsByDay(keys, count))
  return (performance.now() - began) / 1000
}

/** Rows in lists of whole days, so that the sums of a day come from one list. A day of the sums begins at 16:00 UTC. */
function* rowsByDay(keys: Books['keys'], count: number): Generator<UsageRow[]> {
  const dayOf = (row: UsageRow) => Math.floor((timeOfId(row.requestId) + DAY_MS / 3) / DAY_MS)
  let list: UsageRow[] = []
  for (const row of rows(keys, count, FILL_FROM_MS, fillStepMs(count), 2)) {
    const last = list.at(-1)
    if (last !== undefined && dayOf(last) !== dayOf(row)) {
      yield list
      list = []
    }
    list.push(row)
  }
  yield list
}

/** Returns what each purse was charged. */
async function write(days: Iterable<UsageRow[]>, to: Write): Promise<Map<string, number>> {
  const [charged, booked] = [new Map<string, number>(), new Map<string, number>()]
  const add = (sums: Map<string, number>, name: string, charge: number) =>
    void sums.set(name, (sums.get(name) ?? 0) + charge)
  for (const day of days) {
    for (const row of day) {
      for (const purse of [`a${row.accountId}`, `k${row.keyId}`]) add(charged, purse, row.charge)
      add(booked, `${row.accountId} ${Math.floor(bookedAtMs(row) / HOUR_MS)}`, row.charge)
    }
    for (let i = 0; i < day.length; i += FILE_ROWS)
      await to('usage_log', INSERTED_COLUMNS, day.slice(i, i + FILE_ROWS).map(valuesOf))
    await to('usage_sums', Object.keys(USAGE_SUMS.columns).join(', '), sumsOf(day.map(toBook)))
  }
  const hours = [...booked].map(([name, charge]) => [...name.split(' ').map(Number), charge])
  await to('charged_hours', 'account_id, hour_no, charge', hours)
  return charged
}

async function fillSqlite(file: string, days: Iterable<UsageRow[]>): Promise<void> {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN')
  const charged = await write(days, (table, columns, values) => {
    const marks = columns.split(',').map(() => '?')
    const insert = db.prepare(`INSERT INTO ${table} (${columns}) VALUES (${marks.join(', ')})`)
    for (const row of values) insert.run(...(row as SQLInputValue[]))
  })
  const raise = db.prepare('UPDATE purses SET promised = promised + ? WHERE id = ?')
  for (const [purse, amount] of charged) raise.run(BigInt(amount), purse)
  db.exec('COMMIT')
  db.close()
}

const LOG = 'usage_log'
/** Indexes are made at the end, which takes a fraction of the time: rows come in the order of `seq`, and entries in none. */
const dropIndexes = () => alterLog(columns => `DROP INDEX ${indexName(USAGE_LOG, columns)}`)
const addIndexes = () => [
  alterLog(columns => `ADD INDEX ${indexName(USAGE_LOG, columns)} (${columns.join(', ')})`),
  `ANALYZE TABLE ${LOG}, usage_sums`,
]
const alterLog = (change: (columns: string[]) => string): string =>
  `ALTER TABLE ${LOG} ${(USAGE_LOG.index ?? []).map(change).join(', ')}`

/** While the server reads one file, the next one is written. */
async function fillMysql(url: string, days: Iterable<UsageRow[]>): Promise<void> {
  const connection = await mysql.createConnection(url)
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-fill-'))
  await connection.query(dropIndexes())
  let files = 0
  let reading: Promise<unknown> = Promise.resolve()
  const charged = await write(days, async (table, columns, values) => {
    const file = path.join(folder, `rows-${files++ % 2}.tsv`)
    writeFileSync(file, values.map(row => `${row.map(value => value ?? '\\N').join('\t')}\n`).join(''), { mode: 0o644 })
    await reading
    reading = connection.query(`LOAD DATA INFILE '${file}' INTO TABLE ${table} CHARACTER SET utf8mb4 (${columns})`)
    reading.catch(() => {}) // is thrown by the next file, or below
  })
  await reading
  for (const sql of addIndexes()) await connection.query(sql)
  for (const [purse, amount] of charged)
    await connection.query('UPDATE purses SET promised = promised + ? WHERE id = ?', [amount, purse])
  await connection.end()
  rmSync(folder, { recursive: true, force: true })
}
