/** Refunds as their providers report them: when they are due to be asked about, and what became of them. Their money is in `pay-money.ts`. */
import type { OrderMethod, Refund } from '../../terms/pay.ts'
import type { Driver, Param } from '../base/driver.ts'
import { toRefund } from './pay-rows.ts'

export async function refundWhere(driver: Driver, where: string, params: readonly Param[]): Promise<Refund[]> {
  const sql = `SELECT * FROM pay_refunds WHERE ${where} ORDER BY at_ms, id`
  return (await driver.query('refunds', sql, params)).map(toRefund)
}

export async function refundSent(
  driver: Driver,
  method: OrderMethod,
  id: string,
  providerId: string | null,
  checkAtMs: number | null,
): Promise<void> {
  // A message may have ended it meanwhile, or told its number: then nothing is left to ask.
  const sql =
    "UPDATE pay_refunds SET provider_id = COALESCE(?, provider_id), check_at_ms = CASE WHEN state = 'frozen' THEN ? END " +
    'WHERE method = ? AND id = ?'
  await driver.run('refundSent', sql, [providerId, checkAtMs, method, id])
}

/** As `takeDueOrders`. */
export async function takeDueRefunds(driver: Driver, nowMs: number, leaseMs: number, limit: number): Promise<Refund[]> {
  const sql = 'SELECT * FROM pay_refunds WHERE check_at_ms <= ? ORDER BY check_at_ms, id LIMIT ?'
  const taken: Refund[] = []
  for (const refund of (await driver.query('takeDueRefunds', sql, [nowMs, limit])).map(toRefund)) {
    const { changes } = await driver.run(
      'takeDueRefunds',
      'UPDATE pay_refunds SET check_at_ms = ?, checks = checks + 1 WHERE method = ? AND id = ? AND check_at_ms = ?',
      [nowMs + leaseMs, refund.method, refund.id, refund.checkAtMs],
    )
    if (changes === 1) taken.push({ ...refund, checkAtMs: nowMs + leaseMs, checks: refund.checks + 1 })
  }
  return taken
}
