/**
 * Orders after they were made. A transaction that moves an order locks its row first, so that of fifty deliveries of one
 * message, on any number of gateways, each finds what the one before it did. After the order it locks the account's purse.
 */
import { DAY_MS, HOUR_MS, iso } from '../../base/clock.ts'
import { type Micro, ZERO, formatMicro } from '../../base/money.ts'
import type { Act } from '../../base/people.ts'
import { moved } from '../../terms/order-moves.ts'
import { type Order, type OrderMethod, type OrderState, type Proof, type Shown, UNTIL_ENOUGH } from '../../terms/pay.ts'
import { type Driver, DuplicateKey, type Param, type Row, type Transaction } from '../base/driver.ts'
import type { PaymentHold, NewOrder, OrderBounds, OrderFilter, OrderMade, Proven } from './types.ts'
import { accountPurse } from '../books/purses.ts'
import { recordAction } from '../base/actions.ts'
import { lockMark } from './notes.ts'
import {
  big,
  compared,
  inOrder,
  integer,
  integerOrNull,
  jsonOrNull,
  binds,
  money,
  text,
  textOrNull,
  toJson,
} from '../base/text.ts'

export const toOrder = (row: Row): Order => ({
  id: text(row, 'id'),
  reference: text(row, 'reference'),
  accountId: integer(row, 'account_id'),
  userId: integerOrNull(row, 'user_id'),
  method: text(row, 'method') as OrderMethod,
  amount: money(row, 'amount'),
  asked: integer(row, 'asked'),
  tokens: row['tokens'] === null ? null : big(row, 'tokens'),
  currency: text(row, 'currency'),
  rate: integerOrNull(row, 'rate'),
  merchant: text(row, 'merchant'),
  providerId: textOrNull(row, 'provider_id'),
  shown: jsonOrNull(row, 'shown'),
  state: text(row, 'state') as Order['state'],
  sandbox: integer(row, 'sandbox') === 1,
  late: integer(row, 'late') === 1,
  credited: money(row, 'credited'),
  refunded: money(row, 'refunded'),
  frozen: money(row, 'frozen'),
  reversed: money(row, 'reversed'),
  createdAtMs: integer(row, 'created_at_ms'),
  expiresAtMs: integer(row, 'expires_at_ms'),
  paidAtMs: integerOrNull(row, 'paid_at_ms'),
  heldUntilMs: integerOrNull(row, 'held_until_ms'),
  creditedAtMs: integerOrNull(row, 'credited_at_ms'),
  checkAtMs: integerOrNull(row, 'check_at_ms'),
  checks: integer(row, 'checks'),
})

const toProof = (row: Row): Proof & { atMs: number } => ({
  method: text(row, 'method') as OrderMethod,
  transactionId: text(row, 'transaction_id'),
  orderId: text(row, 'order_id'),
  amount: integer(row, 'amount'),
  currency: text(row, 'currency'),
  source: text(row, 'source') as Proof['source'],
  digest: text(row, 'digest'),
  paidAtMs: integerOrNull(row, 'paid_at_ms'),
  atMs: integer(row, 'at_ms'),
  actor: text(row, 'actor'),
  note: text(row, 'note'),
})

/** Orders whose money has not come. */
export const UNPAID: readonly OrderState[] = ['created', 'pending', 'expired', 'failed']

const LOCK_ORDER = 'UPDATE pay_orders SET state = state WHERE id = ?'
/** A list of states as SQL. */
const quotedBy = (states: readonly OrderState[]) => states.map(state => `'${state}'`).join(', ')

/** Locks an order's row and reads it; null = there is none. */
export async function lockOrder(tx: Transaction, id: string): Promise<Order | null> {
  if ((await tx.run(LOCK_ORDER, [id])).changes === 0) return null
  const [row] = await tx.query('SELECT * FROM pay_orders WHERE id = ?', [id])
  return toOrder(row as Row)
}

async function orderWhere(driver: Driver, where: string, params: readonly Param[]): Promise<Order | null> {
  const [row] = await driver.query('order', `SELECT * FROM pay_orders WHERE ${where} LIMIT 1`, params)
  return row === undefined ? null : toOrder(row)
}

