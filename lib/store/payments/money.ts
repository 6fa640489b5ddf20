/**
 * Where an order's money enters and leaves a balance. Each transaction locks the order's row first and the account's purse
 * after it, books entries, and writes the sums of the order, for which always
 * 0 ≤ credited − refunded − frozen − reversed.
 */
import { invariant } from '../../base/assert.ts'
import { type Micro, micro, ZERO } from '../../base/money.ts'
import type { Act } from '../../base/people.ts'
import { askedText } from '../../terms/chain.ts'
import { moved } from '../../terms/order-moves.ts'
import type { Order, OrderMethod, Refund } from '../../terms/pay.ts'
import { recordAction } from '../base/actions.ts'
import { type Driver, DuplicateKey, type Param, type Row, type Transaction } from '../base/driver.ts'
import { StoreConflict } from '../base/errors.ts'
import { integer, integerOrNull, money, text, textOrNull } from '../base/text.ts'
import { bookEntry, type EntryKind } from '../books/entries.ts'
import { accountPurse } from '../books/purses.ts'
import { lockOrder } from './orders.ts'
import type { Credited, FreezeEnd, Frozen, NewRefund, NextFreeze, RefundEnding } from './types.ts'

const toRefund = (row: Row): Refund => ({
  id: text(row, 'id'),
  orderId: text(row, 'order_id'),
  accountId: integer(row, 'account_id'),
  method: text(row, 'method') as OrderMethod,
  kind: text(row, 'kind') as Refund['kind'],
  amount: money(row, 'amount'),
  asked: integer(row, 'asked'),
  state: text(row, 'state') as Refund['state'],
  providerId: textOrNull(row, 'provider_id'),
  receiver: textOrNull(row, 'receiver'),
  tx: textOrNull(row, 'tx'),
  ending: text(row, 'ending'),
  reason: text(row, 'reason'),
  actor: text(row, 'actor'),
  atMs: integer(row, 'at_ms'),
  endedAtMs: integerOrNull(row, 'ended_at_ms'),
  checkAtMs: integerOrNull(row, 'check_at_ms'),
  checks: integer(row, 'checks'),
})

const ENTERED = ['credited', 'refunded', 'reversed'] as const

async function saveSums(tx: Transaction, order: Order): Promise<void> {
  const { id, state, credited, refunded, frozen, reversed } = order
  invariant(
    frozen >= 0 && refunded >= 0 && reversed >= 0 && credited - refunded - frozen - reversed >= 0,
    `order ${id} would give back more than it got`,
  )
  await tx.run('UPDATE pay_orders SET state = ?, credited = ?, refunded = ?, frozen = ?, reversed = ? WHERE id = ?', [
    state,
    credited,
    refunded,
    frozen,
    reversed,
    id,
  ])
}

async function credit(
  tx: Transaction,
  driver: Driver,
  id: string,
  amount: Micro,
  note: string,
  act: Act,
  back: NextFreeze | undefined,
): Promise<Credited> {
  const order = await lockOrder(tx, id)
  if (order === null) return { outcome: 'unpaid' }
  if ((ENTERED as readonly string[]).includes(order.state)) return { outcome: 'known', order }
  if (order.state !== 'paid') return { outcome: 'unpaid' }
  const { accountId, reference } = order
  const entry = { kind: 'payment', amount, reference, actor: act.actor.name, note } as const
  // Less than a millionth of a CNY is nothing that an entry could have.
  const booked = amount === 0 ? null : await bookEntry(tx, driver, accountId, entry, act, false)
  if (booked !== null && booked.outcome !== 'created') return { outcome: 'conflict' }
  const now: Order = { ...order, state: moved(order.state, 'credited'), credited: amount }
  await saveSums(tx, now)
  await tx.run(`UPDATE pay_orders SET credited_at_ms = COALESCE(?, ${driver.dialect.nowMs}) WHERE id = ?`, [
    booked?.entry.bookedAtMs ?? null,
    id,
  ])
  if (back !== undefined) await freezeNext(tx, driver, back)
  return { outcome: 'credited', order: (await lockOrder(tx, id)) as Order }
}

/**
 * The only way in which an order's money gets into a balance: books the entry of its reference, of the kind `payment`, and moves
 * the order from `paid` to `credited`, in one transaction. What is worth nothing has no entry. `amount`: the order's own, or what an operator resolved. `back`:
 * what is frozen of it in the same transaction, forced.
 */
