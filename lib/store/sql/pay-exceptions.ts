/** Exceptions of payments: what does not fit and waits for a person, and what somebody decided about it. */
import type { PayException } from '../../terms/pay.ts'
import type { Act } from '../../base/people.ts'
import { type Driver, DuplicateKey, type Param, type Row } from '../base/driver.ts'
import type { ExceptionFilter, NewException } from '../pay-store.ts'
import { recordAction } from '../base/actions.ts'
import { toException } from './pay-rows.ts'
import { integer } from '../base/text.ts'

export async function raiseException(driver: Driver, exception: NewException): Promise<boolean> {
  const { method, kind, reference, detail, orderId = null, transactionId = null } = exception
  const { amount = null, currency = null, dueAtMs = null } = exception
  try {
    await driver.run(
      'raiseException',
      'INSERT INTO pay_exceptions (method, kind, reference, order_id, transaction_id, amount, currency, detail, due_at_ms, ' +
        `at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ${driver.dialect.nowMs})`,
      [method, kind, reference, orderId, transactionId, amount, currency, detail, dueAtMs],
    )
    return true
  } catch (error) {
    if (error instanceof DuplicateKey) return false
    throw error
  }
}

export async function exception(driver: Driver, id: number): Promise<PayException | null> {
  const [row] = await driver.query('exception', 'SELECT * FROM pay_exceptions WHERE id = ?', [id])
  return row === undefined ? null : toException(row)
}

export async function exceptions(driver: Driver, filter: ExceptionFilter): Promise<PayException[]> {
  const where: [string, readonly Param[]][] = [['1 = 1', []]]
  if (filter.open !== undefined) where.push([`resolved_at_ms IS ${filter.open ? '' : 'NOT '}NULL`, []])
  if (filter.kind !== undefined) where.push(['kind = ?', [filter.kind]])
  if (filter.method !== undefined) where.push(['method = ?', [filter.method]])
  if (filter.orderId !== undefined) where.push(['order_id = ?', [filter.orderId]])
  if (filter.beforeId !== undefined) where.push(['id < ?', [filter.beforeId]])
  const sql = `SELECT * FROM pay_exceptions WHERE ${where.map(([c]) => c).join(' AND ')} ORDER BY id DESC LIMIT ?`
  return (await driver.query('exceptions', sql, [...where.flatMap(([, params]) => params), filter.limit])).map(
    toException,
  )
}

export async function openExceptions(driver: Driver): Promise<number> {
  const sql = 'SELECT COUNT(*) AS n FROM pay_exceptions WHERE resolved_at_ms IS NULL'
  const [row] = await driver.query('openExceptions', sql, [])
  return integer(row as Row, 'n')
}

export function resolveException(driver: Driver, id: number, resolution: string, act: Act): Promise<boolean> {
  return driver.transaction('resolveException', async tx => {
    const { changes } = await tx.run(
      `UPDATE pay_exceptions SET resolved_at_ms = ${driver.dialect.nowMs}, resolved_by = ?, resolution = ? ` +
        'WHERE id = ? AND resolved_at_ms IS NULL',
      [act.actor.name, resolution, id],
    )
    if (changes === 0) return false
    const [row] = await tx.query('SELECT * FROM pay_exceptions WHERE id = ?', [id])
    const { kind, reference, orderId } = toException(row as Row)
    await recordAction(tx, driver, act, {
      subject: { kind: 'order', id: orderId ?? reference },
      accountId: null,
      before: { exception: id, kind },
      after: { resolution },
    })
    return true
  })
}
