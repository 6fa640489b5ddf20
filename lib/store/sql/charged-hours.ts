/**
 * Charges added up by account and hour of booking. The transaction that books a batch raises the sums, with one upsert
 * for each account of the batch, in the order of the accounts and as its last statement, so that two transactions never
 * wait for each other, and wait briefly.
 */
import type { UsageRow } from '../../terms/records.ts'
import type { Dialect, Statements } from '../driver.ts'
import { integer } from './text.ts'

export const HOUR_MS = 3_600_000
const TABLE = 'charged_hours'
const INTO = `INSERT INTO ${TABLE} (account_id, hour_no, charge)`

/** The time at which a batch is booked, by the store's clock. One time for all its rows keeps rows and sums in agreement. */
export async function bookingTime(tx: Statements, dialect: Dialect): Promise<number> {
  if (dialect.now === null) return Date.now() // the engine runs on this machine's clock
  const [row] = await tx.query(`SELECT ${dialect.nowMs} AS now`, [])
  return integer(row!, 'now')
}

export async function raiseChargedHours(
  tx: Statements,
  dialect: Dialect,
  rows: readonly UsageRow[],
  bookedAtMs: number,
): Promise<void> {
  const charges = new Map<number, number>()
  for (const { accountId, charge } of rows) {
    if (charge !== 0) charges.set(accountId, (charges.get(accountId) ?? 0) + charge)
  }
  if (charges.size === 0) return
  const hour = Math.floor(bookedAtMs / HOUR_MS)
  const sums = [...charges].sort(([a], [b]) => a - b).map(([accountId, charge]) => [accountId, hour, charge])
  await tx.insert({ into: INTO, row: '(?, ?, ?)', end: dialect.raise(['account_id', 'hour_no'], ['charge']) }, sums)
}

const HOUR_OF_LOG = `(booked_at_ms - booked_at_ms % ${HOUR_MS}) / ${HOUR_MS}`
const HOUR_OF_PRUNING = `(SELECT (value - value % ${HOUR_MS}) / ${HOUR_MS} FROM meta WHERE name = 'prune')`

/**
 * The statement of a migration that adds up a log which is there already. Of pruned rows it is known only how much they
 * charged, and that all of them were before the last pruning: they count as booked at that moment.
 */
export const fillChargedHours = ({ ignore }: Dialect): string =>
  `INSERT ${ignore} INTO ${TABLE} (account_id, hour_no, charge) ` +
  'SELECT account_id, hour_no, SUM(charge) FROM (' +
  `SELECT account_id, ${HOUR_OF_LOG} AS hour_no, charge FROM usage_log WHERE charge <> 0 UNION ALL ` +
  `SELECT id, ${HOUR_OF_PRUNING}, archived FROM accounts WHERE archived <> 0) charges ` +
  'GROUP BY account_id, hour_no'
