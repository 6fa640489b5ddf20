/**
 * The right to an uncovered request: an account has one such request open at a time, over all gateways. A row for each account
 * that ever had one says who has it and until when, by the store's clock; the right of a dead process ends by that time.
 */
import { type Driver, DuplicateKey } from '../driver.ts'
import { chunks, marks, padded } from './text.ts'

export async function takeUncovered(
  driver: Driver,
  accountId: number,
  ticket: string,
  forMs: number,
): Promise<boolean> {
  const { nowMs } = driver.dialect
  const update = `UPDATE uncovered SET ticket = ?, until_ms = ${nowMs} + ? WHERE account_id = ? AND until_ms <= ${nowMs}`
  const taken = await driver.run('uncovered', update, [ticket, forMs, accountId])
  if (taken.changes === 1) return true
  const insert = `INSERT INTO uncovered (ticket, until_ms, account_id) VALUES (?, ${nowMs} + ?, ?)`
  try {
    return (await driver.run('uncovered', insert, [ticket, forMs, accountId])).changes === 1
  } catch (error) {
    if (error instanceof DuplicateKey) return false
    throw error
  }
}

export async function keepUncovered(driver: Driver, tickets: readonly string[], forMs: number): Promise<void> {
  for (const some of chunks(tickets)) {
    const named = padded(some)
    const sql = `UPDATE uncovered SET until_ms = ${driver.dialect.nowMs} + ? WHERE ticket IN (${marks(named.length)})`
    await driver.run('uncovered', sql, [forMs, ...named])
  }
}

export async function giveUncovered(driver: Driver, accountId: number, ticket: string): Promise<void> {
  const sql = "UPDATE uncovered SET ticket = '', until_ms = 0 WHERE account_id = ? AND ticket = ?"
  await driver.run('uncovered', sql, [accountId, ticket])
}
