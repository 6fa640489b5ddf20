/** How much money of an account may go back to its payers: what they paid, less what was charged, as far as it is free. */
import { type Micro, micro } from '../../base/money.ts'
import type { Param, Row, Transaction } from '../base/driver.ts'
import type { EntryKind } from '../books/entries.ts'
import { accountPurse } from '../books/purses.ts'
import { integer } from '../base/text.ts'

/**
 * Kinds of entries that move paid money; openings, top-ups by hand and adjustments are never paid out. A settlement is a
 * charge that was decided later.
 */
const PAID: readonly EntryKind[] = ['payment', 'refund', 'reversal', 'freeze', 'release', 'settlement']

/**
 * `left`: what is left of the payment that is sent back. The caller has locked the account's purse, or reads for show.
 * Charges use paid money first.
 */
export async function couldGoBack(tx: Pick<Transaction, 'query'>, accountId: number, left: Micro): Promise<Micro> {
  const purse = accountPurse(accountId)
  const read = async (sql: string, params: readonly Param[]) => (await tx.query(sql, params))[0] as Row
  const kinds = PAID.map(kind => `'${kind}'`).join(', ')
  const paid = await read(
    `SELECT COALESCE(SUM(amount), 0) AS total FROM entries WHERE account_id = ? AND kind IN (${kinds})`,
    [accountId],
  )
  const { credit, promised } = await read('SELECT credit, promised FROM purses WHERE id = ?', [purse])
  const leases = await read('SELECT COALESCE(SUM(amount), 0) AS leased FROM leases WHERE purse_id = ?', [purse])
  const charges = Number(promised) - integer(leases, 'leased')
  return micro(Math.max(0, Math.min(left, integer(paid, 'total') - charges, Number(credit) - Number(promised))))
}
