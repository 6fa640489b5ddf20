/**
 * Orders that are made of transfers on a chain. A transfer becomes an order when its block is final, and is paid when a second
 * node says the same. It is credited with others of the account as soon as together they are worth the minimum.
 *
 * Its worth stands in the order as a number that an engine can add up: somebody may send thousands of the smallest amounts to an
 * account, and none of them may be read anew whenever another one comes.
 */
import { HOUR_MS } from '../../base/clock.ts'
import { type Micro, micro } from '../../base/money.ts'
import {
  askedOf,
  type TransferOrder,
  transferReference,
  floorOf,
  idOfText,
  type NewTransfer,
  type Quote,
  takesQuote,
  USDT,
  WEI,
  worthOf,
} from '../../terms/chain.ts'
import type { Act } from '../../base/people.ts'
import { UNTIL_ENOUGH } from '../../terms/pay.ts'
import type { TransferFilter, DueTransfers, NewQuote, Recorded } from './types.ts'
import type { Driver, Param, Row, Transaction } from '../base/driver.ts'
import { accountPurse } from '../books/purses.ts'
import { recordAction } from '../base/actions.ts'
import { insertOrder, toOrder } from './orders.ts'
import { payRateAt } from './notes.ts'
import { big, integer, integerOrNull, binds, money, padded, text, whereGiven } from '../base/text.ts'

/** A billion CNY. A transfer that is worth more is for people to look at; many of them fit into a balance's integer. */
const MOST = 10n ** 15n
/** How many get their rates at a time. Those that came first do so first, so those behind them have their turn. */
const MOST_RATED = 1_000

const FROM = 'FROM pay_orders o JOIN chain_transfers t ON t.order_id = o.id'
/** Whether nothing is missing to know what it is worth. */
const PRICED = '(o.rate IS NOT NULL OR t.quoted = o.tokens)'

export function toTransferOrder(row: Row): TransferOrder {
  const tokens = big(row, 'tokens')
  return {
    ...toOrder(row),
    tokens,
    value: tokens,
    seq: integer(row, 'seq'),
    chainId: integer(row, 'chain_id'),
    tx: text(row, 'tx'),
    logIndex: integer(row, 'log_index'),
    to: text(row, 'address'),
    from: text(row, 'sender'),
    block: { no: integer(row, 'block_no'), hash: text(row, 'block_hash') },
    blockAtMs: integer(row, 'block_at_ms'),
    node: integer(row, 'node'),
    quoted: big(row, 'quoted'),
    quotedRate: integerOrNull(row, 'quoted_rate'),
  }
}

/** What the order is worth: whole micro-CNY, rounded down; 0 while a rate is missing, and the largest integer for all that is more. */
function amountOf(transfer: Parameters<typeof worthOf>[0]): Micro {
  const worth = floorOf(worthOf(transfer) ?? 0n)
  return micro(worth > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(worth))
}

const toQuote = (row: Row): Quote => ({
  id: integer(row, 'id'),
  accountId: integer(row, 'account_id'),
  amount: money(row, 'amount'),
  wei: big(row, 'wei'),
  rate: integer(row, 'rate'),
  fromMs: integer(row, 'from_ms'),
  untilMs: integer(row, 'until_ms'),
  used: integer(row, 'used') === 1,
})

/** Quotes of an account that are kept. Older ones end long before the blocks of their time are read. */
const QUOTES_KEPT = 100

async function forgetQuotes(tx: Transaction, accountId: number): Promise<void> {
  const oldest = 'SELECT id FROM chain_quotes WHERE account_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?'
  const [row] = await tx.query(oldest, [accountId, QUOTES_KEPT])
  if (row !== undefined)
    await tx.run('DELETE FROM chain_quotes WHERE account_id = ? AND id <= ?', [accountId, integer(row, 'id')])
}

