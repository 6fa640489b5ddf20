/**
 * Deposits that are sent back. The program has no key that could send tokens, so an operator sends them: the money leaves the
 * balance first, by an entry that freezes it, and the end says by which transaction the tokens were sent, or that they were not.
 */
import { invariant } from '../../base/assert.ts'
import { type Micro, micro } from '../../base/money.ts'
import { type Deposit, type DepositRefund, tokensBack, tokenText } from '../../terms/deposits.ts'
import type { Act } from '../../base/people.ts'
import type {
  DepositBack,
  DepositFrozen,
  DepositRefundEnd,
  DepositRefundEnded,
  NewDepositRefund,
} from '../deposit-store.ts'
import { type Driver, DuplicateKey, type Param, type Transaction } from '../base/driver.ts'
import { type EntryKind, bookEntry } from '../books/entries.ts'
import { accountPurse } from '../books/purses.ts'
import { recordAction } from '../base/actions.ts'
import { toDeposit, toDepositRefund } from './deposit-rows.ts'
import { couldGoBack } from './paid-money.ts'
import { chunks, integer, marks, money } from '../base/text.ts'

const LOCK_PURSE = 'UPDATE purses SET promised = promised WHERE id = ?'

export async function depositRefunds(
  driver: Pick<Driver, 'query'>,
  where: 'id = ?' | 'deposit_id = ?' | 'state = ?',
  value: Param,
  limit: number,
): Promise<DepositRefund[]> {
  const sql = `SELECT * FROM deposit_refunds WHERE ${where} ORDER BY at_ms, id LIMIT ?`
  return (await driver.query('depositRefunds', sql, [value, limit])).map(toDepositRefund)
}

export async function depositsBack(
  driver: Pick<Driver, 'query'>,
  ids: readonly number[],
): Promise<Map<number, DepositBack>> {
  const backs = new Map<number, DepositBack>()
  for (const some of chunks(ids)) {
    const sums = (state: string) => `SUM(CASE WHEN state = '${state}' THEN amount ELSE 0 END)`
    const sql =
      `SELECT deposit_id, ${sums('frozen')} AS frozen, ${sums('done')} AS refunded FROM deposit_refunds ` +
      `WHERE deposit_id IN (${marks(some.length)}) AND state <> 'released' GROUP BY deposit_id`
    for (const row of await driver.query('depositsBack', sql, some))
      backs.set(integer(row, 'deposit_id'), { frozen: money(row, 'frozen'), refunded: money(row, 'refunded') })
  }
  return backs
}

async function refundOf(tx: Pick<Transaction, 'query'>, id: string): Promise<DepositRefund | null> {
  const [row] = await tx.query('SELECT * FROM deposit_refunds WHERE id = ?', [id])
  return row === undefined ? null : toDepositRefund(row)
}

/** What of a deposit has not gone back, and is not about to. */
async function leftOf(tx: Pick<Transaction, 'query'>, { id, credited }: Deposit): Promise<Micro> {
  const rows = await tx.query("SELECT * FROM deposit_refunds WHERE deposit_id = ? AND state <> 'released'", [id])
  return micro(credited - rows.reduce((sum, row) => sum + toDepositRefund(row).amount, 0))
}

async function depositOf(tx: Pick<Transaction, 'query'>, id: number): Promise<Deposit | null> {
  const [row] = await tx.query('SELECT * FROM chain_deposits WHERE id = ?', [id])
  return row === undefined ? null : toDeposit(row)
}

export const depositRefundable = (driver: Driver, id: number): Promise<Micro> =>
  driver.transaction('depositRefundable', async tx => {
    const deposit = await depositOf(tx, id)
    return deposit === null ? micro(0) : couldGoBack(tx, deposit.accountId, await leftOf(tx, deposit))
  })