export async function creditOrder(
  driver: Driver,
  id: string,
  amount: Micro,
  note: string,
  act: Act,
  back?: NextFreeze,
): Promise<Credited> {
  invariant(amount >= 0, `a payment of ${amount}`)
  try {
    return await driver.transaction('creditOrder', tx => credit(tx, driver, id, amount, note, act, back))
  } catch (error) {
    if (error instanceof DuplicateKey) return { outcome: 'conflict' } // another account has this payment
    throw error
  }
}

/** What of an order could go back now. The caller has locked the account's purse, or reads for show. */
const refundableOf = (tx: Pick<Transaction, 'query'>, order: Order): Promise<Micro> =>
  couldGoBack(tx, order.accountId, micro(order.credited - order.refunded - order.frozen - order.reversed))

/** What of an order could go back to the payer now. */
export async function refundable(driver: Driver, orderId: string): Promise<Micro> {
  return driver.transaction('refundable', async tx => {
    const order = await lockOrder(tx, orderId)
    return order === null ? ZERO : refundableOf(tx, order)
  })
}

export async function refundOf(
  tx: Pick<Transaction, 'query'>,
  method: OrderMethod,
  id: string,
): Promise<Refund | null> {
  const [row] = await tx.query('SELECT * FROM pay_refunds WHERE method = ? AND id = ?', [method, id])
  return row === undefined ? null : toRefund(row)
}

async function insertRefund(
  tx: Transaction,
  driver: Driver,
  order: Order,
  refund: NewRefund & Pick<Refund, 'asked'>,
  checkAtMs: number | null,
  actor: string,
): Promise<Refund> {
  const { id, method, orderId, kind, amount, asked, providerId, reason, receiver = null } = refund
  await tx.run(
    'INSERT INTO pay_refunds (method, id, order_id, account_id, kind, amount, asked, state, provider_id, receiver, reason, ' +
      `actor, ending, at_ms, check_at_ms, checks) VALUES (?, ?, ?, ?, ?, ?, ?, 'frozen', ?, ?, ?, ?, '', ${driver.dialect.nowMs}, ?, 0)`,
    [method, id, orderId, order.accountId, kind, amount, asked, providerId, receiver, reason, actor, checkAtMs],
  )
  return (await refundOf(tx, method, id)) as Refund
}

/** The share of an amount in what was paid for the order. The caller has locked the order. */
async function shareOf(tx: Transaction, order: Order, amount: Micro): Promise<number> {
  const first = 'SELECT amount FROM pay_proofs WHERE order_id = ? ORDER BY at_ms, transaction_id LIMIT 1'
  const back = "SELECT COALESCE(SUM(asked), 0) AS sent FROM pay_refunds WHERE order_id = ? AND state <> 'released'"
  const [paid] = await tx.query(first, [order.id])
  const [sums] = await tx.query(back, [order.id])
  const received = paid === undefined ? order.asked : integer(paid, 'amount')
  const before = micro(order.refunded + order.frozen + order.reversed)
  return refundShare({ received, credited: order.credited }, amount, before, integer(sums as Row, 'sent'))
}

/** Whether tokens that are sent to a receiver would be credited again, because the address is an account's. */
async function isWatched(tx: Transaction, orderId: string, receiver: string): Promise<boolean> {
  const sql =
    'SELECT 1 FROM chain_addresses a JOIN chain_transfers t ON t.chain_id = a.chain_id ' +
    'WHERE t.order_id = ? AND a.address = ?'
  return (await tx.query(sql, [orderId, receiver])).length > 0
}

