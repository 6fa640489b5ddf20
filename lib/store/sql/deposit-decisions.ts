/**
 * What a person decides about a deposit that is held: it is credited with what it is worth, or it credits nothing. Either way
 * the row says who has decided, and why.
 */
import { micro } from '../../base/money.ts'
import { type Deposit, depositReference, floorOf, worthOf } from '../../terms/deposits.ts'
import type { Act } from '../../base/people.ts'
import type { DepositResolved } from '../deposit-store.ts'
import { type Driver, DuplicateKey, type Transaction } from '../base/driver.ts'
import { accountPurse } from '../books/purses.ts'
import { recordAction } from '../base/actions.ts'
import { toDeposit } from './deposit-rows.ts'
import { bookPayment } from './pay-money.ts'

const BY_ID = 'SELECT * FROM chain_deposits WHERE id = ?'

/** Whether the transaction counts already as it stood in another block. */
async function countsElsewhere(tx: Transaction, { chainId, tx: hash, block }: Deposit): Promise<boolean> {
  const sql =
    'SELECT 1 FROM chain_deposits WHERE chain_id = ? AND tx = ? AND block_hash <> ? ' +
    "AND state IN ('confirmed', 'due', 'credited')"
  return (await tx.query(sql, [chainId, hash, block.hash])).length > 0
}

async function book(
  tx: Transaction,
  driver: Driver,
  deposit: Deposit,
  reason: string,
  act: Act,
): Promise<bigint | Exclude<DepositResolved['outcome'], 'done'>> {
  if (await countsElsewhere(tx, deposit)) return 'elsewhere'
  const worth = worthOf(deposit)
  if (worth === null) return 'rateless'
  const amount = floorOf(worth)
  if (amount > BigInt(Number.MAX_SAFE_INTEGER)) return 'conflict'
  if (amount === 0n) return 0n
  const reference = depositReference(deposit.chainId, deposit)
  const booked = await bookPayment(tx, driver, deposit.accountId, micro(Number(amount)), reference, reason, act)
  return booked.outcome === 'created' ? amount : 'conflict'
}

async function resolve(
  tx: Transaction,
  driver: Driver,
  id: number,
  credit: boolean,
  reason: string,
  act: Act,
): Promise<DepositResolved> {
  const [row] = await tx.query(BY_ID, [id])
  if (row === undefined) return { outcome: 'settled' }
  await tx.run('UPDATE purses SET promised = promised WHERE id = ?', [accountPurse(toDeposit(row).accountId)])
  const deposit = toDeposit((await tx.query(BY_ID, [id]))[0]!)
  if (deposit.state !== 'held') return { outcome: 'settled' }
  const booked = credit ? await book(tx, driver, deposit, reason, act) : 0n
  if (typeof booked === 'string') return { outcome: booked }
  const state = credit ? 'credited' : 'closed'
  await tx.run(
    'UPDATE chain_deposits SET state = ?, credited = ?, decided_by = ?, decision = ?, ' +
      `credited_at_ms = ${credit ? driver.dialect.nowMs : 'NULL'} WHERE id = ?`,
    [state, Number(booked), act.actor.name, reason, id],
  )
  await recordAction(tx, driver, act, {
    subject: { kind: 'deposit', id: String(id) },
    accountId: deposit.accountId,
    before: { state: 'held' },
    after: { state, reason },
  })
  return { outcome: 'done', deposit: toDeposit((await tx.query(BY_ID, [id]))[0]!) }
}

export async function resolveDeposit(
  driver: Driver,
  id: number,
  credit: boolean,
  reason: string,
  act: Act,
): Promise<DepositResolved> {
  try {
    return await driver.transaction('resolveDeposit', tx => resolve(tx, driver, id, credit, reason, act))
  } catch (error) {
    if (error instanceof DuplicateKey) return { outcome: 'conflict' } // another account has the entry
    throw error
  }
}