export const order = (driver: Driver, id: string): Promise<Order | null> => orderWhere(driver, 'id = ?', [id])
export const orderByProviderId = (driver: Driver, method: OrderMethod, providerId: string): Promise<Order | null> =>
  orderWhere(driver, 'method = ? AND provider_id = ?', [method, providerId])

/** A page of orders: where they are those of one account, or of one state, a range of an index. */
export function orderList(filter: OrderFilter): [sql: string, params: Param[]] {
  const { accountId, method, states, beyond, ascending = false, beforeMs, limit } = filter
  const where: [string, readonly Param[]][] = [['1 = 1', []]]
  if (accountId !== undefined) where.push(['account_id = ?', [accountId]])
  if (method !== undefined) where.push(['method = ?', [method]])
  if (states !== undefined) where.push([`state IN (${binds(states.length)})`, states])
  if (beforeMs !== undefined) where.push(['created_at_ms < ?', [beforeMs]])
  const place: [string, string] = ['created_at_ms', 'id']
  if (beyond !== undefined) {
    const { createdAtMs, id } = beyond
    const [condition, ...params] = compared(place, ascending ? '>' : '<', [createdAtMs, id])
    where.push([condition, params])
  }
  const sql =
    `SELECT * FROM pay_orders WHERE ${where.map(([condition]) => condition).join(' AND ')} ` +
    `${inOrder(place, ascending)} LIMIT ?`
  return [sql, [...where.flatMap(([, params]) => params), limit]]
}

export const orders = async (driver: Driver, filter: OrderFilter): Promise<Order[]> =>
  (await driver.query('orders', ...orderList(filter))).map(toOrder)

/** How many orders are in each state, and since when the oldest of each is. */
export async function orderCounts(driver: Driver) {
  const sql = 'SELECT state, COUNT(*) AS n, MIN(created_at_ms) AS oldest FROM pay_orders GROUP BY state'
  return (await driver.query('orderCounts', sql, [])).map(row => ({
    state: String(row['state']) as OrderState,
    count: integer(row, 'n'),
    oldestAtMs: integer(row, 'oldest'),
  }))
}

/** Moves `created` to `pending` and stores what the provider said. In any other state it stores only a missing id. */
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

/** Moves an order that is not paid to `expired` or `failed`. Returns it as it is now. `act`: a person does it. */
export function endOrder(
  driver: Driver,
  id: string,
  state: 'expired' | 'failed',
  checkAtMs: number | null,
  act?: Act,
): Promise<Order | null> {
  return driver.transaction('endOrder', async tx => {
    const order = await lockOrder(tx, id)
    if (order === null || !UNPAID.includes(order.state)) return order
    // Nothing but a proof leaves `expired`.
    const next = order.state === 'expired' ? 'expired' : moved(order.state, state)
    await tx.run('UPDATE pay_orders SET state = ?, check_at_ms = ? WHERE id = ?', [next, checkAtMs, id])
    if (act !== undefined && next !== order.state)
      await recordAction(tx, driver, act, {
        subject: { kind: 'order', id },
        accountId: order.accountId,
        before: { state: order.state },
        after: { state: next },
      })
    return { ...order, state: next, checkAtMs }
  })
}

/** Orders that are `paid` since before this moment, or whose hold ended before it: a crash came before the credit. */
export async function uncredited(driver: Driver, beforeMs: number, limit: number): Promise<Order[]> {
  const sql =
    "SELECT * FROM pay_orders WHERE state = 'paid' AND COALESCE(held_until_ms, paid_at_ms) < ? " +
    'ORDER BY created_at_ms, id LIMIT ?'
  return (await driver.query('uncredited', sql, [beforeMs, limit])).map(toOrder)
}

/** Takes an order for one of several gateways that read it: the one whose update still finds its time. */
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
  const sql = `UPDATE pay_orders SET check_at_ms = ? WHERE id = ? AND state IN (${quotedBy(UNPAID)})`
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

/** Orders that can still be paid as far as is known. */
const OPEN: readonly OrderState[] = ['created', 'pending']

