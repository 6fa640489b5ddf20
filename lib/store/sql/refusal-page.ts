/** Reads a page of the requests of an account that were refused, newest first. */
import { timeOfId } from '../../base/ids.ts'
import type { Driver, Param, Row, Statements } from '../driver.ts'
import type { Page, Paging, RefusalFilter } from '../request-store.ts'
import { indexName } from '../tables.ts'
import type { Refusal } from '../usage-store.ts'
import { REFUSALS } from '../usage-tables.ts'
import { toRefusal } from './refusals.ts'
import { keyConditions } from './request-page.ts'
import { integer, text } from './text.ts'
import { type Condition, paramsOf, whereOf } from './usage-page.ts'

const MOST_SCANNED = 20_000
const INDEX = indexName(REFUSALS, ['account_id', 'at_ms', 'request_id'])
const ORDER = 'ORDER BY at_ms DESC, request_id DESC LIMIT ?'

/** A refusal; pages have only those behind it. */
interface Place {
  atMs: number
  id: string
}

const toPlace = (row: Row): Place => ({ atMs: integer(row, 'at_ms'), id: text(row, 'request_id') })

function rangeOf({ accountId, fromMs, toMs }: RefusalFilter, before: Place | null): Condition[] {
  const all: [sql: string, value: Param | undefined][] = [
    ['account_id = ?', accountId],
    ['at_ms >= ?', fromMs],
    ['at_ms < ?', toMs],
    ['at_ms <= ?', before?.atMs],
  ]
  const used: Condition[] = all.filter((one): one is [string, Param] => one[1] !== undefined)
  return before === null ? used : [...used, ['(at_ms < ? OR request_id < ?)', before.atMs, before.id]]
}

function fitsOf({ keyIds, model, reason }: RefusalFilter): Condition[] {
  const all: [sql: string, value: Param | undefined][] = [
    ['model = ?', model],
    ['reason = ?', reason],
  ]
  return [...keyConditions(keyIds), ...all.filter((one): one is [string, Param] => one[1] !== undefined)]
}

async function read(tx: Statements, using: string, filter: RefusalFilter, paging: Paging): Promise<Page<Refusal>> {
  const { after, limit, mostScanned = MOST_SCANNED } = paging
  const before = after === undefined ? null : { atMs: timeOfId(after), id: after }
  const range = rangeOf(filter, before)
  const behind = `SELECT at_ms, request_id FROM refusals ${using} ${whereOf(range)}${ORDER} OFFSET ?`
  const [row] = await tx.query(behind, [...paramsOf(range), 1, mostScanned - 1])
  const last = row === undefined ? null : toPlace(row)
  const looked: Condition[] =
    last === null
      ? range
      : [...range, ['at_ms >= ?', last.atMs], ['(at_ms > ? OR request_id >= ?)', last.atMs, last.id]]
  const all = [...looked, ...fitsOf(filter)]
  const found = await tx.query(`SELECT * FROM refusals ${using} ${whereOf(all)}${ORDER}`, [...paramsOf(all), limit])
  const rows = found.map(toRefusal)
  if (rows.length === limit) return { rows, next: (rows.at(-1) as Refusal).requestId, scannedToMs: null }
  return { rows, next: last?.id ?? null, scannedToMs: last?.atMs ?? null }
}

export function refusalPage(driver: Driver, filter: RefusalFilter, paging: Paging): Promise<Page<Refusal>> {
  if (filter.keyIds?.length === 0) return Promise.resolve({ rows: [], next: null, scannedToMs: null })
  return driver.snapshot('refusalPage', tx => read(tx, driver.dialect.using(INDEX), filter, paging))
}
