/**
 * Refusals: requests of known keys that were refused before any upstream was asked. They are kept for some days so that an
 * operator can say why, and are no part of the books. At most ten of one key and reason are kept in a minute, by all
 * gateways together: the primary key has ten places for them, and what finds no place is dropped.
 */
import { MINUTE_MS } from '../../base/clock.ts'
import { keyConditions } from './requests.ts'
import { CODE_LENGTH, NAME_LENGTH, type Table, indexName } from '../base/tables.ts'
import type { Driver, Param, Row, Transaction } from '../base/driver.ts'
import type { Page, Paging, RefusedRequest, RefusalFilter } from './queries.ts'
import { compared, inOrder, integer, text } from '../base/text.ts'
import { timeOfId } from '../../base/ids.ts'
import { type Condition, whereOf, paramsOf } from './pages.ts'

export const REFUSALS: Table = {
  name: 'refusals',
  // minute: since 1970. slot: 0 to 9, so that the key itself bounds how many there are of one key and reason in a minute.
  columns: {
    minute: 'int',
    key_id: 'int',
    reason: 'code',
    slot: 'int',
    request_id: 'code',
    at_ms: 'int',
    account_id: 'int',
    model: 'name',
    status: 'int',
    address: 'code',
  },
  key: ['minute', 'key_id', 'reason', 'slot'],
  unique: [['request_id']],
  index: [
    ['account_id', 'at_ms', 'request_id'],
    ['at_ms', 'request_id'],
  ],
}

const PLACES = 10
const REFUSAL_COLUMNS = Object.keys(REFUSALS.columns)

const placeOf = ({ atMs, keyId, reason }: RefusedRequest) => [Math.floor(atMs / MINUTE_MS), keyId, reason] as const

