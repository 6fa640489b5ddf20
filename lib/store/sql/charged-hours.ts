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
