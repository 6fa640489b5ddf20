/**
 * What deposits are worth, as a number that an engine can add up: somebody may send thousands of the smallest amounts to an
 * account, and none of them may be read anew whenever another one comes.
 */
import { type Deposit, floorOf, WEI, worthOf } from '../../terms/deposits.ts'
import type { Transaction } from '../base/driver.ts'
import { toDeposit } from './deposit-rows.ts'
import { big, integer } from '../base/text.ts'

/** A billion CNY. A deposit that is worth more is for people to look at; many of them fit into a balance's integer. */
export const MOST = 10n ** 15n

/** The column `worth`: whole micro-CNY, rounded down; one more than `MOST` stands for all that is more. null = a rate is missing. */
export function depositWorth(deposit: Parameters<typeof worthOf>[0]): number | null {
  const worth = worthOf(deposit)
  if (worth === null) return null
  return Number(floorOf(worth) > MOST ? MOST + 1n : floorOf(worth))
}

const WAITING =
  "FROM chain_deposits WHERE account_id = ? AND chain_id = ? AND state = 'confirmed' AND worth IS NOT NULL"

export const waitingDeposits = async (
  tx: Transaction,
  chainId: number,
  accountId: number,
  where = '',
): Promise<Deposit[]> =>
  (await tx.query(`SELECT * ${WAITING}${where} ORDER BY id`, [accountId, chainId])).map(toDeposit)

/**
 * The last of the deposits that wait, when together they are worth at least so much; null = they are not. Each is rounded down in
 * its column by less than one, so only a sum that is so close to the minimum has to be made of the deposits themselves.
 */
export async function lastOfEnough(
  tx: Transaction,
  chainId: number,
  accountId: number,
  minimum: number,
): Promise<number | null> {
  const sql = `SELECT COUNT(*) AS n, CAST(SUM(worth) AS CHAR) AS total, MAX(id) AS latest ${WAITING}`
  const [row] = await tx.query(sql, [accountId, chainId])
  const n = integer(row!, 'n')
  if (n === 0) return null
  const total = big(row!, 'total')
  const least = BigInt(minimum)
  if (total + BigInt(n) <= least) return null
  if (total < least) {
    const waiting = await waitingDeposits(tx, chainId, accountId)
    if (waiting.reduce((sum, deposit) => sum + (worthOf(deposit) as bigint), 0n) < least * WEI) return null
  }
  return integer(row!, 'latest')
}
