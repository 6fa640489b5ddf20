/**
 * Payments that are held: their orders are paid, and are credited only later, because money of the same way to pay was disputed
 * lately. Whether a payment is held is decided once, in the transaction that stores its proof.
 */
import { formatMicro, type Micro } from '../../base/money.ts'
import type { OrderMethod } from '../../terms/pay.ts'
import type { Act } from '../../base/people.ts'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import type { Hold } from '../pay-store.ts'
import { recordAction } from '../base/actions.ts'
import { toOrder } from './pay-rows.ts'
import { integer, money } from '../base/text.ts'

const HELD = "state = 'paid' AND held_until_ms > ?"

/**
 * Of how many orders the payer's bank has disputed the payment, or the provider has warned, since a moment. An order of which
 * several were told counts once; a dispute that left nothing to freeze has an exception only.
 */
export async function disputedOrders(
  tx: Pick<Transaction, 'query'>,
  method: OrderMethod,
  sandbox: boolean,
  sinceMs: number,
): Promise<number> {
  const disputes = "SELECT order_id FROM pay_refunds WHERE kind = 'dispute' AND at_ms >= ? AND method = ?"
  const told =
    "SELECT order_id FROM pay_exceptions WHERE kind IN ('dispute', 'fraud_warning') AND at_ms >= ? AND method = ?"
  const sql =
    `SELECT COUNT(*) AS n FROM (${disputes} UNION ${told}) d JOIN pay_orders o ON o.id = d.order_id ` +
    'WHERE o.sandbox = ?'
  const [row] = await tx.query(sql, [sinceMs, method, sinceMs, method, sandbox ? 1 : 0])
  return integer(row as Row, 'n')
}

/** Until when a payment that is proven now is held; null = it is not. */
export async function heldUntil(
  tx: Transaction,
  { method, sandbox }: { method: OrderMethod; sandbox: boolean },
  hold: Hold | null,
): Promise<number | null> {
  if (hold === null) return null
  return (await disputedOrders(tx, method, sandbox, hold.sinceMs)) >= hold.disputes ? hold.untilMs : null
}

export async function heldOrders(driver: Driver, nowMs: number): Promise<{ count: number; amount: Micro }> {
  const sql = `SELECT COUNT(*) AS n, COALESCE(SUM(amount), 0) AS amount FROM pay_orders WHERE ${HELD}`
  const [row] = await driver.query('heldOrders', sql, [nowMs])
  return { count: integer(row as Row, 'n'), amount: money(row as Row, 'amount') }
}

export function releaseOrder(driver: Driver, id: string, nowMs: number, reason: string, act: Act): Promise<boolean> {
  return driver.transaction('releaseOrder', async tx => {
    const [row] = await tx.query('SELECT * FROM pay_orders WHERE id = ?', [id])
    const sql = `UPDATE pay_orders SET held_until_ms = ? WHERE id = ? AND ${HELD}`
    if (row === undefined || (await tx.run(sql, [nowMs, id, nowMs])).changes === 0) return false
    const order = toOrder(row)
    await recordAction(tx, driver, act, {
      subject: { kind: 'order', id },
      accountId: order.accountId,
      before: { held_until: new Date(order.heldUntilMs as number).toISOString() },
      after: { reason, amount: formatMicro(order.amount) },
    })
    return true
  })
}