async function freezeTokens(
  tx: Transaction,
  driver: Driver,
  { id, depositId, amount, receiver, reason }: NewDepositRefund,
  forced: boolean,
  act: Act,
): Promise<DepositFrozen> {
  const deposit = await depositOf(tx, depositId)
  if (deposit === null) return { outcome: 'bound' }
  const { chainId, accountId } = deposit
  await tx.run(LOCK_PURSE, [accountPurse(accountId)])
  const there = await refundOf(tx, id)
  if (there !== null)
    return there.amount === amount && there.receiver === receiver
      ? { outcome: 'same', refund: there }
      : { outcome: 'conflict' }
  const own = 'SELECT 1 FROM deposit_addresses WHERE chain_id = ? AND address = ?'
  if ((await tx.query(own, [chainId, receiver])).length > 0) return { outcome: 'own' }
  const left = await leftOf(tx, deposit)
  if (left < amount) return { outcome: 'bound' }
  const value = tokensBack(deposit, amount)
  if (value === 0n) return { outcome: 'dust' }
  const refundable = await couldGoBack(tx, accountId, left)
  if (!forced && refundable < amount) return { outcome: 'short', refundable }
  const actor = act.actor.name
  const entry = { kind: 'freeze', amount: micro(-amount), reference: `freeze:usdt:${id}`, actor, note: reason } as const
  const booked = await bookEntry(tx, driver, accountId, entry, act, forced)
  if (booked.outcome !== 'created') return { outcome: 'short', refundable }
  await tx.run(
    'INSERT INTO deposit_refunds (id, chain_id, deposit_id, account_id, amount, value, receiver, state, reason, actor, ' +
      `ending, at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, 'frozen', ?, ?, '', ${driver.dialect.nowMs})`,
    [id, chainId, depositId, accountId, amount, String(value), receiver, reason, actor],
  )
  await recordAction(tx, driver, act, {
    subject: { kind: 'deposit', id: String(depositId) },
    accountId,
    before: null,
    after: { refund: id, tokens: tokenText(value), receiver },
  })
  return { outcome: 'frozen', refund: (await refundOf(tx, id)) as DepositRefund }
}

export async function freezeDeposit(
  driver: Driver,
  refund: NewDepositRefund,
  forced: boolean,
  act: Act,
): Promise<DepositFrozen> {
  invariant(refund.amount > 0, `a refund of ${refund.amount}`)
  return driver.transaction('freezeDeposit', tx => freezeTokens(tx, driver, refund, forced, act))
}

async function end(
  tx: Transaction,
  driver: Driver,
  id: string,
  how: DepositRefundEnd,
  act: Act,
): Promise<DepositRefundEnded> {
  const known = await refundOf(tx, id)
  if (known === null) return { outcome: 'missing' }
  const { accountId, amount, reason } = known
  await tx.run(LOCK_PURSE, [accountPurse(accountId)])
  const refund = (await refundOf(tx, id)) as DepositRefund
  if (refund.state !== 'frozen') return { outcome: 'ended', refund }
  const book = async (kind: EntryKind, change: number, note: string) => {
    const entry = { kind, amount: micro(change), reference: `${kind}:usdt:${id}`, actor: act.actor.name, note }
    const booked = await bookEntry(tx, driver, accountId, entry, act, change < 0)
    invariant(booked.outcome === 'created', `${entry.reference} is ${booked.outcome}`)
  }
  const sent = 'tx' in how
  await book('release', amount, sent ? reason : how.reason)
  if (sent) await book('refund', -amount, `${reason} (${how.tx})`)
  await tx.run(
    `UPDATE deposit_refunds SET state = ?, tx = ?, ending = ?, ended_at_ms = ${driver.dialect.nowMs} WHERE id = ?`,
    [sent ? 'done' : 'released', sent ? how.tx : null, sent ? '' : how.reason, id],
  )
  return { outcome: 'done', refund: (await refundOf(tx, id)) as DepositRefund }
}

export async function endDepositRefund(
  driver: Driver,
  id: string,
  how: DepositRefundEnd,
  act: Act,
): Promise<DepositRefundEnded> {
  try {
    return await driver.transaction('endDepositRefund', tx => end(tx, driver, id, how, act))
  } catch (error) {
    if (error instanceof DuplicateKey) return { outcome: 'used' }
    throw error
  }
}
