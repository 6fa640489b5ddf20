/**
 * Reads a part of an account's ledger: entries, charges by the hour of booking, and the balance after them. All is read
 * in one snapshot, so that the balance is that of the entries and charges shown.
 */
import { micro } from '../../base/money.ts'
import type { Driver, Row, Statements } from '../driver.ts'
import type { BookFilter, BookPage } from '../entry-store.ts'
import { HOUR_MS } from './charged-hours.ts'
import { toEntry } from './entries.ts'
import { integer, integerOrNull, money } from './text.ts'

/** A day has at most this many hours, when summer time ends in it. */
const DAY_HOURS = 25
const ENTRIES =
  'SELECT seq, kind, reference, amount, booked_at_ms, actor, note FROM entries ' +
  'WHERE account_id = ? AND booked_at_ms >= ? AND booked_at_ms < ? AND seq < ? ' +
  'ORDER BY booked_at_ms DESC, seq DESC LIMIT ?'
const CREDITS =
  'SELECT COALESCE(SUM(amount), 0) AS total FROM entries WHERE account_id = ? AND booked_at_ms < ? AND seq < ?'
const HOURS =
  'SELECT hour_no, charge FROM charged_hours WHERE account_id = ? AND hour_no >= ? AND hour_no < ? ' +
  'ORDER BY hour_no DESC LIMIT ?'
const CHARGES = 'SELECT COALESCE(SUM(charge), 0) AS total FROM charged_hours WHERE account_id = ? AND hour_no < ?'

const toCharge = (row: Row) => ({ atMs: integer(row, 'hour_no') * HOUR_MS, charge: money(row, 'charge') })

async function read(tx: Statements, accountId: number, filter: BookFilter): Promise<BookPage> {
  const { fromMs, toMs, beforeSeq = Number.MAX_SAFE_INTEGER, chargesToMs = toMs, limit } = filter
  const [fromHour, toHour] = [fromMs, chargesToMs].map(ms => Math.floor(ms / HOUR_MS)) as [number, number]
  const entries = await tx.query(ENTRIES, [accountId, fromMs, toMs, beforeSeq, limit])
  // The page shows at most `limit` days of charges. One day more makes sure that the last of these is whole.
  const hours = await tx.query(HOURS, [accountId, fromHour, toHour, (limit + 1) * DAY_HOURS])
  const [credits] = await tx.query(CREDITS, [accountId, toMs, beforeSeq])
  const [charges] = await tx.query(CHARGES, [accountId, toHour])
  return {
    entries: entries.map(toEntry),
    charges: hours.map(toCharge),
    balance: micro(integer(credits!, 'total') - integer(charges!, 'total')),
  }
}

export const book = (driver: Driver, accountId: number, filter: BookFilter): Promise<BookPage> =>
  driver.snapshot('book', tx => read(tx, accountId, filter))

const FIRST_BOOKED =
  'SELECT (SELECT MIN(booked_at_ms) FROM entries WHERE account_id = ?) AS entry_ms, ' +
  '(SELECT MIN(hour_no) FROM charged_hours WHERE account_id = ?) AS hour_no'

export async function firstBookedMs(driver: Driver, accountId: number): Promise<number | null> {
  const [row] = await driver.query('firstBookedMs', FIRST_BOOKED, [accountId, accountId])
  const [entryMs, hour] = [integerOrNull(row!, 'entry_ms'), integerOrNull(row!, 'hour_no')]
  if (hour === null) return entryMs
  return Math.min(entryMs ?? Number.POSITIVE_INFINITY, hour * HOUR_MS)
}
