/** Pages of keys. */
import type { KeyCondition, KeyFilter } from '../account-store.ts'
import { BY_ACCOUNT, BY_CREATOR } from '../core-tables.ts'
import type { Dialect, Param } from '../driver.ts'
import { KEY_COLUMNS } from './key-rows.ts'
import { contains, pattern } from './text.ts'

const WORKING = "k.status = 'enabled' AND (k.expires_at_ms IS NULL OR k.expires_at_ms > ?)"

const CONDITIONS: Record<KeyCondition, { sql: string; timed: boolean }> = {
  disabled: { sql: "k.status = 'disabled'", timed: false },
  expired: { sql: "k.status = 'enabled' AND k.expires_at_ms <= ?", timed: true },
  working: { sql: WORKING, timed: true },
  capped: { sql: `${WORKING} AND k.cap IS NOT NULL`, timed: true },
  ip_bound: { sql: 'k.allow_ips IS NOT NULL', timed: false },
  model_bound: { sql: 'k.models IS NOT NULL', timed: false },
}

export function keyPage(filter: KeyFilter, { using }: Pick<Dialect, 'using'>): [sql: string, params: Param[]] {
  const {
    accountId,
    createdBy,
    group,
    condition,
    nowMs = 0,
    q = '',
    afterId,
    afterPublicId,
    newestFirst,
    limit,
  } = filter
  const conditions: [sql: string, params: Param[]][] = [['k.deleted = 0', []]]
  if (accountId !== undefined) conditions.push(['k.account_id = ?', [accountId]])
  if (createdBy !== undefined) conditions.push(['k.created_by = ?', [createdBy]])
  if (afterId !== undefined) conditions.push(['k.id > ?', [afterId]])
  if (afterPublicId !== undefined) {
    const place = 'SELECT b.id FROM api_keys b WHERE b.public_id = ?'
    // one of another account is none, and nothing comes after it
    const own = accountId === undefined ? '' : ' AND b.account_id = ?'
    conditions.push([`k.id < (${place}${own})`, [afterPublicId, ...(accountId === undefined ? [] : [accountId])]])
  }
  if (group !== undefined) conditions.push(['k.group_name = ?', [group]])
  if (condition !== undefined) {
    const { sql, timed } = CONDITIONS[condition]
    conditions.push([sql, timed ? [nowMs] : []])
  }
  if (q !== '') conditions.push([`(${contains('k.name')} OR ${contains('k.hint')})`, [pattern(q), pattern(q)]])
  const index = createdBy !== undefined ? BY_CREATOR : accountId !== undefined ? BY_ACCOUNT : null
  const hint = index === null ? '' : ` ${using(`api_keys_by_${index.join('_')}`)}`
  const sql =
    `SELECT ${KEY_COLUMNS} FROM api_keys k${hint} WHERE ${conditions.map(([one]) => one).join(' AND ')} ` +
    `ORDER BY k.id${newestFirst ? ' DESC' : ''} LIMIT ?`
  return [sql, [...conditions.flatMap(([, params]) => params), limit]]
}
