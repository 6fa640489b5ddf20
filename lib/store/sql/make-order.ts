/** Makes an order, within the bounds of how many an account, and all accounts together, may make. */
import { formatMicro } from '../../base/money.ts'
import type { OrderState } from '../../terms/pay.ts'
import type { Act } from '../../base/people.ts'
import type { Driver, Param, Row, Transaction } from '../base/driver.ts'
import type { NewOrder, OrderBounds, OrderMade } from '../pay-store.ts'
import { accountPurse } from '../books/purses.ts'
import { recordAction } from '../base/actions.ts'
import { lockMark } from './pay-marks.ts'
import { quoted } from './pay-orders.ts'
import { toOrder } from './pay-rows.ts'
import { integer, marks } from '../base/text.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Orders that can still be paid as far as is known. */
const OPEN: readonly OrderState[] = ['created', 'pending']

async function boundAgainst(
  tx: Transaction,
  order: NewOrder,
  bounds: OrderBounds,
  nowMs: number,
): Promise<keyof OrderBounds | null> {
  const { accountId, method } = order
  const one = async (sql: string, params: readonly Param[]) => (await tx.query(sql, params))[0] as Row
  const count = async (where: string, params: readonly Param[]) =>
    integer(await one(`SELECT COUNT(*) AS n FROM pay_orders WHERE ${where}`, params), 'n')
  if ((await count(`account_id = ? AND state IN (${quoted(OPEN)})`, [accountId])) >= bounds.open) return 'open'
  const since = nowMs - HOUR_MS
  const { failed, anHour, anHourOfAll, aDay } = bounds
  if ((await count("account_id = ? AND state = 'failed' AND created_at_ms > ?", [accountId, since])) >= failed)
    return 'failed'
  if (anHour !== null) {
    const made = await count('account_id = ? AND created_at_ms > ? AND method = ?', [accountId, since, method])
    if (made >= anHour) return 'anHour'
  }
  if (anHourOfAll !== null) {
    const made = await count('created_at_ms > ? AND method = ?', [since, method])
    if (made >= anHourOfAll) return 'anHourOfAll'
  }
  const sum = await one(
    'SELECT COALESCE(SUM(amount), 0) AS total FROM pay_orders WHERE account_id = ? AND created_at_ms > ? ' +
      "AND state NOT IN ('expired', 'failed')",
    [accountId, nowMs - DAY_MS],
  )
  return integer(sum, 'total') + order.amount > aDay ? 'aDay' : null
}

export async function makeOrder(driver: Driver, order: NewOrder, bounds: OrderBounds, act: Act): Promise<OrderMade> {
  return driver.transaction('makeOrder', async tx => {
    // The lock of the purse lets the orders of one account be counted and made one after the other, that of the mark those of all.
    await tx.run('UPDATE purses SET promised = promised WHERE id = ?', [accountPurse(order.accountId)])
    if (bounds.anHourOfAll !== null) await lockMark(tx, driver, order.method, 'orders')
    const [clock] = await tx.query(`SELECT ${driver.dialect.nowMs} AS now`, [])
    const nowMs = integer(clock as Row, 'now')
    const bound = await boundAgainst(tx, order, bounds, nowMs)
    if (bound !== null) return { bound }
    const row: Record<string, Param> = {
      id: order.id,
      account_id: order.accountId,
      user_id: order.userId,
      method: order.method,
      amount: order.amount,
      asked: order.asked,
      currency: order.currency,
      rate: order.rate,
      merchant: order.merchant,
      state: 'created',
      sandbox: order.sandbox ? 1 : 0,
      late: 0,
      credited: 0,
      refunded: 0,
      frozen: 0,
      reversed: 0,
      created_at_ms: nowMs,
      expires_at_ms: order.expiresAtMs,
      check_at_ms: order.checkAtMs,
      checks: 0,
    }
    const columns = Object.keys(row)
    await tx.run(`INSERT INTO pay_orders (${columns.join(', ')}) VALUES (${marks(columns.length)})`, Object.values(row))
    const { id, accountId, method, amount, asked, currency } = order
    await recordAction(tx, driver, act, {
      subject: { kind: 'order', id },
      accountId,
      before: null,
      after: { method, amount: formatMicro(amount), asked, currency },
    })
    const [made] = await tx.query('SELECT * FROM pay_orders WHERE id = ?', [id])
    return { order: toOrder(made as Row) }
  })
}
