/**
 * Orders after they were made. A transaction that moves an order locks its row first, so that of fifty deliveries of one
 * message, on any number of gateways, each finds what the one before it did. After the order it locks the account's purse.
 */
import { ZERO } from '../../base/money.ts'
import { moved } from '../../terms/order-moves.ts'
import type { Order, OrderMethod, OrderState, Shown } from '../../terms/pay.ts'
import type { Driver, Param, Row, Transaction } from '../base/driver.ts'
import type { OrderFilter } from '../pay-store.ts'
import { toOrder } from './pay-rows.ts'
import { integer, marks, money, toJson } from '../base/text.ts'

/** Orders whose money has not come. */
export const UNPAID: readonly OrderState[] = ['created', 'pending', 'expired', 'failed']

const LOCK_ORDER = 'UPDATE pay_orders SET state = state WHERE id = ?'
/** A list of states as SQL. */
export const quoted = (states: readonly OrderState[]) => states.map(state => `'${state}'`).join(', ')

/** Locks an order's row and reads it; null = there is none. */
export async function lockOrder(tx: Transaction, id: string): Promise<Order | null> {
  if ((await tx.run(LOCK_ORDER, [id])).changes === 0) return null
  const [row] = await tx.query('SELECT * FROM pay_orders WHERE id = ?', [id])
  return toOrder(row as Row)
}

export async function orderWhere(driver: Driver, where: string, params: readonly Param[]): Promise<Order | null> {
  const [row] = await driver.query('order', `SELECT * FROM pay_orders WHERE ${where} LIMIT 1`, params)
  return row === undefined ? null : toOrder(row)
}

export async function orders(driver: Driver, filter: OrderFilter): Promise<Order[]> {
  const { accountId, method, states, before, limit } = filter
  const where: [string, readonly Param[]][] = [['1 = 1', []]]
  if (accountId !== undefined) where.push(['account_id = ?', [accountId]])
  if (method !== undefined) where.push(['method = ?', [method]])
  if (states !== undefined) where.push([`state IN (${marks(states.length)})`, states])
  if (before !== undefined)
    where.push([
      '(created_at_ms < ? OR created_at_ms = ? AND id < ?)',
      [before.createdAtMs, before.createdAtMs, before.id],
    ])
  const sql =
    `SELECT * FROM pay_orders WHERE ${where.map(([condition]) => condition).join(' AND ')} ` +
    'ORDER BY created_at_ms DESC, id DESC LIMIT ?'
  return (await driver.query('orders', sql, [...where.flatMap(([, params]) => params), limit])).map(toOrder)
}

export async function orderCounts(driver: Driver) {
  const sql = 'SELECT state, COUNT(*) AS n, MIN(created_at_ms) AS oldest FROM pay_orders GROUP BY state'
  return (await driver.query('orderCounts', sql, [])).map(row => ({
    state: String(row['state']) as OrderState,
    count: integer(row, 'n'),
    oldestAtMs: integer(row, 'oldest'),
  }))
}

export function orderShown(driver: Driver, id: string, providerId: string | null, shown: Shown): Promise<Order | null> {
  return driver.transaction('orderShown', async tx => {
    const order = await lockOrder(tx, id)
    if (order === null) return null
    const state = order.state === 'created' ? moved(order.state, 'pending') : order.state
    const now = { ...order, state, providerId: order.providerId ?? providerId, shown }
    await tx.run('UPDATE pay_orders SET state = ?, provider_id = ?, shown = ? WHERE id = ?', [
      state,
      now.providerId,
      toJson(shown),
      id,
    ])
    return now
  })
}

export function endOrder(
  driver: Driver,
  id: string,
  state: 'expired' | 'failed',
  checkAtMs: number | null,
): Promise<Order | null> {
  return driver.transaction('endOrder', async tx => {
    const order = await lockOrder(tx, id)
    if (order === null || !UNPAID.includes(order.state)) return order
    // Nothing but a proof leaves `expired`.
    const next = order.state === 'expired' ? 'expired' : moved(order.state, state)
    await tx.run('UPDATE pay_orders SET state = ?, check_at_ms = ? WHERE id = ?', [next, checkAtMs, id])
    return { ...order, state: next, checkAtMs }
  })
}

export async function uncredited(driver: Driver, beforeMs: number, limit: number): Promise<Order[]> {
  const sql =
    "SELECT * FROM pay_orders WHERE state = 'paid' AND COALESCE(held_until_ms, paid_at_ms) < ? " +
    'ORDER BY created_at_ms, id LIMIT ?'
  return (await driver.query('uncredited', sql, [beforeMs, limit])).map(toOrder)
}

/** Of several gateways that read the same order, the one whose update still finds its time gets it. */
export async function takeDueOrders(driver: Driver, nowMs: number, leaseMs: number, limit: number): Promise<Order[]> {
  const sql = 'SELECT * FROM pay_orders WHERE check_at_ms <= ? ORDER BY check_at_ms, id LIMIT ?'
  const taken: Order[] = []
  for (const order of (await driver.query('takeDueOrders', sql, [nowMs, limit])).map(toOrder)) {
    const { changes } = await driver.run(
      'takeDueOrders',
      'UPDATE pay_orders SET check_at_ms = ?, checks = checks + 1 WHERE id = ? AND check_at_ms = ?',
      [nowMs + leaseMs, order.id, order.checkAtMs],
    )
    if (changes === 1) taken.push({ ...order, checkAtMs: nowMs + leaseMs, checks: order.checks + 1 })
  }
  return taken
}

export async function orderChecked(driver: Driver, id: string, checkAtMs: number | null): Promise<void> {
  // A proof may have come meanwhile: then nothing is left to ask.
  const sql = `UPDATE pay_orders SET check_at_ms = ? WHERE id = ? AND state IN (${quoted(UNPAID)})`
  await driver.run('orderChecked', sql, [checkAtMs, id])
}

export async function payTotals(driver: Driver) {
  const sums = ['credited', 'refunded', 'frozen', 'reversed'].map(c => `SUM(${c}) AS ${c}`).join(', ')
  const sql = `SELECT method, COUNT(*) AS n, ${sums} FROM pay_orders GROUP BY method ORDER BY method`
  return (await driver.query('payTotals', sql, [])).map(row => ({
    method: String(row['method']) as OrderMethod,
    credited: row['credited'] === null ? ZERO : money(row, 'credited'),
    refunded: money(row, 'refunded'),
    frozen: money(row, 'frozen'),
    reversed: money(row, 'reversed'),
    orders: integer(row, 'n'),
  }))
}
