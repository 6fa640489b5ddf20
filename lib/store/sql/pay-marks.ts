/** Marks of payments: when something last went well, how often something happened, and whose turn a regular task is. */
import type { PayWay } from '../../terms/pay.ts'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import type { PayMark } from '../pay-store.ts'
import { integer, text } from '../base/text.ts'

export async function payMarks(driver: Driver): Promise<PayMark[]> {
  return (await driver.query('payMarks', 'SELECT * FROM pay_marks ORDER BY method, what', [])).map(row => ({
    method: text(row, 'method') as PayWay,
    what: text(row, 'what'),
    atMs: integer(row, 'at_ms'),
    value: text(row, 'value'),
  }))
}

export async function setPayMark(driver: Driver, method: PayWay, what: string, value: string): Promise<void> {
  const { dialect } = driver
  const sql =
    `INSERT INTO pay_marks (method, what, at_ms, value) VALUES (?, ?, ${dialect.nowMs}, ?) ` +
    dialect.overwrite(['method', 'what'], ['at_ms', 'value'])
  await driver.run('setPayMark', sql, [method, what, value])
}

/** Whoever wants the same mark waits until this transaction has ended. */
export async function lockMark(tx: Transaction, { dialect }: Driver, method: PayWay, what: string): Promise<void> {
  const lock = () => tx.run('UPDATE pay_marks SET value = value WHERE method = ? AND what = ?', [method, what])
  if ((await lock()).changes > 0) return
  await tx.run(`INSERT ${dialect.ignore} INTO pay_marks (method, what, at_ms, value) VALUES (?, ?, 0, '')`, [
    method,
    what,
  ])
  await lock()
}

/** Several processes count at the same time: each adds to what stands there. */
export function countPayMark(driver: Driver, method: PayWay, what: string, more: number): Promise<void> {
  const { ignore, nowMs } = driver.dialect
  return driver.transaction('countPayMark', async tx => {
    await tx.run(`INSERT ${ignore} INTO pay_marks (method, what, at_ms, value) VALUES (?, ?, 0, '0')`, [method, what])
    await tx.run(`UPDATE pay_marks SET at_ms = ${nowMs} WHERE method = ? AND what = ?`, [method, what])
    const [row] = await tx.query('SELECT value FROM pay_marks WHERE method = ? AND what = ?', [method, what])
    const value = String(Number(text(row as Row, 'value')) + more)
    await tx.run('UPDATE pay_marks SET value = ? WHERE method = ? AND what = ?', [value, method, what])
  })
}

/** Of several gateways, the one whose update still finds the old time gets it. */
export async function takePayMark(
  driver: Driver,
  method: PayWay,
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
