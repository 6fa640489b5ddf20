/**
 * Reads pages of the usage log, newest first by arrival; rows of one millisecond are in the order of their booking.
 *
 * A page of everything, of an account or of a key is one range of an index. A filter by model, group, channel, protocol
 * or outcome has no index: the newest rows are looked through first, which is enough where matching rows are frequent.
 * Where they are rare, the sums tell in which hours which keys have such rows, and only these ranges are read
 * (`usage-rare.ts`).
 */
import { attemptIds, timeOfId } from '../../base/ids.ts'
import type { Dialect, Driver, ReadingDriver, Statements } from '../driver.ts'
import type { BookedRow, UsageFilter } from '../types.ts'
import { openDisputes } from './disputes.ts'
import { integer, marks, padded } from './text.ts'
import {
  lookThrough,
  ownerConditions,
  type Place,
  paramsOf,
  timeConditions,
  traitConditions,
  usagePage,
  whereOf,
} from './usage-page.ts'
import { rarePage } from './usage-rare.ts'
import { toBookedRow, USAGE_COLUMNS } from './usage-rows.ts'

/** Rows in a slice of an export. */
const SLICE = 1_000

/**
 * The filter without its account when it names a key too, because the index by key then finds the rows. null when the
 * key belongs to another account, so that no row can match.
 */
async function narrowed(tx: Statements, filter: UsageFilter): Promise<UsageFilter | null> {
  const { accountId, ...rest } = filter
  if (accountId === undefined || rest.keyId === undefined) return filter
  const [key] = await tx.query('SELECT account_id FROM api_keys WHERE id = ?', [rest.keyId])
  return key !== undefined && integer(key, 'account_id') === accountId ? rest : null
}

/** Where the request stands after which a page begins. A request that is not in the log stands before its millisecond. */
async function placeOf(tx: Statements, { after }: UsageFilter): Promise<Place | null> {
  if (after === undefined) return null
  const [row] = await tx.query('SELECT at_ms, seq FROM usage_log WHERE request_id = ?', [after])
  if (row === undefined) return { atMs: timeOfId(after), seq: 0 }
  return { atMs: integer(row, 'at_ms'), seq: integer(row, 'seq') }
}

async function readRows(tx: Statements, seqs: readonly number[]): Promise<BookedRow[]> {
  if (seqs.length === 0) return []
  const sql = `SELECT ${USAGE_COLUMNS} FROM usage_log WHERE seq IN (${marks(padded(seqs).length)}) ORDER BY at_ms DESC, seq DESC`
  return (await tx.query(sql, padded(seqs))).map(toBookedRow)
}

async function ofOneRequest(tx: Statements, filter: UsageFilter, requestId: string): Promise<BookedRow[]> {
  const all = [
    ['request_id = ?', requestId] as const,
    ...ownerConditions(filter),
    ...timeConditions(filter, await placeOf(tx, filter)),
    ...traitConditions(filter),
  ]
  return (await tx.query(`SELECT ${USAGE_COLUMNS} FROM usage_log ${whereOf(all)}`, paramsOf(all))).map(toBookedRow)
}

/** There are few disputes, so all that are open are looked through. */
async function disputedPage(tx: Statements, filter: UsageFilter, dialect: Dialect): Promise<BookedRow[]> {
  const [now] = await tx.query(`SELECT ${dialect.nowMs} AS now`, [])
  const [open, ...since] = openDisputes(integer(now!, 'now'))
  const all = [
    ...ownerConditions(filter),
    ...timeConditions(filter, null),
    ...traitConditions(filter),
    ...(filter.after === undefined ? [] : [['request_id < ?', filter.after] as const]),
  ]
  const from = `FROM (${open}) open_disputes JOIN usage_log ON request_id = disputed_id `
  const sql = `SELECT ${USAGE_COLUMNS} ${from}${whereOf(all)}ORDER BY request_id DESC LIMIT ?`
  return (await tx.query(sql, [...since, ...paramsOf(all), filter.limit])).map(toBookedRow)
}

export const attemptsOf = (driver: Driver, requestId: string): Promise<BookedRow[]> =>
  driver.snapshot('attemptsOf', async tx => {
    const sql = `SELECT ${USAGE_COLUMNS} FROM usage_log WHERE request_id > ? AND request_id < ? ORDER BY seq`
    return (await tx.query(sql, attemptIds(requestId))).map(toBookedRow)
  })

async function readPage(
  tx: Statements,
  filter: UsageFilter,
  before: Place | null,
  dialect: Dialect,
): Promise<BookedRow[]> {
  const traits = traitConditions(filter)
  if (traits.length === 0) return (await tx.query(...usagePage(filter, before, [], dialect))).map(toBookedRow)
  const found = await tx.query(...lookThrough(filter, before, traits, dialect))
  if (found.length < filter.limit) return rarePage(tx, filter, before, dialect)
  const seqs = found.map(row => integer(row, 'seq'))
  return readRows(tx, seqs)
}

export const usage = (driver: ReadingDriver, asked: UsageFilter): Promise<BookedRow[]> =>
  driver.snapshot('usage', async tx => {
    if (asked.requestId !== undefined) return ofOneRequest(tx, asked, asked.requestId)
    if (asked.disputed !== undefined) return disputedPage(tx, asked, driver.dialect)
    const filter = await narrowed(tx, asked)
    return filter === null ? [] : readPage(tx, filter, await placeOf(tx, filter), driver.dialect)
  })

/**
 * All rows of a filter, in slices. Between two slices nothing is held in the store: rows that come or are pruned meanwhile
 * are in it or not.
 */
export async function* usageSlices(
  driver: ReadingDriver,
  asked: Omit<UsageFilter, 'limit'>,
): AsyncGenerator<BookedRow[]> {
  const slice = { ...asked, limit: SLICE }
  if (asked.requestId !== undefined) {
    yield await usage(driver, slice)
    return
  }
  for (let before: Place | null | undefined; ; ) {
    const rows: BookedRow[] = await driver.snapshot('usageSlices', async tx => {
      const filter = await narrowed(tx, slice)
      if (filter === null) return []
      if (before === undefined) before = await placeOf(tx, filter)
      return readPage(tx, filter, before, driver.dialect)
    })
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < SLICE) return
    before = { atMs: timeOfId(last.requestId), seq: last.seq }
  }
}
