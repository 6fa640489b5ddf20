/**
 * Reads pages of usage rows, newest first. Request ids sort by time, so a page or a period is one range of the primary
 * key, or of an index that begins with the columns of the filter (account or key, model).
 */
import { idAt } from '../../base/ids.ts'
import { NOT_RECORDED, type UsageRow } from '../../terms/records.ts'
import type { Dialect, Driver, Param, Row, Statements } from '../driver.ts'
import type { UsageFilter } from '../store.ts'
import { indexName } from '../tables.ts'
import { USAGE_COLUMNS } from './settle.ts'
import { integer, integerOrNull, money, text, textOrNull } from './text.ts'

const toUsageRow = (row: Row): UsageRow => ({
  ...NOT_RECORDED,
  requestId: text(row, 'request_id'),
  accountId: integer(row, 'account_id'),
  keyId: integer(row, 'key_id'),
  group: text(row, 'group_name'),
  protocol: text(row, 'protocol') as UsageRow['protocol'],
  model: text(row, 'model'),
  channel: text(row, 'channel'),
  status: integer(row, 'status'),
  end: text(row, 'ended') as UsageRow['end'],
  basis: text(row, 'basis') as UsageRow['basis'],
  charge: money(row, 'charge'),
  firstByteMs: integerOrNull(row, 'first_byte_ms'),
  durationMs: integer(row, 'duration_ms'),
  answerId: textOrNull(row, 'answer_id'),
  upstreamKey: textOrNull(row, 'upstream_key'),
  input: integer(row, 'input'),
  cache_read: integer(row, 'cache_read'),
  cache_write_5m: integer(row, 'cache_write_5m'),
  cache_write_1h: integer(row, 'cache_write_1h'),
  output: integer(row, 'output'),
  images: integer(row, 'images'),
})

function conditions(filter: UsageFilter): [string, Param][] {
  const all: [string, Param | undefined][] = [
    ['key_id = ?', filter.keyId],
    ['account_id = ?', filter.accountId],
    ['model = ?', filter.model],
    ['request_id = ?', filter.requestId],
    ['request_id >= ?', filter.fromMs === undefined ? undefined : idAt(filter.fromMs)],
    ['request_id < ?', filter.toMs === undefined ? undefined : idAt(filter.toMs)],
    ['request_id < ?', filter.after],
  ]
  return all.filter((entry): entry is [string, Param] => entry[1] !== undefined)
}

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

export function usage(driver: Driver, filter: UsageFilter): Promise<UsageRow[]> {
  return driver.snapshot('usage', async tx => {
    const wanted = await narrowed(tx, filter)
    if (wanted === null) return []
    const [sql, params] = usagePage(wanted, driver.dialect)
    return (await tx.query(sql, params)).map(toUsageRow)
  })
}

/**
 * The columns of the index whose range is the page; null for the primary key. The statement forces this index, because
 * a planner that does not know how rare a value is may choose to scan the table.
 */
function indexFor({ accountId, keyId, model, requestId }: UsageFilter): string[] | null {
  if (requestId !== undefined) return null
  const owner = keyId !== undefined ? ['key_id'] : accountId !== undefined ? ['account_id'] : []
  if (model !== undefined) return [...owner, 'model', 'request_id']
  if (owner.length === 0) return null
  return [...owner, 'request_id', ...(keyId === undefined ? ['charge'] : [])]
}

export function usagePage(filter: UsageFilter, dialect: Dialect): [sql: string, params: Param[]] {
  const where = conditions(filter)
  const index = indexFor(filter)
  const sql =
    `SELECT ${USAGE_COLUMNS} FROM usage_rows ` +
    (index === null ? '' : `${dialect.using(indexName({ name: 'usage_rows' }, index))} `) +
    (where.length === 0 ? '' : `WHERE ${where.map(([condition]) => condition).join(' AND ')} `) +
    'ORDER BY request_id DESC LIMIT ?'
  return [sql, [...where.map(([, value]) => value), filter.limit]]
}
