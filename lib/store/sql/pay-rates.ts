/** The rates of currencies in which ways to pay take money. */
import type { Act } from '../../base/people.ts'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import type { PayRate } from '../pay-store.ts'
import { recordAction } from '../base/actions.ts'
import { integer, text } from '../base/text.ts'

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