async function boundAgainst(
  tx: Transaction,
  order: NewOrder,
  bounds: OrderBounds,
  nowMs: number,
): Promise<keyof OrderBounds | null> {
  const { accountId, method } = order
  const one = async (sql: string, params: readonly Param[]) => (await tx.query(sql, params))[0] as Row
  const count = async (where: string, params: readonly Param[]) =>
    integer(await one(`SELECT COUNT(*) AS n FROM pay_orders WHERE ${where}`, params), 'n')
  const since = nowMs - HOUR_MS
  const { failed, begun, anHour, anHourOfAll, aDay } = bounds
  if ((await count("account_id = ? AND state = 'failed' AND created_at_ms > ?", [accountId, since])) >= failed)
    return 'failed'
  if ((await count('account_id = ? AND created_at_ms > ? AND tokens IS NULL', [accountId, since])) >= begun)
    return 'begun'
  if (anHour !== null) {
    const made = await count('account_id = ? AND created_at_ms > ? AND method = ?', [accountId, since, method])
    if (made >= anHour) return 'anHour'
  }
  if (anHourOfAll !== null) {
    const made = await count('created_at_ms > ? AND method = ?', [since, method])
    if (made >= anHourOfAll) return 'anHourOfAll'
  }
  const sum = await one(
    'SELECT COALESCE(SUM(amount), 0) AS total FROM pay_orders WHERE account_id = ? AND created_at_ms > ? ' +
      // what was cancelled before its time may have a code that somebody can still pay
      "AND state <> 'failed' AND (state <> 'expired' OR expires_at_ms > ?)",
    [accountId, nowMs - DAY_MS, nowMs],
  )
  if (integer(sum, 'total') + order.amount > aDay) return 'aDay'
  // the last, because another order may be ended for it, which no other bound is worth
  const open = await count(`account_id = ? AND state IN (${quotedBy(OPEN)})`, [accountId])
  return open >= bounds.open ? 'open' : null
}

/** Inserts an order of which nothing is credited. */
export async function insertOrder(
  tx: Transaction,
  order: NewOrder & Pick<Order, 'reference' | 'tokens' | 'providerId' | 'state'>,
  nowMs: number,
): Promise<void> {
  const row: Record<string, Param> = {
    id: order.id,
    reference: order.reference,
    account_id: order.accountId,
    user_id: order.userId,
    method: order.method,
    amount: order.amount,
    asked: order.asked,
    tokens: order.tokens === null ? null : String(order.tokens),
    currency: order.currency,
    rate: order.rate,
    merchant: order.merchant,
    provider_id: order.providerId,
    state: order.state,
    sandbox: order.sandbox ? 1 : 0,
    late: 0,
    credited: 0,
    refunded: 0,
    frozen: 0,
    reversed: 0,
    created_at_ms: nowMs,
    expires_at_ms: order.expiresAtMs,
    check_at_ms: order.checkAtMs,
    checks: 0,
  }
  const columns = Object.keys(row)
  await tx.run(`INSERT INTO pay_orders (${columns.join(', ')}) VALUES (${binds(columns.length)})`, Object.values(row))
}

export async function makeOrder(driver: Driver, order: NewOrder, bounds: OrderBounds, act: Act): Promise<OrderMade> {
  return driver.transaction('makeOrder', async tx => {
    // The lock of the purse lets the orders of one account be counted and made one after the other, that of the mark those of all.
    await tx.run('UPDATE purses SET promised = promised WHERE id = ?', [accountPurse(order.accountId)])
    if (bounds.anHourOfAll !== null) await lockMark(tx, driver, order.method, 'orders')
    const [clock] = await tx.query(`SELECT ${driver.dialect.nowMs} AS now`, [])
    const nowMs = integer(clock as Row, 'now')
    const bound = await boundAgainst(tx, order, bounds, nowMs)
    if (bound !== null) return { bound }
    await insertOrder(
      tx,
      { ...order, reference: `topup:${order.id}`, tokens: null, providerId: null, state: 'created' },
      nowMs,
    )
    const { id, accountId, method, amount, asked, currency } = order
    await recordAction(tx, driver, act, {
      subject: { kind: 'order', id },
      accountId,
      before: null,
      after: { method, amount: formatMicro(amount), asked, currency },
    })
    const [made] = await tx.query('SELECT * FROM pay_orders WHERE id = ?', [id])
    return { order: toOrder(made as Row) }
  })
}