async function freezeMoney(
  tx: Transaction,
  driver: Driver,
  { refund, checkAtMs, act }: NextFreeze,
  forced: boolean,
): Promise<Frozen> {
  const { method, id, orderId, amount, reason, receiver = null } = refund
  const actor = act.actor.name
  const order = await lockOrder(tx, orderId)
  if (order === null || order.method !== method) return { outcome: 'bound' }
  const there = await refundOf(tx, method, id)
  if (there !== null)
    return there.amount === amount && there.receiver === receiver
      ? { outcome: 'same', refund: there }
      : { outcome: 'conflict' }
  if (receiver !== null && (await isWatched(tx, orderId, receiver))) return { outcome: 'own' }
  if (order.credited - order.refunded - order.frozen - order.reversed < amount) return { outcome: 'bound' }
  await tx.run('UPDATE purses SET promised = promised WHERE id = ?', [accountPurse(order.accountId)])
  const asked = refund.asked ?? (await shareOf(tx, order, amount))
  if (asked <= 0 && refund.asked === undefined) return { outcome: 'dust' }
  const most = await refundableOf(tx, order)
  if (!forced && most < amount) return { outcome: 'short', refundable: most }
  const entry = {
    kind: 'freeze',
    amount: micro(-amount),
    reference: `freeze:${method}:${id}`,
    actor,
    note: reason,
  } as const
  const booked = await bookEntry(tx, driver, order.accountId, entry, act, forced)
  if (booked.outcome !== 'created') return { outcome: 'short', refundable: most }
  await saveSums(tx, { ...order, frozen: micro(order.frozen + amount) })
  if (receiver !== null)
    await recordAction(tx, driver, act, {
      subject: { kind: 'order', id: orderId },
      accountId: order.accountId,
      before: null,
      after: { refund: id, tokens: askedText(asked), receiver },
    })
  return { outcome: 'frozen', refund: await insertRefund(tx, driver, order, { ...refund, asked }, checkAtMs, actor) }
}

/** Fails, and with it all of the transaction, when it cannot be frozen. */
async function freezeNext(tx: Transaction, driver: Driver, next: NextFreeze): Promise<void> {
  const { outcome } = await freezeMoney(tx, driver, next, true)
  const { refund } = next
  invariant(outcome === 'frozen' || outcome === 'same', `${refund.id} of order ${refund.orderId} is ${outcome}`)
}

/**
 * Freezes money of an order: inserts the refund's row and an entry of −amount in one transaction. Without `forced` only
 * money that can go back and is free; with it in any case, and the leases are recalled in the same transaction.
 */
export async function freeze(
  driver: Driver,
  refund: NewRefund,
  forced: boolean,
  checkAtMs: number | null,
  act: Act,
): Promise<Frozen> {
  invariant(refund.amount > 0, `a refund of ${refund.amount}`)
  return driver.transaction('freeze', tx => freezeMoney(tx, driver, { refund, checkAtMs, act }, forced))
}

/** `now`: whether this call has ended it. */
interface Ended {
  refund: Refund | null
  now: boolean
}

/**
 * The entries of a proven end: `release` gives the frozen money back, and if it did go to the payer, it is taken again. A
 * refund that was done may still come back from the payer's bank: then it is released after all. That it was never sent is an
 * old answer then, which somebody held who was held up.
 */
async function endMoney(
  tx: Transaction,
  driver: Driver,
  method: OrderMethod,
  id: string,
  end: FreezeEnd,
  act: Act,
  by: RefundEnding | null,
): Promise<Ended> {
  const state = end === 'done' ? 'done' : 'released'
  const known = await refundOf(tx, method, id)
  if (known === null) return { refund: null, now: false }
  const order = (await lockOrder(tx, known.orderId)) as Order
  const refund = (await refundOf(tx, method, id)) as Refund // another gateway may have ended it before the lock
  if (refund.state === state || refund.state === 'released') return { refund, now: false }
  if (refund.state === 'done' && end !== 'returned') return { refund, now: false }
  const { amount, kind, reason } = refund
  const actor = by === null ? refund.actor : act.actor.name
  const sent = by !== null && 'tx' in by ? by.tx : null
  const ending = by !== null && 'reason' in by ? by.reason : ''
  const book = async (entryKind: EntryKind, entryAmount: number, reference: string, note: string) => {
    const entry = { kind: entryKind, amount: micro(entryAmount), reference, actor, note }
    const booked = await bookEntry(tx, driver, order.accountId, entry, act, entryAmount < 0)
    invariant(booked.outcome === 'created', `${reference} is ${booked.outcome}`)
  }
  const failedLater = refund.state === 'done'
  await book('release', amount, `release:${method}:${id}${failedLater ? ':failed' : ''}`, ending || reason)
  const sums = { ...order }
  if (failedLater) {
    sums[kind === 'dispute' ? 'reversed' : 'refunded'] = micro(
      order[kind === 'dispute' ? 'reversed' : 'refunded'] - amount,
    )
    sums.state = moved(order.state, 'credited')
  } else sums.frozen = micro(order.frozen - amount)
  if (state === 'done') {
    const lost = kind === 'dispute'
    const note = sent === null ? reason : `${reason} (${sent})`
    await book(lost ? 'reversal' : 'refund', -amount, `${lost ? 'dispute' : 'refund'}:${method}:${id}`, note)
    if (lost) sums.reversed = micro(order.reversed + amount)
    else sums.refunded = micro(order.refunded + amount)
    const left = sums.credited - sums.refunded - sums.reversed - sums.frozen
    if (left === 0 && sums.frozen === 0) sums.state = moved(order.state, lost ? 'reversed' : 'refunded')
  }
  await saveSums(tx, sums)
  await tx.run(
    `UPDATE pay_refunds SET state = ?, tx = COALESCE(?, tx), ending = ?, ended_at_ms = ${driver.dialect.nowMs}, check_at_ms = NULL ` +
      'WHERE method = ? AND id = ?',
    [state, sent, ending, method, id],
  )
  return { refund: await refundOf(tx, method, id), now: true }
}