/** Ends the account's earlier quote, and makes one; null = the account has made so many (`anHour`) in the last hour of the chain. */
export function makeQuote(driver: Driver, quote: NewQuote, anHour: number, act: Act): Promise<Quote | null> {
  const { accountId, amount, wei, rate, fromMs, untilMs } = quote
  return driver.transaction('makeQuote', async tx => {
    // The lock of the purse lets the quotes of one account be counted and made one after the other.
    await tx.run('UPDATE purses SET promised = promised WHERE id = ?', [accountPurse(accountId)])
    const newest = 'SELECT from_ms FROM chain_quotes WHERE account_id = ? ORDER BY id DESC LIMIT ?'
    const made = await tx.query(newest, [accountId, anHour])
    if (made.filter(row => integer(row, 'from_ms') > fromMs - HOUR_MS).length >= anHour) return null
    await tx.run('UPDATE chain_quotes SET until_ms = ? WHERE account_id = ? AND used = 0 AND until_ms > ?', [
      fromMs,
      accountId,
      fromMs,
    ])
    const { insertId } = await tx.run(
      'INSERT INTO chain_quotes (account_id, amount, wei, rate, from_ms, until_ms, used) VALUES (?, ?, ?, ?, ?, ?, 0)',
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
  const sql = 'SELECT * FROM chain_quotes WHERE account_id = ? ORDER BY id DESC LIMIT 1'
  const [row] = await driver.query('quote', sql, [accountId])
  return row === undefined ? null : toQuote(row)
}

/** The quote that a transfer of this account uses up, by the time of its block. */
async function useQuote(tx: Transaction, { accountId, blockAtMs, value }: NewTransfer) {
  const [row] = await tx.query(
    'SELECT * FROM chain_quotes WHERE account_id = ? AND used = 0 AND from_ms <= ? AND until_ms > ? ' +
      'ORDER BY id DESC LIMIT 1',
    [accountId, blockAtMs, blockAtMs],
  )
  if (row === undefined) return null
  const quote = toQuote(row)
  if (!takesQuote(quote, value)) return null
  const { changes } = await tx.run(
    'UPDATE chain_quotes SET used = 1 WHERE id = ? AND used = 0 AND from_ms <= ? AND until_ms > ?',
    [quote.id, blockAtMs, blockAtMs],
  )
  return changes === 1 ? quote : null
}

async function insertTransfer(
  tx: Transaction,
  chainId: number,
  transfer: NewTransfer,
  state: 'pending' | 'failed',
  nowMs: number,
): Promise<void> {
  const { value, accountId, block, sandbox, to: merchant } = transfer
  const quote = await useQuote(tx, transfer)
  const quoted = quote === null ? 0n : quote.wei < value ? quote.wei : value
  const found = quoted === value ? null : await payRateAt(tx, USDT, nowMs)
  const [quotedRate, rate] = [quote?.rate ?? null, found?.rate ?? null]
  const reference = transferReference(chainId, transfer)
  const id = idOfText('T', reference)
  await insertOrder(
    tx,
    {
      id,
      reference,
      accountId,
      userId: null,
      method: 'usdt',
      amount: amountOf({ value, quoted, quotedRate, rate }),
      asked: askedOf(value),
      tokens: value,
      currency: USDT,
      rate,
      merchant,
      providerId: `${transfer.tx}:${transfer.logIndex}`,
      state,
      sandbox,
      expiresAtMs: nowMs,
      checkAtMs: null,
    },
    nowMs,
  )
  await tx.run(
    'INSERT INTO chain_transfers (order_id, chain_id, tx, log_index, address, sender, block_no, block_hash, block_at_ms, ' +
      'node, quoted, quoted_rate) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    [
      id,
      chainId,
      transfer.tx,
      transfer.logIndex,
      merchant,
      transfer.from,
      block.no,
      block.hash,
      transfer.blockAtMs,
      transfer.node,
      String(quoted),
      quotedRate,
    ],
  )
}

/** A transfer that no second node has confirmed stands where it was read last, if it is the same in everything else. */
async function moveTransfer(
  tx: Transaction,
  orderId: string,
  { block, blockAtMs, node, from, to, value }: NewTransfer,
) {
  const same = "UPDATE pay_orders SET state = state WHERE id = ? AND state = 'pending' AND tokens = ?"
  if ((await tx.run(same, [orderId, String(value)])).changes === 0) return
  await tx.run(
    'UPDATE chain_transfers SET block_no = ?, block_hash = ?, block_at_ms = ?, node = ? ' +
      'WHERE order_id = ? AND sender = ? AND address = ?',
    [block.no, block.hash, blockAtMs, node, orderId, from, to],
  )
}

/**
 * Inserts what is not there. A transaction stands in one final block. Read in another one, it is not believed once a second
 * node has confirmed any of it where it was, and a person has to look at it; before that, the second node decides which of the
 * two it is.
 */
export async function recordTransfers(
  tx: Transaction,
  driver: Driver,
  chainId: number,
  transfers: readonly NewTransfer[],
): Promise<Recorded> {
  const recorded: Recorded = { added: 0, clashing: [] }
  if (transfers.length === 0) return recorded
  const [clock] = await tx.query(`SELECT ${driver.dialect.nowMs} AS now`, [])
  const nowMs = integer(clock as Row, 'now')
  const ordered = transfers.toSorted((a, b) => a.block.no - b.block.no || a.logIndex - b.logIndex)
  for (const transfer of ordered) {
    const sql = `SELECT o.id, o.state, t.log_index, t.block_hash ${FROM} WHERE t.chain_id = ? AND t.tx = ?`
    const same = await tx.query(sql, [chainId, transfer.tx])
    const elsewhere = same.filter(row => text(row, 'block_hash') !== transfer.block.hash)
    if (elsewhere.length > 0) recorded.clashing.push(transfer)
    const isClash = elsewhere.some(row => text(row, 'state') !== 'pending')
    const there = same.find(row => integer(row, 'log_index') === transfer.logIndex)
    if (there !== undefined) {
      if (!isClash && elsewhere.includes(there)) await moveTransfer(tx, text(there, 'id'), transfer)
      continue
    }
    await insertTransfer(tx, chainId, transfer, isClash ? 'failed' : 'pending', nowMs)
    recorded.added++
  }
  return recorded
}

export async function transferOrder(driver: Driver, orderId: string): Promise<TransferOrder | null> {
  const [row] = await driver.query('transferOrder', `SELECT * ${FROM} WHERE o.id = ?`, [orderId])
  return row === undefined ? null : toTransferOrder(row)
}

/** Newest first; with `afterSeq` oldest first. */
export async function transferOrders(driver: Driver, filter: TransferFilter): Promise<TransferOrder[]> {
  const { accountId, state, afterSeq, limit } = filter
  const [where, values] = whereGiven(['o.account_id = ?', accountId], ['o.state = ?', state], ['t.seq > ?', afterSeq])
  const sql = `SELECT * ${FROM} ${where}ORDER BY t.seq ${afterSeq === undefined ? 'DESC' : 'ASC'} LIMIT ?`
  return (await driver.query('transferOrders', sql, [...values, limit])).map(toTransferOrder)
}

export async function transferOrdersIn(
  driver: Driver,
  chainId: number,
  fromNo: number,
  toNo: number,
): Promise<TransferOrder[]> {
  const sql = `SELECT * ${FROM} WHERE t.chain_id = ? AND t.block_no >= ? AND t.block_no <= ? ORDER BY t.seq`
  return (await driver.query('transferOrdersIn', sql, [chainId, fromNo, toNo])).map(toTransferOrder)
}

/**
 * Orders of transfers that no second node has confirmed. Accounts take turns, so that thousands of the smallest amounts of one hold
 * up nobody else; those that were asked about least come first. Which they are is found without their other columns: engines sort
 * long texts on the disk.
 */
export async function unconfirmed(driver: Driver, chainId: number, limit: number): Promise<TransferOrder[]> {
  const turns =
    'SELECT t.seq, o.checks, ROW_NUMBER() OVER (PARTITION BY o.account_id ORDER BY o.checks, t.seq) AS turn ' +
    `${FROM} WHERE o.method = 'usdt' AND o.state = 'pending' AND t.chain_id = ?`
  const sql = `SELECT seq FROM (${turns}) x ORDER BY turn, checks, seq LIMIT ?`
  const found = (await driver.query('unconfirmed', sql, [chainId, limit])).map(row => integer(row, 'seq'))
  if (found.length === 0) return []
  const some = padded(found)
  const rows = `SELECT * ${FROM} WHERE t.seq IN (${binds(some.length)})`
  return (await driver.query('unconfirmed', rows, some))
    .map(toTransferOrder)
    .toSorted((a, b) => found.indexOf(a.seq) - found.indexOf(b.seq))
}

/** Counts a question about an order that ended without a confirmation. */
export async function transferChecked(driver: Driver, orderId: string): Promise<void> {
  await driver.run('transferChecked', 'UPDATE pay_orders SET checks = checks + 1 WHERE id = ?', [orderId])
}

/** Accounts with paid orders that wait for others. */
export async function waitingAccounts(driver: Driver, chainId: number): Promise<number[]> {
  const sql = `SELECT DISTINCT o.account_id ${FROM} WHERE o.method = 'usdt' AND o.state = 'paid' AND t.chain_id = ?`
  return (await driver.query('waitingAccounts', sql, [chainId])).map(row => integer(row, 'account_id'))
}

/** Whether the transaction of an order counts already as it stood in another block. */
export async function countsElsewhere(driver: Driver, orderId: string): Promise<boolean> {
  const sql =
    'SELECT 1 FROM chain_transfers t JOIN chain_transfers u ON u.chain_id = t.chain_id AND u.tx = t.tx ' +
    'AND u.block_hash <> t.block_hash JOIN pay_orders o ON o.id = u.order_id ' +
    "WHERE t.order_id = ? AND o.state IN ('paid', 'credited', 'refunded') LIMIT 1"
  return (await driver.query('countsElsewhere', sql, [orderId])).length > 0
}

async function rateFor(tx: Transaction, atMs: number, nowMs: string): Promise<number | null> {
  const then = await payRateAt(tx, USDT, atMs)
  if (then !== null) return then.rate
  const sql =
    'SELECT rate FROM pay_rates WHERE currency = ? AND from_ms > ? ' +
    `AND from_ms <= ${nowMs} ORDER BY from_ms, id LIMIT 1`
  const [row] = await tx.query(sql, [USDT, atMs])
  return row === undefined ? null : integer(row, 'rate')
}

/**
 * Gives transfers that came when no rate was in force the first rate that began after them. A rate begins a moment before others
 * can read it; a transfer that is stored in between has it too. The rate of each is found here and not by the engine: engines do
 * not agree on statements that change a table by what stands in another one. Returns how many got a rate.
 */
export const fixRates = (driver: Driver): Promise<number> =>
  driver.transaction('fixRates', async tx => {
    const waiting =
      `SELECT * ${FROM} WHERE o.method = 'usdt' AND o.state IN ('pending', 'paid', 'failed') AND NOT ${PRICED} ` +
      'ORDER BY o.created_at_ms, t.seq LIMIT ?'
    let fixed = 0
    for (const row of await tx.query(waiting, [MOST_RATED])) {
      const found = toTransferOrder(row)
      const rate = await rateFor(tx, found.createdAtMs, driver.dialect.nowMs)
      // none was in force then or has begun since, so the same is true of the later ones
      if (rate === null) break
      const sql = 'UPDATE pay_orders SET rate = ?, amount = ? WHERE id = ? AND rate IS NULL'
      fixed += (await tx.run(sql, [rate, amountOf({ ...found, rate }), found.id])).changes
    }
    return fixed
  })

const PAID = `${FROM} WHERE o.account_id = ? AND t.chain_id = ? AND o.state = 'paid' AND COALESCE(o.held_until_ms, 0)`
const WAITING = `${PAID} = ${UNTIL_ENOUGH} AND ${PRICED}`

/**
 * Whether what waits is together worth so much, exactly and unrounded. Each order is rounded down by less than one, so only a sum
 * that is so close to the minimum has to be made of the transfers themselves.
 */
async function isEnough(
  tx: Transaction,
  of: readonly Param[],
  n: number,
  total: bigint,
  least: bigint,
): Promise<boolean> {
  if (total >= least) return true
  if (total + BigInt(n) <= least) return false
  const waiting = (await tx.query(`SELECT * ${WAITING} AND o.amount <= ${MOST}`, of)).map(toTransferOrder)
  return waiting.reduce((sum, found) => sum + (worthOf(found) as bigint), 0n) >= least * WEI
}

/**
 * Lets the paid orders of an account be credited when their transfers are together worth at least `minimum`. Returns those that may
 * be credited now, and those that are worth too much to be credited without a person.
 */
export const markDue = (driver: Driver, chainId: number, accountId: number, minimum: Micro): Promise<DueTransfers> =>
  driver.transaction('markDue', async tx => {
    const of = [accountId, chainId]
    const tooLarge = (await tx.query(`SELECT * ${WAITING} AND o.amount > ${MOST} ORDER BY t.seq`, of)).map(
      toTransferOrder,
    )
    const sums = `SELECT COUNT(*) AS n, CAST(SUM(o.amount) AS CHAR) AS total ${WAITING} AND o.amount <= ${MOST}`
    const [row] = await tx.query(sums, of)
    const n = integer(row as Row, 'n')
    if (n > 0 && (await isEnough(tx, of, n, big(row as Row, 'total'), BigInt(minimum)))) {
      const ids = await tx.query(`SELECT o.id ${WAITING} AND o.amount <= ${MOST}`, of)
      const due = `UPDATE pay_orders SET held_until_ms = NULL WHERE id = ? AND held_until_ms = ${UNTIL_ENOUGH}`
      for (const found of ids) await tx.run(due, [text(found, 'id')])
    }
    const due = await tx.query(`SELECT o.id ${PAID} < ${UNTIL_ENOUGH} ORDER BY t.seq`, of)
    return { due: due.map(found => text(found, 'id')), tooLarge }
  })