/** The batch in groups of one key, reason and minute, in the order of these. */
function together(batch: readonly RefusedRequest[]): RefusedRequest[][] {
  const groups = new Map<string, RefusedRequest[]>()
  for (const refusal of batch) {
    const id = placeOf(refusal)
      .map(part => String(part).padStart(20, '0'))
      .join(' ')
    const group = groups.get(id)
    if (group === undefined) groups.set(id, [refusal])
    else group.push(refusal)
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}

async function recordGroup(tx: Transaction, ignore: string, group: readonly RefusedRequest[]): Promise<void> {
  const place = placeOf(group[0] as RefusedRequest)
  const [row] = await tx.query(
    'SELECT COUNT(*) AS taken FROM refusals WHERE minute = ? AND key_id = ? AND reason = ?',
    place,
  )
  const taken = integer(row!, 'taken')
  const rows = group.slice(0, Math.max(0, PLACES - taken)).map((refusal, i) => {
    const { requestId, atMs, accountId, model, status, address } = refusal
    return [
      ...place,
      taken + i,
      requestId,
      atMs,
      accountId,
      model.slice(0, NAME_LENGTH),
      status,
      address.slice(0, CODE_LENGTH),
    ]
  })
  const into = `INSERT ${ignore} INTO refusals (${REFUSAL_COLUMNS.join(', ')})`
  await tx.insert({ into, row: `(${REFUSAL_COLUMNS.map(() => '?').join(', ')})` }, rows)
}

const toRefusal = (row: Row): RefusedRequest => ({
  requestId: text(row, 'request_id'),
  atMs: integer(row, 'at_ms'),
  accountId: integer(row, 'account_id'),
  keyId: integer(row, 'key_id'),
  model: text(row, 'model'),
  reason: text(row, 'reason'),
  status: integer(row, 'status'),
  address: text(row, 'address'),
})

const MOST_SCANNED = 20_000
const OF_ACCOUNT = indexName(REFUSALS, ['account_id', 'at_ms', 'request_id'])
const OF_ALL = indexName(REFUSALS, ['at_ms', 'request_id'])
const PLACE: [string, string] = ['at_ms', 'request_id']

/** A refusal; pages have only those behind it. */
interface Place {
  atMs: number
  id: string
}

const toPlace = (row: Row): Place => ({ atMs: integer(row, 'at_ms'), id: text(row, 'request_id') })

function rangeOf({ accountId, fromMs, toMs }: RefusalFilter, place: Place | null, ascending: boolean): Condition[] {
  const all: [sql: string, value: Param | undefined][] = [
    ['account_id = ?', accountId],
    ['at_ms >= ?', fromMs],
    ['at_ms < ?', toMs],
  ]
  const used: Condition[] = all.filter((one): one is [string, Param] => one[1] !== undefined)
  return place === null ? used : [...used, compared(PLACE, ascending ? '>' : '<', [place.atMs, place.id])]
}

function fitsOf({ keyIds, model, reason, address }: RefusalFilter): Condition[] {
  const all: [sql: string, value: Param | undefined][] = [
    ['model = ?', model],
    ['reason = ?', reason],
    ['address = ?', address],
  ]
  return [...keyConditions(keyIds), ...all.filter((one): one is [string, Param] => one[1] !== undefined)]
}

async function read(
  tx: Transaction,
  using: string,
  filter: RefusalFilter,
  paging: Paging,
): Promise<Page<RefusedRequest>> {
  const { after, limit, mostScanned = MOST_SCANNED, ascending = false } = paging
  const place = after === undefined ? null : { atMs: timeOfId(after), id: after }
  const range = rangeOf(filter, place, ascending)
  const order = `${inOrder(PLACE, ascending)} LIMIT ?`
  const behind = `SELECT at_ms, request_id FROM refusals ${using} ${whereOf(range)}${order} OFFSET ?`
  const [row] = await tx.query(behind, [...paramsOf(range), 1, mostScanned - 1])
  const last = row === undefined ? null : toPlace(row)
  const looked = last === null ? [] : [compared(PLACE, ascending ? '<=' : '>=', [last.atMs, last.id])]
  const all = [...range, ...looked, ...fitsOf(filter)]
  const found = await tx.query(`SELECT * FROM refusals ${using} ${whereOf(all)}${order}`, [...paramsOf(all), limit])
  const rows = found.map(toRefusal)
  if (rows.length === limit) return { rows, next: (rows.at(-1) as RefusedRequest).requestId, scannedToMs: null }
  return { rows, next: last?.id ?? null, scannedToMs: last?.atMs ?? null }
}

/** The requests of known keys that reached no upstream. */
export class RefusalStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** Keeps refusals: of each key and reason at most ten in a minute. */
  async record(batch: readonly RefusedRequest[]): Promise<void> {
    if (batch.length === 0) return
    await this.#driver.transaction('recordRefusals', async tx => {
      for (const group of together(batch)) await recordGroup(tx, this.#driver.dialect.ignore, group)
    })
  }

  async byRequest(requestId: string): Promise<RefusedRequest | null> {
    const [row] = await this.#driver.query('refusal', 'SELECT * FROM refusals WHERE request_id = ?', [requestId])
    return row === undefined ? null : toRefusal(row)
  }

  page(filter: RefusalFilter, paging: Paging): Promise<Page<RefusedRequest>> {
    if (filter.keyIds?.length === 0) return Promise.resolve({ rows: [], next: null, scannedToMs: null })
    const using = this.#driver.dialect.using(filter.accountId === undefined ? OF_ALL : OF_ACCOUNT)
    return this.#driver.snapshot('refusalPage', tx => read(tx, using, filter, paging))
  }

  /** Deletes about `limit` refusals of before `beforeMs`, and returns how many. */
  async prune(beforeMs: number, limit: number): Promise<number> {
    const before = Math.floor(beforeMs / MINUTE_MS)
    return this.#driver.transaction('pruneRefusals', async tx => {
      const sql = 'SELECT minute FROM refusals WHERE minute < ? ORDER BY minute LIMIT 1 OFFSET ?'
      const [row] = await tx.query(sql, [before, limit])
      const end = row === undefined ? before : integer(row, 'minute') + 1
      return (await tx.run('DELETE FROM refusals WHERE minute < ?', [end])).changes
    })
  }
}