async function insertProof(tx: Transaction, driver: Driver, proof: Proof): Promise<void> {
  const { method, transactionId, orderId, amount, currency, source, digest, paidAtMs, actor, note } = proof
  await tx.run(
    'INSERT INTO pay_proofs (method, transaction_id, order_id, amount, currency, source, digest, paid_at_ms, at_ms, ' +
      `actor, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ${driver.dialect.nowMs}, ?, ?)`,
    [method, transactionId, orderId, amount, currency, source, digest, paidAtMs, actor, note],
  )
}

async function prove(tx: Transaction, driver: Driver, proof: Proof, hold: PaymentHold | null): Promise<Proven> {
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
    [moved(order.state, 'paid'), late, await heldUntil(tx, order, proof, hold), orderId],
  )
  return 'paid'
}

/**
 * Stores the proof of an order's first payment and moves the order to `paid`, in one transaction. `hold`: when the money is
 * to be held; null, the default = never.
 */
export async function proveOrder(driver: Driver, proof: Proof, hold: PaymentHold | null = null): Promise<Proven> {
  try {
    return await driver.transaction('proveOrder', tx => prove(tx, driver, proof, hold))
  } catch (error) {
    // The lock of the order keeps apart what is said of one order; this payment was stored for another one meanwhile.
    if (error instanceof DuplicateKey) return 'elsewhere'
    throw error
  }
}

/** Stores the proof of a payment that proves no order, once a person knows of it. */
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

const HELD = "state = 'paid' AND held_until_ms > ?"
/** Orders that wait for others of their account are paid as people expect, and nothing about them is doubted. */
const HELD_FOR_TIME = `${HELD} AND held_until_ms < ${UNTIL_ENOUGH}`

/**
 * Of how many orders the payer's bank has disputed the payment, or the provider has warned, since a moment. An order of which
 * several were told counts once; a dispute that left nothing to freeze has an exception only.
 */
async function disputedOrdersIn(
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

/** Until when a payment that is proven now is held; null = it is not. What a person decides is not held. */
async function heldUntil(
  tx: Transaction,
  { method, sandbox }: Order,
  { source }: Proof,
  hold: PaymentHold | null,
): Promise<number | null> {
  if (method === 'usdt') return source === 'operator' ? null : UNTIL_ENOUGH
  if (hold === null) return null
  return (await disputedOrdersIn(tx, method, sandbox, hold.sinceMs)) >= hold.disputes ? hold.untilMs : null
}

/** How many orders of a method were disputed, or warned of, since a moment. */
export const disputedOrders = (
  driver: Driver,
  method: OrderMethod,
  sandbox: boolean,
  sinceMs: number,
): Promise<number> =>
  disputedOrdersIn({ query: (sql, params) => driver.query('disputedOrders', sql, params) }, method, sandbox, sinceMs)

/** How many orders are held, and their money. */
export async function heldOrders(driver: Driver, nowMs: number): Promise<{ count: number; amount: Micro }> {
  const sql = `SELECT COUNT(*) AS n, COALESCE(SUM(amount), 0) AS amount FROM pay_orders WHERE ${HELD_FOR_TIME}`
  const [row] = await driver.query('heldOrders', sql, [nowMs])
  return { count: integer(row as Row, 'n'), amount: money(row as Row, 'amount') }
}

/** Ends the hold of an order, because somebody has decided so. False when it is not held. */
export function releaseOrder(driver: Driver, id: string, nowMs: number, reason: string, act: Act): Promise<boolean> {
  return driver.transaction('releaseOrder', async tx => {
    const [row] = await tx.query('SELECT * FROM pay_orders WHERE id = ?', [id])
    const sql = `UPDATE pay_orders SET held_until_ms = ? WHERE id = ? AND ${HELD}`
    if (row === undefined || (await tx.run(sql, [nowMs, id, nowMs])).changes === 0) return false
    const order = toOrder(row)
    await recordAction(tx, driver, act, {
      subject: { kind: 'order', id },
      accountId: order.accountId,
      before: { held_until: iso(order.heldUntilMs as number) },
      after: { reason, amount: formatMicro(order.amount) },
    })
    return true
  })
}
