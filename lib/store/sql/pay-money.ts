/**
 * Where an order's money enters and leaves a balance. Each transaction locks the order's row first and the account's purse
 * after it, books entries, and writes the sums of the order, for which always
 * 0 ≤ credited − refunded − frozen − reversed.
 */
import { invariant } from '../../base/assert.ts'
import { type Micro, micro, ZERO } from '../../base/money.ts'
import { moved } from '../../terms/order-moves.ts'
import type { Order, OrderMethod, Refund } from '../../terms/pay.ts'
import type { Act } from '../../base/people.ts'
import { refundShare } from '../../terms/refund-share.ts'
import { type Driver, DuplicateKey, type Row, type Transaction } from '../base/driver.ts'
import { type Booked, type EntryKind, bookEntry } from '../books/entries.ts'
import type { Credited, NextFreeze, FreezeEnd, Frozen, NewRefund } from '../pay-store.ts'
import { accountPurse } from '../books/purses.ts'
import { couldGoBack } from './paid-money.ts'
import { lockOrder } from './pay-orders.ts'
import { toRefund } from './pay-rows.ts'
import { integer } from '../base/text.ts'

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

/** The entry by which proven money gets into a balance, of an order or of a deposit. */
export const bookPayment = (
  tx: Transaction,
  driver: Driver,
  accountId: number,
  amount: Micro,
  reference: string,
  note: string,
  act: Act,
): Promise<Booked> =>
  bookEntry(tx, driver, accountId, { kind: 'payment', amount, reference, actor: act.actor.name, note }, act, false)

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
  const booked = await bookPayment(tx, driver, order.accountId, amount, `topup:${id}`, note, act)
  if (booked.outcome !== 'created') return { outcome: 'conflict' }
  const now: Order = { ...order, state: moved(order.state, 'credited'), credited: amount }
  await saveSums(tx, now)
  await tx.run('UPDATE pay_orders SET credited_at_ms = ? WHERE id = ?', [booked.entry.bookedAtMs, id])
  if (back !== undefined) await freezeNext(tx, driver, back)
  return { outcome: 'credited', order: (await lockOrder(tx, id)) as Order }
}

export async function creditOrder(
  driver: Driver,
  id: string,
  amount: Micro,
  note: string,
  act: Act,
  back?: NextFreeze,
): Promise<Credited> {
  invariant(amount > 0, `a payment of ${amount}`)
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
  refund: Omit<Refund, 'accountId' | 'state' | 'actor' | 'atMs' | 'endedAtMs' | 'checkAtMs' | 'checks'>,
  checkAtMs: number | null,
  actor: string,
): Promise<Refund> {
  const { id, method, orderId, kind, amount, asked, providerId, reason } = refund
  await tx.run(
    'INSERT INTO pay_refunds (method, id, order_id, account_id, kind, amount, asked, state, provider_id, reason, actor, ' +
      `at_ms, check_at_ms, checks) VALUES (?, ?, ?, ?, ?, ?, ?, 'frozen', ?, ?, ?, ${driver.dialect.nowMs}, ?, 0)`,
    [method, id, orderId, order.accountId, kind, amount, asked, providerId, reason, actor, checkAtMs],
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

async function freezeMoney(
  tx: Transaction,
  driver: Driver,
  refund: NewRefund,
  forced: boolean,
  checkAtMs: number | null,
  act: Act,
): Promise<Frozen> {
  const { method, id, orderId, amount, reason } = refund
  const actor = act.actor.name
  const order = await lockOrder(tx, orderId)
  if (order === null || order.method !== method) return { outcome: 'bound' }
  const there = await refundOf(tx, method, id)
  if (there !== null) return there.amount === amount ? { outcome: 'same', refund: there } : { outcome: 'conflict' }
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
  return { outcome: 'frozen', refund: await insertRefund(tx, driver, order, { ...refund, asked }, checkAtMs, actor) }
}

/** Fails, and with it all of the transaction, when it cannot be frozen. */
async function freezeNext(tx: Transaction, driver: Driver, { refund, checkAtMs, act }: NextFreeze): Promise<void> {
  const { outcome } = await freezeMoney(tx, driver, refund, true, checkAtMs, act)
  invariant(outcome === 'frozen' || outcome === 'same', `${refund.id} of order ${refund.orderId} is ${outcome}`)
}

export async function freeze(
  driver: Driver,
  refund: NewRefund,
  forced: boolean,
  checkAtMs: number | null,
  act: Act,
): Promise<Frozen> {
  invariant(refund.amount > 0, `a refund of ${refund.amount}`)
  return driver.transaction('freeze', tx => freezeMoney(tx, driver, refund, forced, checkAtMs, act))
}

/**
 * The entries of a proven end: `release` gives the frozen money back, and if it did go to the payer, it is taken again. A
 * refund that was done may still come back from the payer's bank: then it is released after all. That it was never sent is an
 * old answer then, which somebody held who was held up.
 */
export function endFreeze(
  driver: Driver,
  method: OrderMethod,
  id: string,
  end: FreezeEnd,
  act: Act,
  next?: NextFreeze,
): Promise<Refund | null> {
  const state = end === 'done' ? 'done' : 'released'
  return driver.transaction('endFreeze', async tx => {
    const known = await refundOf(tx, method, id)
    if (known === null) return null
    const order = (await lockOrder(tx, known.orderId)) as Order
    const refund = (await refundOf(tx, method, id)) as Refund // another gateway may have ended it before the lock
    if (refund.state === state || refund.state === 'released') return refund
    if (refund.state === 'done' && end !== 'returned') return refund
    const { amount, actor, reason, kind } = refund
    const book = (entryKind: EntryKind, entryAmount: number, reference: string) =>
      bookEntry(
        tx,
        driver,
        order.accountId,
        { kind: entryKind, amount: micro(entryAmount), reference, actor, note: reason },
        act,
        entryAmount < 0,
      )
    const failedLater = refund.state === 'done'
    await book('release', amount, `release:${method}:${id}${failedLater ? ':failed' : ''}`)
    const sums = { ...order }
    if (failedLater) {
      sums[kind === 'dispute' ? 'reversed' : 'refunded'] = micro(
        order[kind === 'dispute' ? 'reversed' : 'refunded'] - amount,
      )
      sums.state = moved(order.state, 'credited')
    } else sums.frozen = micro(order.frozen - amount)
    if (state === 'done') {
      const lost = kind === 'dispute'
      await book(lost ? 'reversal' : 'refund', -amount, `${lost ? 'dispute' : 'refund'}:${method}:${id}`)
      if (lost) sums.reversed = micro(order.reversed + amount)
      else sums.refunded = micro(order.refunded + amount)
      const left = sums.credited - sums.refunded - sums.reversed - sums.frozen
      if (left === 0 && sums.frozen === 0) sums.state = moved(order.state, lost ? 'reversed' : 'refunded')
    }
    await saveSums(tx, sums)
    await tx.run(
      `UPDATE pay_refunds SET state = ?, ended_at_ms = ${driver.dialect.nowMs}, check_at_ms = NULL WHERE method = ? AND id = ?`,
      [state, method, id],
    )
    if (next !== undefined) await freezeNext(tx, driver, next)
    return refundOf(tx, method, id)
  })
}
