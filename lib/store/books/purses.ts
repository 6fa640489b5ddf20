/**
 * Purses: the sums that holds are made against. Of a purse's `credit`, `promised` has left it: what was charged, and what processes
 * have leased. The rest is free (`books.ts` moves it). `a12` is an account's balance. `k12` counts all that a key spends; a cap for ever is
 * its credit. A limit that renews, and a budget, have purses beside it: one for ever (`b7`), or one for each period (`k12.d495600`),
 * which is made when a process first asks for a lease of it, so that nobody has to do anything when a period begins. To make a purse,
 * or to change its credit, one locks the row of the key or the account first: no purse is made with an amount that somebody is
 * changing at that moment.
 */
import type { Table } from '../base/tables.ts'
import type { Micro } from '../../base/money.ts'
import { endOfName } from '../../base/periods.ts'
import type { Limit } from '../../terms/records.ts'
import type { Dialect, Driver, Param, Row, Transaction } from '../base/driver.ts'
import { recordChanges } from '../base/changes.ts'
import { integer, binds, money, padded, text, textOrNull } from '../base/text.ts'

/** A purse of a period has the end of its period. */
export const PURSES: Table = {
  name: 'purses',
  columns: { id: 'code', credit: 'int?', promised: 'int', ends_ms: 'int?' },
  key: ['id'],
  index: [['ends_ms']],
}

/** `a`: an account's balance. `k`: a key, whose cap is its credit. `b`: an account's budget. After `.`: a period. */
export type PurseId = `a${number}` | `${'k' | 'b'}${number}` | `${'k' | 'b'}${number}.${string}`
export const accountPurse = (id: number): PurseId => `a${id}`
export const keyPurse = (id: number): PurseId => `k${id}`
/** The purse of a cap (`k`) or a budget (`b`) in a period; `null` = its amount is for ever. */
export const limitPurse = (kind: 'k' | 'b', id: number, period: string | null): PurseId =>
  period === null ? `${kind}${id}` : `${kind}${id}.${period}`

export interface Purse {
  id: PurseId
  credit: Micro | null
  spent: Micro
  leased: Micro
}

/** The table and the column of each kind of limit, by the first letter of its purses. */
const OWNERS = { k: { table: 'api_keys', column: 'cap' }, b: { table: 'accounts', column: 'budget' } } as const
type Kind = keyof typeof OWNERS

const PURSE = /^([kb])(\d+)(?:\.([dwm]\d+))?$/

/** The columns of a limit, as people name the first: `cap` and `budget`. */
export const limitColumns = (name: string): string[] => [name, `${name}_every`, `${name}_before`, `${name}_until_ms`]

export const limitValues = (name: string, limit: Limit | null): [string, Param][] => {
  const values = [
    limit?.amount ?? null,
    limit?.every ?? null,
    limit?.before?.every ?? null,
    limit?.before?.untilMs ?? null,
  ]
  return limitColumns(name).map((column, i) => [column, values[i]!])
}

export function toLimit(row: Row, name: string): Limit | null {
  if (row[name] === null) return null
  const [, every, before, until] = limitColumns(name) as [string, string, string, string]
  const was = textOrNull(row, before)
  return {
    amount: money(row, name),
    every: textOrNull(row, every) as Limit['every'],
    before: was === null ? null : ({ every: was, untilMs: integer(row, until) } as Limit['before']),
  }
}

/** The credit of the purse for ever that every key has: its cap, unless that renews. */
export const creditForEver = (limit: Limit | null): number | null => (limit?.every === null ? limit.amount : null)

/** Locks the row that has the limit. */
const lock = (tx: Transaction, { table, column }: (typeof OWNERS)[Kind], id: number) =>
  tx.run(`UPDATE ${table} SET ${column} = ${column} WHERE id = ?`, [id])

/** What a purse has spent; the purse's row must be locked. */
const SPENT =
  'SELECT p.promised - COALESCE((SELECT SUM(l.amount) FROM leases l WHERE l.purse_id = p.id), 0) AS spent ' +
  'FROM purses p WHERE p.id = ?'

