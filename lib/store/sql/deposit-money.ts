/**
 * Where deposits enter a balance. The transaction locks the account's purse first, so that of several gateways that credit
 * one account, each finds what the one before it did.
 */
import { type Micro, micro } from '../../base/money.ts'
import { type Deposit, depositReference, floorOf, worthOf } from '../../terms/deposits.ts'
import type { Act } from '../../base/people.ts'
import type { DepositsCredited } from '../deposit-store.ts'
import { type Driver, DuplicateKey, type Transaction } from '../base/driver.ts'
import { accountPurse } from '../books/purses.ts'
import { toDeposit } from './deposit-rows.ts'
import { lastOfEnough, MOST, waitingDeposits } from './deposit-worth.ts'
import { bookPayment } from './pay-money.ts'

/** Most deposits of one transaction: somebody may send thousands of the smallest amounts. */
const BATCH = 100

const OF_ACCOUNT = 'FROM chain_deposits WHERE account_id = ? AND chain_id = ?'

async function hold(tx: Transaction, deposits: readonly Deposit[]): Promise<void> {
  for (const { id } of deposits) await tx.run("UPDATE chain_deposits SET state = 'held' WHERE id = ?", [id])
}

const due = async (tx: Transaction, chainId: number, accountId: number): Promise<Deposit[]> =>
  (await tx.query(`SELECT * ${OF_ACCOUNT} AND state = 'due' ORDER BY id LIMIT ?`, [accountId, chainId, BATCH])).map(
    toDeposit,
  )

/** What is credited at once. `byHand`: somebody has decided to credit it; null = it is worth the minimum. */
interface Whose {
  chainId: number
  accountId: number
  minimum: Micro
  byHand: { actor: string; reason: string } | null
}

/** What has no rate goes on waiting; so does everything that is together worth less than the minimum. Returns what is held. */
async function markDue(tx: Transaction, { chainId, accountId, minimum, byHand }: Whose): Promise<Deposit[]> {
  const tooLarge = await waitingDeposits(tx, chainId, accountId, ` AND worth > ${MOST}`)
  await hold(tx, tooLarge)
  const last = await lastOfEnough(tx, chainId, accountId, minimum)
  if (last !== null)
    await tx.run(
      "UPDATE chain_deposits SET state = 'due', decided_by = ?, decision = ? WHERE account_id = ? AND chain_id = ? " +
        "AND state = 'confirmed' AND id <= ? AND worth IS NOT NULL",
      [byHand?.actor ?? null, byHand?.reason ?? null, accountId, chainId, last],
    )
  return tooLarge
}

async function credit(tx: Transaction, driver: Driver, whose: Whose, act: Act): Promise<DepositsCredited> {
  const { chainId, accountId } = whose
  await tx.run('UPDATE purses SET promised = promised WHERE id = ?', [accountPurse(accountId)])
  const done: DepositsCredited = { credited: [], held: [] }
  if ((await due(tx, chainId, accountId)).length === 0) done.held = await markDue(tx, whose)
  for (const deposit of await due(tx, chainId, accountId)) {
    const amount = floorOf(worthOf(deposit) as bigint)
    // Less than a millionth of a CNY is nothing that an entry could have.
    const reference = depositReference(chainId, deposit)
    const credited = micro(Number(amount))
    const note = deposit.decision ?? ''
    const booked = amount === 0n ? null : await bookPayment(tx, driver, accountId, credited, reference, note, act)
    if (booked?.outcome === 'conflict') {
      await hold(tx, [deposit])
      done.held.push(deposit)
      continue
    }
    await tx.run(
      `UPDATE chain_deposits SET state = 'credited', credited = ?, credited_at_ms = ${driver.dialect.nowMs} WHERE id = ?`,
      [credited, deposit.id],
    )
    done.credited.push({ ...deposit, state: 'credited', credited })
  }
  return done
}

export async function creditDeposits(
  driver: Driver,
  chainId: number,
  accountId: number,
  minimum: Micro,
  act: Act,
  reason?: string,
): Promise<DepositsCredited> {
  const whose = { chainId, accountId, minimum, byHand: reason === undefined ? null : { actor: act.actor.name, reason } }
  try {
    return await driver.transaction('creditDeposits', tx => credit(tx, driver, whose, act))
  } catch (error) {
    if (!(error instanceof DuplicateKey)) throw error
    return driver.transaction('creditDeposits', tx => holdForeign(tx, whose))
  }
}

/** Another account has the entry of one of these deposits, which two addresses can never share. */
async function holdForeign(tx: Transaction, whose: Whose): Promise<DepositsCredited> {
  const { chainId, accountId } = whose
  const held = (await due(tx, chainId, accountId)).length > 0 ? [] : await markDue(tx, whose)
  const foreign: Deposit[] = []
  for (const deposit of await due(tx, chainId, accountId)) {
    const sql = 'SELECT account_id FROM entries WHERE payment = ?'
    if ((await tx.query(sql, [depositReference(chainId, deposit)])).length > 0) foreign.push(deposit)
  }
  await hold(tx, foreign)
  return { credited: [], held: [...held, ...foreign] }
}
