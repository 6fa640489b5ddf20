/**
 * The statements behind lists of keys: which keys fit a filter, in which order, and what they have spent together. In the order in which
 * keys were made a page is a range of an index. In any other order, all keys that fit are put in order at each page, which
 * takes some 50 ms where there are ten thousand: what they have spent and when they were used changes all the time, so that
 * an index over it would cost every request something.
 */
import { type Every, EVERY, periodAt, periodName } from '../../base/periods.ts'
import type { Dialect, Param } from '../base/driver.ts'
import { contains, pattern } from '../base/text.ts'
import type { PageFilter } from './accounts.ts'
import { BY_ACCOUNT, BY_CREATOR, KEY_COLUMNS } from './key-rows.ts'

/** What keys are searched by. `used_up` and `enabled` are those that may be used, by whether their caps are used up. */
export type KeyCondition = 'disabled' | 'expired' | 'used_up' | 'enabled' | 'ip_bound' | 'model_bound'

/** `last_used`: a key that was never used stands where the oldest use does. */
export const KEY_ORDERS = ['created', 'name', 'last_used', 'spent'] as const
export type KeyOrder = (typeof KEY_ORDERS)[number]

export interface KeyFilter extends PageFilter {
  /** The order in which they were made, where nothing else is said. */
  order?: KeyOrder
  /** The newest, or the largest, first. */
  descending?: boolean
  /** The place behind which the page begins. */
  behind?: KeyPlace
  accountId?: number
  createdBy?: number
  group?: string
  condition?: KeyCondition
  /** The moment at which keys count as expired, ms since 1970. */
  nowMs?: number
  /** By what the running periods of caps are told: the store's time, ms since 1970, and the zone of its days. */
  caps?: { atMs: number; zone: string }
}

/** A place in a list: that of a key with a public id, which may have been deleted, when it had this value there. */
export interface KeyPlace {
  publicId: string
  /** null = the list is in the order in which the keys were made. */
  value: string | number | null
}

type Sql = [sql: string, params: Param[]]

const SPENT = 'p.promised - COALESCE((SELECT SUM(l.amount) FROM leases l WHERE l.purse_id = p.id), 0)'
const PURSE = "LEFT JOIN purses p ON p.id = CONCAT('k', k.id)"

/** What keys are compared by, and the table in which that stands. */
const ORDERS: Record<KeyOrder, { value: string; join: string }> = {
  created: { value: 'NULL', join: '' },
  name: { value: 'LOWER(k.name)', join: '' },
  last_used: { value: 'COALESCE(u.at_ms, 0)', join: 'LEFT JOIN key_uses u ON u.key_id = k.id' },
  spent: { value: `COALESCE(${SPENT}, 0)`, join: PURSE },
}

const WORKING = "k.status = 'enabled' AND (k.expires_at_ms IS NULL OR k.expires_at_ms > ?)"

/** What a key has spent of its cap: in all, or in the running period, in which it may have no purse yet. */
function spentOfCap({ atMs, zone }: NonNullable<KeyFilter['caps']>): Sql {
  const suffix = (every: Every) => `.${periodName(periodAt(every, atMs, zone))}`
  const every = 'CASE WHEN k.cap_before IS NOT NULL AND k.cap_until_ms > ? THEN k.cap_before ELSE k.cap_every END'
  const whens = EVERY.map(name => `WHEN '${name}' THEN ?`).join(' ')
  const purse = `CONCAT('k', k.id, CASE ${every} ${whens} ELSE '' END)`
  return [
    `COALESCE((SELECT ${SPENT} FROM purses p WHERE p.id = ${purse}), 0)`,
    [Math.floor(atMs), ...EVERY.map(suffix)],
  ]
}

function conditionOf({ condition, nowMs = 0, caps = { atMs: nowMs, zone: 'UTC' } }: KeyFilter): Sql[] {
  const [spent, params] = spentOfCap(caps)
  const sql: Record<KeyCondition, Sql> = {
    disabled: ["k.status = 'disabled'", []],
    expired: ["k.status = 'enabled' AND k.expires_at_ms <= ?", [nowMs]],
    used_up: [`${WORKING} AND k.cap IS NOT NULL AND ${spent} >= k.cap`, [nowMs, ...params]],
    enabled: [`${WORKING} AND (k.cap IS NULL OR ${spent} < k.cap)`, [nowMs, ...params]],
    ip_bound: ['k.allow_ips IS NOT NULL', []],
    model_bound: ['k.models IS NOT NULL', []],
  }
  return condition === undefined ? [] : [sql[condition]]
}

/** Which keys fit, wherever a page of them begins. */
function fitting(filter: KeyFilter, { using }: Pick<Dialect, 'using'>, join: string): Sql {
  const { accountId, createdBy, group, q = '' } = filter
  const conditions: Sql[] = [['k.deleted = 0', []]]
  if (accountId !== undefined) conditions.push(['k.account_id = ?', [accountId]])
  if (createdBy !== undefined) conditions.push(['k.created_by = ?', [createdBy]])
  if (group !== undefined) conditions.push(['k.group_name = ?', [group]])
  conditions.push(...conditionOf(filter))
  if (q !== '') conditions.push([`(${contains('k.name')} OR ${contains('k.hint')})`, [pattern(q), pattern(q)]])
  const index = createdBy !== undefined ? BY_CREATOR : accountId !== undefined ? BY_ACCOUNT : null
  const hint = index === null ? '' : ` ${using(`api_keys_by_${index.join('_')}`)}`
  const where = conditions.map(([one]) => one).join(' AND ')
  return [`FROM api_keys k${hint} ${join} WHERE ${where}`, conditions.flatMap(([, params]) => params)]
}

/** Where a page begins. */
function begin({ afterId, behind, accountId, descending }: KeyFilter, value: string): Sql[] {
  const sql: Sql[] = afterId === undefined ? [] : [['k.id > ?', [afterId]]]
  if (behind === undefined) return sql
  const beyond = descending ? '<' : '>'
  // a key of another account is none, and nothing comes after it
  const own = accountId === undefined ? '' : ' AND b.account_id = ?'
  const id = `k.id ${beyond} (SELECT b.id FROM api_keys b WHERE b.public_id = ?${own})`
  const params = [behind.publicId, ...(accountId === undefined ? [] : [accountId])]
  if (behind.value === null) return [...sql, [id, params]]
  return [...sql, [`(${value} ${beyond} ? OR (${value} = ? AND ${id}))`, [behind.value, behind.value, ...params]]]
}

/** A page, each row with its `place`: the value that it is compared by. */
export function keyPage(filter: KeyFilter, dialect: Pick<Dialect, 'using'>): Sql {
  const { order = 'created', descending, limit } = filter
  const { value, join } = ORDERS[order]
  const [from, params] = fitting(filter, dialect, join)
  const begins = begin(filter, value)
  const way = descending ? ' DESC' : ''
  const by = order === 'created' ? '' : `place${way}, `
  const sql =
    `SELECT ${KEY_COLUMNS}, ${value} AS place ${from}${begins.map(([one]) => ` AND ${one}`).join('')} ` +
    `ORDER BY ${by}k.id${way} LIMIT ?`
  return [sql, [...params, ...begins.flatMap(([, some]) => some), limit]]
}

/** How many keys fit, and what they have spent. */
export function keyTotals(filter: Omit<KeyFilter, 'limit'>, dialect: Pick<Dialect, 'using'>): Sql {
  const [from, params] = fitting({ ...filter, limit: 0 }, dialect, PURSE)
  return [`SELECT COUNT(*) AS fitting, COALESCE(SUM(${SPENT}), 0) AS spent ${from}`, params]
}