async function spentOf(tx: Transaction, id: PurseId): Promise<number> {
  await tx.run('UPDATE purses SET promised = promised WHERE id = ?', [id])
  const [row] = await tx.query(SPENT, [id])
  return row === undefined ? 0 : integer(row, 'spent')
}

/** Makes the purse of a limit unless it exists. A purse of another kind was made with its account or key. */
export async function makePurse(tx: Transaction, dialect: Dialect, purse: PurseId): Promise<void> {
  const [, kind, owner, period] = PURSE.exec(purse) ?? []
  if (kind === undefined || (kind === 'k' && period === undefined)) return
  const id = Number(owner)
  const { table, column } = OWNERS[kind as Kind]
  await lock(tx, OWNERS[kind as Kind], id)
  const spentBefore = period === undefined ? await spentOf(tx, accountPurse(id)) : 0
  const endsMs = period === undefined ? null : endOfName(period)
  const insert = `INSERT ${dialect.ignore} INTO purses (id, credit, promised, ends_ms)`
  await tx.run(`${insert} SELECT ?, ${column}, 0, ? FROM ${table} WHERE id = ?`, [purse, endsMs, id])
  if (period !== undefined) return
  // a budget for ever counts all that the account has ever spent, as a cap does
  const missing = spentBefore - (await spentOf(tx, purse))
  if (missing > 0) await tx.run('UPDATE purses SET promised = promised + ? WHERE id = ?', [missing, purse])
}

/**
 * Gives the purses of a limit that has changed their new credit: those of the periods that have not ended at `atMs`,
 * or the purse for ever. The owner's row must have been written. Returns the purses whose leases are to be recalled,
 * because processes may have leased more than the new amount allows.
 */
export async function limitChanged(
  tx: Transaction,
  { dialect }: Driver,
  kind: Kind,
  id: number,
  limit: Limit | null,
  atMs: number,
): Promise<PurseId[]> {
  const forEver: PurseId = `${kind}${id}`
  if (kind === 'k') await tx.run('UPDATE purses SET credit = ? WHERE id = ?', [creditForEver(limit), forEver])
  if (limit === null) return []
  if (limit.every === null) {
    if (kind === 'k') return [forEver]
    await makePurse(tx, dialect, forEver)
    await tx.run('UPDATE purses SET credit = ? WHERE id = ?', [limit.amount, forEver])
    return [forEver]
  }
  const find = 'SELECT id FROM purses WHERE id > ? AND id < ? AND ends_ms > ? ORDER BY id'
  const rows = await tx.query(find, [`${forEver}.`, `${forEver}/`, Math.floor(atMs)]) // `/` is the character after `.`
  const ids = rows.map(row => text(row, 'id') as PurseId)
  for (const purse of ids) await tx.run('UPDATE purses SET credit = ? WHERE id = ?', [limit.amount, purse])
  return ids
}

export async function recallAll(tx: Transaction, purses: readonly PurseId[]): Promise<void> {
  await recordChanges(tx, 'recall', purses)
}

/**
 * Deletes purses of periods that ended before `beforeMs` and that nobody has a lease of. A settlement that comes even
 * later is charged to the account and the key, and no longer to its period.
 */
export async function forgetPurses(driver: Driver, beforeMs: number, slice: number): Promise<number> {
  const unleased = 'NOT EXISTS (SELECT 1 FROM leases l WHERE l.purse_id = purses.id)'
  const find = `SELECT id FROM purses WHERE ends_ms < ? AND ${unleased} LIMIT ?`
  const rows = await driver.query('forgetPurses', find, [Math.floor(beforeMs), slice])
  if (rows.length === 0) return 0
  const ids = padded(rows.map(row => text(row, 'id')))
  await driver.run('forgetPurses', `DELETE FROM purses WHERE id IN (${binds(ids.length)}) AND ${unleased}`, ids)
  return rows.length
}
