/**
 * What is noted of payments beside orders and money: exceptions that wait for a person, events that have been dealt with, when
 * something last went well and whose turn a regular task is, and rates of currencies.
 */
import type { Act } from '../../base/people.ts'
import type { OrderMethod, PayException } from '../../terms/pay.ts'
import { type Driver, DuplicateKey, type Param, type Row, type Transaction } from '../base/driver.ts'
import type { ExceptionFilter, NewException, PayMark, PayRate } from './types.ts'
import { recordAction } from '../base/actions.ts'
import { integer, integerOrNull, text, textOrNull } from '../base/text.ts'

const toException = (row: Row): PayException => ({
  id: integer(row, 'id'),
  method: text(row, 'method') as OrderMethod,
  kind: text(row, 'kind') as PayException['kind'],
  reference: text(row, 'reference'),
  orderId: textOrNull(row, 'order_id'),
  transactionId: textOrNull(row, 'transaction_id'),
  amount: integerOrNull(row, 'amount'),
  currency: textOrNull(row, 'currency'),
  detail: text(row, 'detail'),
  atMs: integer(row, 'at_ms'),
  dueAtMs: integerOrNull(row, 'due_at_ms'),
  resolvedAtMs: integerOrNull(row, 'resolved_at_ms'),
  resolvedBy: textOrNull(row, 'resolved_by'),
  resolution: textOrNull(row, 'resolution'),
})

/** Stores an exception once for each method, kind and reference. True when it is new. */
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

/** False when it is resolved already. */
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

/** True when the event is new. */
export async function seenEvent(driver: Driver, method: OrderMethod, eventId: string): Promise<boolean> {
  const sql = 'SELECT 1 FROM pay_inbox WHERE method = ? AND event_id = ?'
  return (await driver.query('seenEvent', sql, [method, eventId])).length > 0
}

export async function rememberEvent(driver: Driver, method: OrderMethod, eventId: string): Promise<void> {
  const { ignore, nowMs } = driver.dialect
  const sql = `INSERT ${ignore} INTO pay_inbox (method, event_id, at_ms) VALUES (?, ?, ${nowMs})`
  await driver.run('rememberEvent', sql, [method, eventId])
}

export async function forgetEvents(driver: Driver, beforeMs: number, limit: number): Promise<number> {
  return driver.transaction('forgetEvents', async tx => {
    const rows = await tx.query('SELECT method, event_id FROM pay_inbox WHERE at_ms < ? ORDER BY at_ms LIMIT ?', [
      beforeMs,
      limit,
    ])
    for (const row of rows)
      await tx.run('DELETE FROM pay_inbox WHERE method = ? AND event_id = ?', [
        text(row, 'method'),
        text(row, 'event_id'),
      ])
    return rows.length
  })
}

export async function payMarks(driver: Driver): Promise<PayMark[]> {
  return (await driver.query('payMarks', 'SELECT * FROM pay_marks ORDER BY method, what', [])).map(row => ({
    method: text(row, 'method') as OrderMethod,
    what: text(row, 'what'),
    atMs: integer(row, 'at_ms'),
    value: text(row, 'value'),
  }))
}

export async function setPayMark(driver: Driver, method: OrderMethod, what: string, value: string): Promise<void> {
  const { dialect } = driver
  const sql =
    `INSERT INTO pay_marks (method, what, at_ms, value) VALUES (?, ?, ${dialect.nowMs}, ?) ` +
    dialect.overwrite(['method', 'what'], ['at_ms', 'value'])
  await driver.run('setPayMark', sql, [method, what, value])
}

/** Whoever wants the same mark waits until this transaction has ended. */
export async function lockMark(tx: Transaction, { dialect }: Driver, method: OrderMethod, what: string): Promise<void> {
  const lock = () => tx.run('UPDATE pay_marks SET value = value WHERE method = ? AND what = ?', [method, what])
  if ((await lock()).changes > 0) return
  await tx.run(`INSERT ${dialect.ignore} INTO pay_marks (method, what, at_ms, value) VALUES (?, ?, 0, '')`, [
    method,
    what,
  ])
  await lock()
}

