/**
 * Reads a page of the requests of an account. Rows are looked through in the order of one index, some thousands at a time,
 * until the page is full, enough rows have been looked at, or enough time has passed. What a filter asks of columns that
 * the sums have too (`usage_sums`) also says in which hours there are such rows, so that the other hours are passed over.
 */
import { withoutUndefined } from '../../base/objects.ts'
import { HOUR_MS } from '../../base/clock.ts'
import { idAt } from '../../base/ids.ts'
import type { Dialect, Driver, Param, ReadingDriver, Transaction } from '../base/driver.ts'
import type { AccountKeys, Page, Paging, RequestFilter } from './queries.ts'
import { type BookedRow, USAGE_COLUMNS, USAGE_LOG, answerKey, toBookedRow } from './rows.ts'
import { indexName } from '../base/tables.ts'
import { integer, binds, compared, inOrder, padded, text } from '../base/text.ts'
import {
  type Condition,
  type LogPlace,
  fittingHours,
  paramsOf,
  whereOf,
  logPlaceOf,
  timeConditions,
  traitConditions,
} from './pages.ts'

/** Rows that are looked through with one statement. */
const CHUNK = 4_000
const MOST_SCANNED = 100_000
const MOST_MS = 200
const BY_ACCOUNT = indexName(USAGE_LOG, ['account_id', 'at_ms', 'seq', 'charge'])
const BY_KEY = indexName(USAGE_LOG, ['key_id', 'at_ms'])
const PLACE: [string, string] = ['at_ms', 'seq']

/** A row of an attempt is no request. */
const REQUESTS: Condition = ["outcome <> 'attempt'"]

export const keyConditions = (keyIds: readonly number[] | null | undefined): Condition[] => {
  if (keyIds == null) return []
  const ids = padded(keyIds)
  return [[`key_id IN (${binds(ids.length)})`, ...ids]]
}

function rowConditions(filter: RequestFilter): Condition[] {
  const { statusClass, end, basis, chargeFrom, durationFromMs } = filter
  const all: [sql: string, value: Param | undefined][] = [
    ['status >= ?', statusClass && statusClass * 100],
    ['status < ?', statusClass && statusClass * 100 + 100],
    ['ended = ?', end],
    ['basis = ?', basis],
    ['charge >= ?', chargeFrom],
    ['duration_ms >= ?', durationFromMs],
  ]
  return all.filter((one): one is [string, Param] => one[1] !== undefined)
}

/** A part of the log that is one range of an index, read from its newest row on unless it is `ascending`. */
export interface LogRange {
  owner: { keyId: number } | { accountId: number }
  ascending: boolean
  fromMs?: number
  toMs?: number
}

const from = ({ owner }: LogRange, { using }: Dialect) =>
  `FROM usage_log ${using('keyId' in owner ? BY_KEY : BY_ACCOUNT)} `

const rangeConditions = (range: LogRange, place: LogPlace | null): Condition[] => [
  'keyId' in range.owner ? ['key_id = ?', range.owner.keyId] : ['account_id = ?', range.owner.accountId],
  ...timeConditions(range, place, range.ascending),
]

/** The place of the last of so many rows of a range; the index alone answers it. */
export function placeBehind(
  range: LogRange,
  place: LogPlace | null,
  rows: number,
  dialect: Dialect,
): [string, Param[]] {
  const all = rangeConditions(range, place)
  const sql = `SELECT at_ms, seq ${from(range, dialect)}${whereOf(all)}${inOrder(PLACE, range.ascending)} LIMIT ? OFFSET ?`
  return [sql, [...paramsOf(all), 1, rows - 1]]
}

/** The rows of a range that fit, from one place, not included, to another one, included. */
export function rowsBetween(
  range: LogRange,
  place: LogPlace | null,
  last: LogPlace | null,
  fits: readonly Condition[],
  limit: number,
  dialect: Dialect,
): [string, Param[]] {
  const all: Condition[] = [
    ...rangeConditions(range, place),
    ...(last === null ? [] : [compared(PLACE, range.ascending ? '<=' : '>=', [last.atMs, last.seq])]),
    ...fits,
  ]
  return [
    `SELECT ${USAGE_COLUMNS} ${from(range, dialect)}${whereOf(all)}${inOrder(PLACE, range.ascending)} LIMIT ?`,
    [...paramsOf(all), limit],
  ]
}

/** One page while it is read. */
class Scan {
  readonly rows: BookedRow[] = []
  readonly #tx: Transaction
  readonly #dialect: Dialect
  readonly #limit: number
  readonly #most: number
  readonly #untilMs = performance.now() + MOST_MS
  #scanned = 0
  /** All rows from where the page begins up to this place have been looked at. */
  place: LogPlace | null

  constructor(tx: Transaction, dialect: Dialect, { limit, mostScanned }: Paging, place: LogPlace | null) {
    this.#tx = tx
    this.#dialect = dialect
    this.#limit = limit
    this.#most = mostScanned ?? MOST_SCANNED
    this.place = place
  }

  get full(): boolean {
    return this.rows.length >= this.#limit
  }

  get spent(): boolean {
    return this.#scanned >= this.#most || performance.now() >= this.#untilMs
  }

  /** Looks through some rows of a range. True when the range has no more. */
  async step(range: LogRange, fits: readonly Condition[]): Promise<boolean> {
    const chunk = Math.min(CHUNK, this.#most)
    const [end] = await this.#tx.query(...placeBehind(range, this.place, chunk, this.#dialect))
    const last = end === undefined ? null : { atMs: integer(end, 'at_ms'), seq: integer(end, 'seq') }
    await this.#read(range, last, fits)
    this.#scanned += chunk
    this.place = last ?? this.place
    return last === null
  }

  async #read(range: LogRange, last: LogPlace | null, fits: readonly Condition[]): Promise<void> {
    const left = this.#limit - this.rows.length
    const found = await this.#tx.query(...rowsBetween(range, this.place, last, fits, left, this.#dialect))
    for (const row of found) this.rows.push(toBookedRow(row))
  }

