/**
 * Gives deposits that came when no rate was in force the first rate that began after them. A rate begins a moment before others
 * can read it; a deposit that is stored in between has it too. The rate of each is found here
 * and not by the engine: engines do not agree on statements that change a table by what stands in another one.
 */
import { USDT } from '../../terms/deposits.ts'
import type { Driver, Transaction } from '../base/driver.ts'
import { toDeposit } from './deposit-rows.ts'
import { depositWorth } from './deposit-worth.ts'
import { payRateAt } from './pay-rates.ts'
import { integer } from '../base/text.ts'

/** At a time. Deposits that came first get their rates first, so those behind them have their turn. */
const MOST = 1_000

const WAITING =
  "SELECT * FROM chain_deposits WHERE state IN ('final', 'confirmed', 'held') AND rate IS NULL " +
  'AND quoted <> value ORDER BY at_ms, id LIMIT ?'
const FIX = 'UPDATE chain_deposits SET rate = ?, worth = ? WHERE id = ? AND rate IS NULL'

async function rateFor(tx: Transaction, atMs: number, nowMs: string): Promise<number | null> {
  const then = await payRateAt(tx, USDT, atMs)
  if (then !== null) return then.rate
  const sql =
    'SELECT rate FROM pay_rates WHERE currency = ? AND from_ms > ? ' +
    `AND from_ms <= ${nowMs} ORDER BY from_ms, id LIMIT 1`
  const [row] = await tx.query(sql, [USDT, atMs])
  return row === undefined ? null : integer(row, 'rate')
}

/** Returns how many got a rate. */
export const fixRates = (driver: Driver): Promise<number> =>
  driver.transaction('fixRates', async tx => {
    let fixed = 0
    for (const row of await tx.query(WAITING, [MOST])) {
      const deposit = toDeposit(row)
      const rate = await rateFor(tx, deposit.atMs, driver.dialect.nowMs)
      // none was in force then or has begun since, so the same is true of the later ones
      if (rate === null) break
      fixed += (await tx.run(FIX, [rate, depositWorth({ ...deposit, rate }), deposit.id])).changes
    }
    return fixed
  })