/** Several processes count at the same time: each adds to what stands there. */
export function countPayMark(driver: Driver, method: OrderMethod, what: string, more: number): Promise<void> {
  const { ignore, nowMs } = driver.dialect
  return driver.transaction('countPayMark', async tx => {
    await tx.run(`INSERT ${ignore} INTO pay_marks (method, what, at_ms, value) VALUES (?, ?, 0, '0')`, [method, what])
    await tx.run(`UPDATE pay_marks SET at_ms = ${nowMs} WHERE method = ? AND what = ?`, [method, what])
    const [row] = await tx.query('SELECT value FROM pay_marks WHERE method = ? AND what = ?', [method, what])
    const value = String(Number(text(row as Row, 'value')) + more)
    await tx.run('UPDATE pay_marks SET value = ? WHERE method = ? AND what = ?', [value, method, what])
  })
}

/** Takes the work for one of several gateways: the one whose update still finds the old time. */
export async function takePayMark(
  driver: Driver,
  method: OrderMethod,
  what: string,
  nowMs: number,
  restMs: number,
): Promise<boolean> {
  const { ignore } = driver.dialect
  await driver.run('takePayMark', `INSERT ${ignore} INTO pay_marks (method, what, at_ms, value) VALUES (?, ?, 0, '')`, [
    method,
    what,
  ])
  const sql = 'UPDATE pay_marks SET at_ms = ? WHERE method = ? AND what = ? AND at_ms <= ?'
  return (await driver.run('takePayMark', sql, [nowMs, method, what, nowMs - restMs])).changes === 1
}

const toRate = (row: Row): PayRate => ({
  id: integer(row, 'id'),
  currency: text(row, 'currency'),
  rate: integer(row, 'rate'),
  fromMs: integer(row, 'from_ms'),
  untilMs: integer(row, 'until_ms'),
  actor: text(row, 'actor'),
})

/** The newest row that had begun counts; when its end has passed, there is no rate. */
export async function payRateAt(
  tx: Pick<Transaction, 'query'>,
  currency: string,
  atMs: number,
): Promise<PayRate | null> {
  const sql = 'SELECT * FROM pay_rates WHERE currency = ? AND from_ms <= ? ORDER BY from_ms DESC, id DESC LIMIT 1'
  const [row] = await tx.query(sql, [currency, atMs])
  const rate = row === undefined ? null : toRate(row)
  return rate === null || rate.untilMs <= atMs ? null : rate
}

/** The rate in force at a moment; null = none. */
export const payRate = (driver: Driver, currency: string, atMs: number): Promise<PayRate | null> =>
  payRateAt({ query: (sql, params) => driver.query('payRate', sql, params) }, currency, atMs)

export async function payRates(driver: Driver, currency: string, limit: number): Promise<PayRate[]> {
  const sql = 'SELECT * FROM pay_rates WHERE currency = ? ORDER BY from_ms DESC, id DESC LIMIT ?'
  return (await driver.query('payRates', sql, [currency, limit])).map(toRate)
}

export function setPayRate(driver: Driver, rate: Omit<PayRate, 'id' | 'actor'>, act: Act): Promise<void> {
  const { currency, rate: value, fromMs, untilMs } = rate
  return driver.transaction('setPayRate', async tx => {
    await tx.run('INSERT INTO pay_rates (currency, rate, from_ms, until_ms, actor) VALUES (?, ?, ?, ?, ?)', [
      currency,
      value,
      fromMs,
      untilMs,
      act.actor.name,
    ])
    await recordAction(tx, driver, act, {
      subject: { kind: 'setting', id: `rate:${currency}` },
      accountId: null,
      before: null,
      after: { rate: value, from_ms: fromMs, until_ms: untilMs },
    })
  })
}