  /** The first rows of a range of which nearly all fit. */
  first = (range: LogRange, fits: readonly Condition[]): Promise<void> => this.#read(range, null, fits)

  /** Looks through a range. False when the page is full, or enough has been looked at, before its end. */
  async through(range: LogRange, fits: readonly Condition[]): Promise<boolean> {
    while (!(await this.step(range, fits))) if (this.full || this.spent) return false
    return true
  }
}

async function cursorOf(tx: Transaction, { atMs, seq }: LogPlace): Promise<string> {
  if (seq === 0) return idAt(atMs)
  const [row] = await tx.query('SELECT request_id FROM usage_log WHERE seq = ?', [seq])
  return row === undefined ? idAt(atMs) : text(row, 'request_id')
}

const ownerOf = ({ accountId, keyIds }: AccountKeys): LogRange['owner'] =>
  keyIds?.length === 1 ? { keyId: keyIds[0] as number } : { accountId }

const timesOf = ({ fromMs, toMs }: RequestFilter): Pick<LogRange, 'fromMs' | 'toMs'> =>
  withoutUndefined({ fromMs, toMs })

/** Looks through everything, or through the hours of which the sums say that they have such rows. True at the end. */
async function scanAll(tx: Transaction, scan: Scan, filter: RequestFilter, ascending: boolean): Promise<boolean> {
  const all: LogRange = { owner: ownerOf(filter), ascending, ...timesOf(filter) }
  const inSums = [...traitConditions(filter), ...('keyId' in all.owner ? [] : keyConditions(filter.keyIds))]
  const ofRows = rowConditions(filter)
  const fits = [REQUESTS, ...inSums, ...ofRows]
  if (inSums.length + ofRows.length === 0) {
    await scan.first(all, fits)
    return true
  }
  if (await scan.step(all, fits)) return true
  if (scan.full) return false
  if (inSums.length === 0) return scan.through(all, fits)
  const owner: Condition[] = [['account_id = ?', filter.accountId], ...keyConditions(filter.keyIds), REQUESTS]
  const more = [...owner, ...traitConditions(filter)]
  for await (const { hour, keys } of fittingHours(tx, filter, scan.place, more, ascending)) {
    if (scan.spent) return false
    const within = { fromMs: Math.max(filter.fromMs ?? 0, hour * HOUR_MS), toMs: (hour + 1) * HOUR_MS }
    const range: LogRange = {
      owner: keys?.length === 1 ? { keyId: keys[0] as number } : ownerOf(filter),
      ascending,
      fromMs: within.fromMs,
      toMs: Math.min(filter.toMs ?? within.toMs, within.toMs),
    }
    if (!(await scan.through(range, fits))) return false
    scan.place = { atMs: ascending ? within.toMs : within.fromMs, seq: 0 }
    if (scan.full) return false
  }
  return true
}

/** Requests, one row for each. A page without account-wide filters takes one range of an index. */
export function requestPage(driver: ReadingDriver, filter: RequestFilter, paging: Paging): Promise<Page<BookedRow>> {
  if (filter.keyIds?.length === 0) return Promise.resolve({ rows: [], next: null, scannedToMs: null })
  return driver.snapshot('requestPage', async tx => {
    const scan = new Scan(tx, driver.dialect, paging, await logPlaceOf(tx, paging.after, filter.accountId))
    const ended = await scanAll(tx, scan, filter, paging.ascending === true)
    const { rows, place } = scan
    if (scan.full) return { rows, next: (rows.at(-1) as BookedRow).requestId, scannedToMs: null }
    if (ended || place === null) return { rows, next: null, scannedToMs: null }
    return { rows, next: await cursorOf(tx, place), scannedToMs: place.atMs }
  })
}

/** A client may give all its requests the same id. */
const MOST_OF_AN_ID = 50

const ID_COLUMNS: [column: string, index: string, value: (id: string) => string][] = [
  ['request_id', indexName(USAGE_LOG, ['request_id']), id => id],
  ['client_request_id', indexName(USAGE_LOG, ['account_id', 'client_request_id']), id => id],
  ['answer_id', indexName(USAGE_LOG, ['account_id', 'answer_id']), answerKey],
]

/** Requests with this id, with this id of the client's own, or whose answer has this id, in the order of booking: some dozens. */
export function requestsOfId(
  driver: Driver,
  { accountId, keyIds }: AccountKeys,
  id: string,
  ascending = false,
): Promise<BookedRow[]> {
  if (keyIds?.length === 0) return Promise.resolve([])
  const sign = ascending ? 1 : -1
  return driver.snapshot('requestsOfId', async tx => {
    const found = new Map<number, BookedRow>()
    for (const [column, index, value] of ID_COLUMNS) {
      const owner: Condition[] = [['account_id = ?', accountId], ...keyConditions(keyIds), REQUESTS]
      const all: Condition[] = [[`${column} = ?`, value(id)], ...owner]
      const table = `usage_log ${driver.dialect.using(index)}`
      const sql = `SELECT ${USAGE_COLUMNS} FROM ${table} ${whereOf(all)}${inOrder(['seq'], ascending)} LIMIT ${MOST_OF_AN_ID}`
      for (const row of (await tx.query(sql, paramsOf(all))).map(toBookedRow)) found.set(row.seq, row)
    }
    return [...found.values()].sort((a, b) => sign * (a.seq - b.seq)).slice(0, MOST_OF_AN_ID)
  })
}
