/** Deposit addresses, and quotes: what is promised to an account before anything comes. */
import type { DepositAddress, Quote } from '../../terms/deposits.ts'
import type { Act } from '../../base/people.ts'
import type { NewAddress, NewQuote } from '../deposit-store.ts'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import { accountPurse } from '../books/purses.ts'
import { recordAction } from '../base/actions.ts'
import { toAddress, toQuote } from './deposit-rows.ts'
import { chunks, integer, marks } from '../base/text.ts'

const HOUR_MS = 3_600_000
const OF_ACCOUNT = 'SELECT * FROM deposit_addresses WHERE chain_id = ? AND wallet = ? AND account_id = ?'

export async function depositAddress(
  driver: Pick<Driver, 'query'>,
  chainId: number,
  wallet: string,
  accountId: number,
): Promise<DepositAddress | null> {
  const [row] = await driver.query('depositAddress', OF_ACCOUNT, [chainId, wallet, accountId])
  return row === undefined ? null : toAddress(row)
}

async function issue(
  tx: Transaction,
  driver: Driver,
  { chainId, wallet, accountId, fromBlock }: NewAddress,
  derive: (number: number) => string,
  act: Act,
): Promise<DepositAddress> {
  const { ignore, nowMs } = driver.dialect
  const count = () => tx.run('UPDATE deposit_counters SET issued = issued + 1 WHERE chain_id = ?', [chainId])
  if ((await count()).changes === 0) {
    await tx.run(`INSERT ${ignore} INTO deposit_counters (chain_id, issued) VALUES (?, 0)`, [chainId])
    await count()
  }
  // The counter's row is locked now: whoever asks for the same account at the same time finds the address here.
  const [there] = await tx.query(OF_ACCOUNT, [chainId, wallet, accountId])
  if (there !== undefined) {
    await tx.run('UPDATE deposit_counters SET issued = issued - 1 WHERE chain_id = ?', [chainId])
    return toAddress(there)
  }
  const [counter] = await tx.query('SELECT issued FROM deposit_counters WHERE chain_id = ?', [chainId])
  const number = integer(counter as Row, 'issued') - 1
  const address = derive(number)
  await tx.run(
    'INSERT INTO deposit_addresses (chain_id, number, wallet, account_id, address, from_block, watched, at_ms) ' +
      `VALUES (?, ?, ?, ?, ?, ?, 0, ${nowMs})`,
    [chainId, number, wallet, accountId, address, fromBlock],
  )
  const subject = { kind: 'deposit', id: address } as const
  await recordAction(tx, driver, act, { subject, accountId, before: null, after: { chain: chainId, number } })
  const [row] = await tx.query(OF_ACCOUNT, [chainId, wallet, accountId])
  return toAddress(row as Row)
}

export const issueAddress = (
  driver: Driver,
  address: NewAddress,
  derive: (number: number) => string,
  act: Act,
): Promise<DepositAddress> => driver.transaction('issueAddress', tx => issue(tx, driver, address, derive, act))

export async function depositAddresses(
  driver: Driver,
  chainId: number,
  afterNumber: number,
  limit: number,
): Promise<DepositAddress[]> {
  const sql = 'SELECT * FROM deposit_addresses WHERE chain_id = ? AND number > ? ORDER BY number LIMIT ?'
  return (await driver.query('depositAddresses', sql, [chainId, afterNumber, limit])).map(toAddress)
}

export async function addressCount(driver: Driver, chainId: number): Promise<number> {
  const sql = 'SELECT COUNT(*) AS n FROM deposit_addresses WHERE chain_id = ?'
  const [row] = await driver.query('addressCount', sql, [chainId])
  return integer(row as Row, 'n')
}

export async function addressesWatched(driver: Driver, chainId: number, numbers: readonly number[]): Promise<void> {
  for (const some of chunks(numbers))
    await driver.run(
      'addressesWatched',
      `UPDATE deposit_addresses SET watched = 1 WHERE chain_id = ? AND number IN (${marks(some.length)})`,
      [chainId, ...some],
    )
}

/** Quotes of an account that are kept. Older ones end long before the blocks of their time are read. */
const QUOTES_KEPT = 100

async function forgetQuotes(tx: Transaction, accountId: number): Promise<void> {
  const oldest = 'SELECT id FROM deposit_quotes WHERE account_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?'
  const [row] = await tx.query(oldest, [accountId, QUOTES_KEPT])
  if (row !== undefined)
    await tx.run('DELETE FROM deposit_quotes WHERE account_id = ? AND id <= ?', [accountId, integer(row, 'id')])
}

export function makeQuote(driver: Driver, quote: NewQuote, anHour: number, act: Act): Promise<Quote | null> {
  const { accountId, amount, wei, rate, fromMs, untilMs } = quote
  return driver.transaction('makeQuote', async tx => {
    // The lock of the purse lets the quotes of one account be counted and made one after the other.
    await tx.run('UPDATE purses SET promised = promised WHERE id = ?', [accountPurse(accountId)])
    const newest = 'SELECT from_ms FROM deposit_quotes WHERE account_id = ? ORDER BY id DESC LIMIT ?'
    const made = await tx.query(newest, [accountId, anHour])
    if (made.filter(row => integer(row, 'from_ms') > fromMs - HOUR_MS).length >= anHour) return null
    await tx.run('UPDATE deposit_quotes SET until_ms = ? WHERE account_id = ? AND used = 0 AND until_ms > ?', [
      fromMs,
      accountId,
      fromMs,
    ])
    const { insertId } = await tx.run(
      'INSERT INTO deposit_quotes (account_id, amount, wei, rate, from_ms, until_ms, used) VALUES (?, ?, ?, ?, ?, ?, 0)',
      [accountId, amount, String(wei), rate, fromMs, untilMs],
    )
    await forgetQuotes(tx, accountId)
    const after = { amount, wei: String(wei), rate, until_ms: untilMs }
    const subject = { kind: 'deposit', id: `quote:${insertId}` } as const
    await recordAction(tx, driver, act, { subject, accountId, before: null, after })
    return { ...quote, id: insertId, used: false }
  })
}

export async function newestQuote(driver: Driver, accountId: number): Promise<Quote | null> {
  const sql = 'SELECT * FROM deposit_quotes WHERE account_id = ? ORDER BY id DESC LIMIT 1'
  const [row] = await driver.query('quote', sql, [accountId])
  return row === undefined ? null : toQuote(row)
}
