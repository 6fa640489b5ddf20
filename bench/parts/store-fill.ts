/**
 * Millions of usage rows in a minute or two, past the store's interface, and the purses raised by what they charge, so that
 * the books add up as if every row had been settled.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import mysql from 'mysql2/promise'
import { USAGE_COLUMNS } from '../../lib/store/sql/settle.ts'
import type { UsageRow } from '../../lib/terms/records.ts'
import { type Books, rows } from './store-rows.ts'

export const FILL_FROM_MS = Date.UTC(2026, 0, 1)
const FILL_DAYS = 150
const FILE_ROWS = 500_000

/** In the order of USAGE_COLUMNS. */
const valuesOf = (row: UsageRow) => [
  row.requestId,
  row.accountId,
  row.keyId,
  row.group,
  row.protocol,
  row.model,
  row.channel,
  row.status,
  row.end,
  row.basis,
  row.charge,
  row.firstByteMs,
  row.durationMs,
  row.input,
  row.cache_read,
  row.cache_write_5m,
  row.cache_write_1h,
  row.output,
  row.images,
  row.answerId,
  row.upstreamKey,
]

export const fillStepMs = (count: number): number => Math.max(1, Math.floor((FILL_DAYS * 86_400_000) / count))

/** Resolves with the seconds it took. */
export async function fillUsage(url: string, { keys }: Books, count: number): Promise<number> {
  const began = performance.now()
  const charged = new Map<string, number>()
  const all = function* () {
    for (const row of rows(keys, count, FILL_FROM_MS, fillStepMs(count), 2)) {
      for (const purse of [`a${row.accountId}`, `k${row.keyId}`])
        charged.set(purse, (charged.get(purse) ?? 0) + row.charge)
      yield valuesOf(row)
    }
  }
  if (url.startsWith('sqlite:')) fillSqlite(url.slice('sqlite:'.length), all(), charged)
  else await fillMysql(url, all(), charged)
  return (performance.now() - began) / 1000
}

type Values = Iterable<(string | number | null)[]>

function fillSqlite(file: string, all: Values, charged: Map<string, number>): void {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN')
  const insert = db.prepare(
    `INSERT INTO usage_rows (${USAGE_COLUMNS}) VALUES (${Array(USAGE_COLUMNS.split(',').length).fill('?').join(', ')})`,
  )
  for (const values of all) insert.run(...values)
  const raise = db.prepare('UPDATE purses SET promised = promised + ? WHERE id = ?')
  for (const [purse, amount] of charged) raise.run(BigInt(amount), purse)
  db.exec('COMMIT')
  db.close()
}

async function fillMysql(url: string, all: Values, charged: Map<string, number>): Promise<void> {
  const connection = await mysql.createConnection(url)
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-fill-'))
  const file = path.join(folder, 'rows.tsv')
  const load = async (lines: string[]) => {
    writeFileSync(file, lines.join(''), { mode: 0o644 })
    await connection.query(`LOAD DATA INFILE '${file}' INTO TABLE usage_rows CHARACTER SET utf8mb4 (${USAGE_COLUMNS})`)
  }
  let lines: string[] = []
  for (const values of all) {
    lines.push(`${values.map(value => value ?? '\\N').join('\t')}\n`)
    if (lines.length < FILE_ROWS) continue
    await load(lines)
    lines = []
  }
  await load(lines)
  for (const [purse, amount] of charged)
    await connection.query('UPDATE purses SET promised = promised + ? WHERE id = ?', [amount, purse])
  await connection.end()
  rmSync(folder, { recursive: true, force: true })
}