/** `next`: what is frozen in its place, forced, if this call ends it. Returns the refund as it is now. */
export const endFreeze = (
  driver: Driver,
  method: OrderMethod,
  id: string,
  end: FreezeEnd,
  act: Act,
  next?: NextFreeze,
): Promise<Refund | null> =>
  driver.transaction('endFreeze', async tx => {
    const { refund, now } = await endMoney(tx, driver, method, id, end, act, null)
    if (next !== undefined && now) await freezeNext(tx, driver, next)
    return refund
  })

/** The end of a refund whose tokens an operator sends. Throws StoreConflict when the transaction stands at another one. */
export async function endByHand(
  driver: Driver,
  method: OrderMethod,
  id: string,
  ending: RefundEnding,
  act: Act,
): Promise<Refund | null> {
  const end = 'tx' in ending ? 'done' : 'released'
  try {
    return (await driver.transaction('endByHand', tx => endMoney(tx, driver, method, id, end, act, ending))).refund
  } catch (error) {
    if (error instanceof DuplicateKey) throw new StoreConflict('the transaction stands at another refund')
    throw error
  }
}

async function refundWhere(driver: Driver, where: string, params: readonly Param[]): Promise<Refund[]> {
  const sql = `SELECT * FROM pay_refunds WHERE ${where} ORDER BY at_ms, id`
  return (await driver.query('refunds', sql, params)).map(toRefund)
}

export const refund = async (driver: Driver, method: OrderMethod, id: string): Promise<Refund | null> =>
  (await refundWhere(driver, 'method = ? AND id = ?', [method, id]))[0] ?? null
export const refundByProviderId = async (
  driver: Driver,
  method: OrderMethod,
  providerId: string,
): Promise<Refund | null> =>
  (await refundWhere(driver, 'method = ? AND provider_id = ?', [method, providerId]))[0] ?? null
export const refunds = (driver: Driver, orderId: string): Promise<Refund[]> =>
  refundWhere(driver, 'order_id = ?', [orderId])

/** Refunds whose tokens nobody has said to be sent; oldest first. */
export async function refundsToSend(driver: Driver, limit: number): Promise<Refund[]> {
  const sql = "SELECT * FROM pay_refunds WHERE state = 'frozen' AND receiver IS NOT NULL ORDER BY at_ms, id LIMIT ?"
  return (await driver.query('refundsToSend', sql, [limit])).map(toRefund)
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

/** Works as `takeDueOrders` does. */
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

/**
 * Kinds of entries that move paid money; openings, top-ups by hand and adjustments are never paid out. A settlement is a
 * charge that was decided later.
 */
const PAID: readonly EntryKind[] = ['payment', 'refund', 'reversal', 'freeze', 'release', 'settlement']

/**
 * `left`: what is left of the payment that is sent back. The caller has locked the account's purse, or reads for show.
 * Charges use paid money first.
 */
async function couldGoBack(tx: Pick<Transaction, 'query'>, accountId: number, left: Micro): Promise<Micro> {
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

/**
 * `received`: what the payer paid, in its smallest unit; `credited`: what the balance got for it. `before`: what the parts
 * before this one took of the balance, and `sent`: what the provider was asked for them, without those that did not go back.
 */
export function refundShare(
  { received, credited }: { received: number; credited: Micro },
  amount: Micro,
  before: Micro,
  sent: number,
): number {
  const share = (BigInt(before + amount) * BigInt(received)) / BigInt(credited)
  return Math.max(0, Number(share) - sent)
}
