/** Proofs that an order is paid. The first one moves its order to `paid`; later ones of other payments are kept beside it. */
import { moved } from '../../terms/order-moves.ts'
import type { OrderMethod, Proof } from '../../terms/pay.ts'
import { type Driver, DuplicateKey, type Transaction } from '../base/driver.ts'
import type { Hold, Proven } from '../pay-store.ts'
import { heldUntil } from './pay-holds.ts'
import { lockOrder, UNPAID } from './pay-orders.ts'
import { toProof } from './pay-rows.ts'

async function insertProof(tx: Transaction, driver: Driver, proof: Proof): Promise<void> {
  const { method, transactionId, orderId, amount, currency, source, digest, paidAtMs, actor, note } = proof
  await tx.run(
    'INSERT INTO pay_proofs (method, transaction_id, order_id, amount, currency, source, digest, paid_at_ms, at_ms, ' +
      `actor, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ${driver.dialect.nowMs}, ?, ?)`,
    [method, transactionId, orderId, amount, currency, source, digest, paidAtMs, actor, note],
  )
}

async function prove(tx: Transaction, driver: Driver, proof: Proof, hold: Hold | null): Promise<Proven> {
  const { method, transactionId, orderId } = proof
  const order = await lockOrder(tx, orderId)
  if (order === null) return 'elsewhere'
  const [there] = await tx.query('SELECT order_id FROM pay_proofs WHERE method = ? AND transaction_id = ?', [
    method,
    transactionId,
  ])
  if (there !== undefined) return there['order_id'] === orderId ? 'known' : 'elsewhere'
  if (!UNPAID.includes(order.state)) return 'second'
  await insertProof(tx, driver, proof)
  const late = order.state === 'expired' || order.state === 'failed' ? 1 : 0
  await tx.run(
    `UPDATE pay_orders SET state = ?, late = ?, paid_at_ms = ${driver.dialect.nowMs}, held_until_ms = ?, check_at_ms = NULL ` +
      'WHERE id = ?',
    [moved(order.state, 'paid'), late, await heldUntil(tx, order, hold), orderId],
  )
  return 'paid'
}

export async function proveOrder(driver: Driver, proof: Proof, hold: Hold | null): Promise<Proven> {
  try {
    return await driver.transaction('proveOrder', tx => prove(tx, driver, proof, hold))
  } catch (error) {
    // The lock of the order keeps apart what is said of one order; this payment was stored for another one meanwhile.
    if (error instanceof DuplicateKey) return 'elsewhere'
    throw error
  }
}

export async function keepProof(driver: Driver, proof: Proof): Promise<void> {
  try {
    await driver.transaction('keepProof', tx => insertProof(tx, driver, proof))
  } catch (error) {
    if (!(error instanceof DuplicateKey)) throw error
  }
}

export async function proofsOf(driver: Driver, orderId: string) {
  const sql = 'SELECT * FROM pay_proofs WHERE order_id = ? ORDER BY at_ms, transaction_id'
  return (await driver.query('proofs', sql, [orderId])).map(toProof)
}

export async function proofOf(driver: Driver, method: OrderMethod, transactionId: string) {
  const sql = 'SELECT * FROM pay_proofs WHERE method = ? AND transaction_id = ?'
  const [row] = await driver.query('proof', sql, [method, transactionId])
  return row === undefined ? null : toProof(row)
}

/** A bill is compared once a day, so that one pass over the proofs of a method needs no index. */
export async function proofsPaid(
  driver: Driver,
  method: OrderMethod,
  fromMs: number,
  untilMs: number,
  after: string,
  limit: number,
) {
  const paid = 'COALESCE(paid_at_ms, at_ms)'
  const sql =
    `SELECT * FROM pay_proofs WHERE method = ? AND transaction_id > ? AND ${paid} >= ? AND ${paid} < ? ` +
    'ORDER BY transaction_id LIMIT ?'
  return (await driver.query('proofsPaid', sql, [method, after, fromMs, untilMs, limit])).map(toProof)
}
