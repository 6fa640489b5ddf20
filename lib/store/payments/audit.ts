/**
 * The part of the audit that is about money that came in. For every account it checks that
 * - every entry of the kind `payment` belongs to exactly one credited order of the account, with the same amount, and every such
 * order to exactly one entry, whose reference is the order's number or the place of its transfer on the chain;
 * - every credited order has a proof of what was credited, and every credited transfer is worth what was credited;
 * - no order gives back more than it got, and what it gave back is what its refunds and disputes say, each of which has entries of
 * its own; tokens that are sent back are worth what was taken for them, and name their transaction;
 * - every transfer belongs to the account whose address it came to;
 * - the entries that freeze, release and take back are together what the orders of the account have frozen and given back.
 */
import { askedOf, floorOf, worthOf } from '../../terms/chain.ts'
import type { Row, Transaction } from '../base/driver.ts'
import { toTransferOrder } from './transfers.ts'
import { big, integer, text } from '../base/text.ts'

/** Most references that are named. */
export const MOST_NAMED = 20
const PAGE = 1_000

const PAYMENTS =
  'SELECT account_id, COUNT(*) AS n, CAST(SUM(amount) AS CHAR) AS total ' +
  "FROM entries WHERE kind = 'payment' GROUP BY account_id"

/**
 * Queries that look for faults return a row for each order: its account, its reference, and by how much it is `off`, so that the same
 * text gives both the sums of accounts and the names of what is wrong. Here: how far the entry differs from what was credited. Transfers
 * worth less than a millionth of a CNY have no entry.
 */
const CREDITED =
  'SELECT o.account_id, o.reference, o.credited, ' +
  'ABS(o.credited - CASE WHEN e.account_id = o.account_id THEN e.amount ELSE 0 END) AS off ' +
  'FROM pay_orders o LEFT JOIN entries e ON e.payment = o.reference ' +
  "WHERE o.credited_at_ms IS NOT NULL AND (o.credited <> 0 OR o.method <> 'usdt')"

/** Orders whose reference is not that of their number, or of the place of their transfer. */
const MISNAMED =
  'SELECT o.account_id, o.reference, ABS(o.credited) + 1 AS off FROM pay_orders o ' +
  'LEFT JOIN chain_transfers t ON t.order_id = o.id WHERE o.reference <> ' +
  "CASE WHEN o.method = 'usdt' THEN COALESCE(CONCAT('bsc:', t.chain_id, ':', t.tx, ':', t.log_index), '') " +
  "ELSE CONCAT('topup:', o.id) END"

/**
 * A proof is worth what was credited: in CNY, at the order's rate, rounded down, or for the whole order, whose payer was asked
 * for its amount at that rate, rounded up. What a transfer is worth is compared elsewhere.
 */
const FITS =
  "p.currency = 'CNY' AND p.amount * 10000 = o.credited OR p.currency = o.currency AND " +
  "(o.method = 'usdt' AND p.amount = o.asked " +
  'OR p.amount = o.asked AND o.credited = o.amount AND o.asked * o.rate - o.amount * 100 BETWEEN 0 AND o.rate - 1 ' +
  'OR p.amount * o.rate - o.credited * 100 BETWEEN 0 AND 99)'
const UNPROVEN =
  'SELECT o.account_id, o.reference, o.credited AS off FROM pay_orders o ' +
  `WHERE o.credited_at_ms IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pay_proofs p WHERE p.order_id = o.id AND (${FITS}))`

/** The first proof of an order is the one that made it paid. */
const BY_HAND =
  'SELECT o.account_id, CAST(SUM(o.credited) AS CHAR) AS total FROM pay_orders o ' +
  "JOIN pay_proofs p ON p.order_id = o.id WHERE p.source = 'operator' AND o.credited_at_ms IS NOT NULL " +
  'AND NOT EXISTS (SELECT 1 FROM pay_proofs q WHERE q.order_id = o.id AND ' +
  '(q.at_ms < p.at_ms OR q.at_ms = p.at_ms AND q.transaction_id < p.transaction_id)) GROUP BY o.account_id'

const sumOf = (name: string, where: string) => `SUM(CASE WHEN ${where} THEN amount ELSE 0 END) AS ${name}`
const BACK = 'o.refunded + o.frozen + o.reversed'
const GIVEN_BACK =
  `SELECT o.account_id, o.reference, ${BACK} AS back, (` +
  `CASE WHEN ${BACK} > o.credited THEN ${BACK} - o.credited ELSE 0 END + ` +
  'CASE WHEN o.credited_at_ms IS NULL THEN ABS(o.credited) ELSE 0 END + ' +
  "CASE WHEN (o.state IN ('credited', 'refunded', 'reversed')) = (o.credited_at_ms IS NULL) THEN 1 ELSE 0 END + " +
  'ABS(o.frozen - COALESCE(r.frozen, 0)) + ABS(o.refunded - COALESCE(r.refunded, 0)) + ' +
  'ABS(o.reversed - COALESCE(r.reversed, 0))) AS off FROM pay_orders o LEFT JOIN ' +
  `(SELECT order_id, ${sumOf('frozen', "state = 'frozen'")}, ` +
  `${sumOf('refunded', "state = 'done' AND kind <> 'dispute'")}, ` +
  `${sumOf('reversed', "state = 'done' AND kind = 'dispute'")} FROM pay_refunds GROUP BY order_id) r ` +
  'ON r.order_id = o.id'

/** Refunds of tokens that name no receiver, or were sent and name no transaction. */
const UNSENT =
  'SELECT o.account_id, o.reference, r.amount + 1 AS off FROM pay_refunds r JOIN pay_orders o ON o.id = r.order_id ' +
  "WHERE o.method = 'usdt' AND (r.receiver IS NULL OR r.state = 'done' AND r.tx IS NULL)"

/**
 * Each refund and dispute has entries of its own: what froze it (`f`), what released it at its end (`l`), what took the money when it
 * went back (`g`), and what gave it again when that failed later (`x`).
 */
const entryOf = (alias: string, prefix: string, end = '') =>
  `LEFT JOIN entries ${alias} ON ${alias}.account_id = r.account_id ` +
  `AND ${alias}.reference = CONCAT(${prefix}, ':', r.method, ':', r.id${end})`
const amountOf = (alias: string, kind: string) => `CASE WHEN ${alias}.kind = ${kind} THEN ${alias}.amount ELSE 0 END`
const UNBOOKED =
  'SELECT r.account_id, COALESCE(o.reference, r.order_id) AS reference, ABS(r.amount + ' +
  `${amountOf('f', "'freeze'")}) + ` +
  `ABS(CASE r.state WHEN 'frozen' THEN 0 ELSE r.amount END - ${amountOf('l', "'release'")}) + ` +
  `ABS(CASE r.state WHEN 'done' THEN r.amount ELSE 0 END + ${amountOf('x', "'release'")} + ` +
  `${amountOf('g', "CASE r.kind WHEN 'dispute' THEN 'reversal' ELSE 'refund' END")}) AS off ` +
  'FROM pay_refunds r LEFT JOIN pay_orders o ON o.id = r.order_id ' +
  `${entryOf('f', "'freeze'")} ${entryOf('l', "'release'")} ${entryOf('x', "'release'", ", ':failed'")} ` +
  entryOf('g', "CASE r.kind WHEN 'dispute' THEN 'dispute' ELSE 'refund' END")

/** Orders of an account whose transfer came to the address of another one. */
const MISPLACED =
  'SELECT o.account_id, o.reference, o.credited + 1 AS off FROM pay_orders o JOIN chain_transfers t ON t.order_id = o.id ' +
  'JOIN chain_addresses a ON a.chain_id = t.chain_id AND a.address = t.address WHERE a.account_id <> o.account_id'

const TAKEN =
  'SELECT account_id, CAST(SUM(amount) AS CHAR) AS total FROM entries ' +
  "WHERE kind IN ('freeze', 'release', 'refund', 'reversal') GROUP BY account_id"

/** Entries of the kind `payment` of which no order of the account knows. */
const FROM_NOWHERE =
  "SELECT e.account_id, e.reference, ABS(e.amount) + 1 AS off FROM entries e WHERE e.kind = 'payment' " +
  'AND NOT EXISTS (SELECT 1 FROM pay_orders o WHERE o.reference = e.reference ' +
  'AND o.account_id = e.account_id AND o.credited_at_ms IS NOT NULL)'

/** Queries that look for faults and add nothing up. */
const FAULTS = [MISNAMED, UNPROVEN, UNSENT, UNBOOKED, MISPLACED]

/** What is wrong with an account's payments, and what of them people credited. */
interface PaymentsOf {
  /** The size of everything that does not fit; 0 when all does. */
  off: bigint
  /** The sum of its entries of the kind `payment`. */
  paid: bigint
  /** The part of it that a person decided to credit, which no payment provider proves. */
  byHand: bigint
  /** References of orders that do not fit, some of them at least. */
  unfit: string[]
}

const size = (value: bigint): bigint => (value < 0n ? -value : value)

interface PaymentSums extends PaymentsOf {
  /** Entries less what orders say was credited, as a count and as a sum. */
  count: number
  sum: bigint
  /** What orders say went back, and the entries that take money away. */
  back: bigint
}

const empty = (): PaymentSums => ({ off: 0n, paid: 0n, byHand: 0n, unfit: [], count: 0, sum: 0n, back: 0n })

const SUMS_OF = {
  credited: 'COUNT(*) AS n, CAST(SUM(credited) AS CHAR) AS credited, CAST(SUM(off) AS CHAR) AS off',
  faults: 'CAST(SUM(off) AS CHAR) AS off',
  back: 'CAST(SUM(back) AS CHAR) AS back, CAST(SUM(off) AS CHAR) AS off',
} as const
const summed = (rows: string, what: keyof typeof SUMS_OF): string =>
  `SELECT account_id, ${SUMS_OF[what]} FROM (${rows}) x GROUP BY account_id`

export async function readPayments(tx: Transaction): Promise<Map<number, PaymentsOf>> {
  const sums = new Map<number, PaymentSums>()
  const each = async (sql: string, fn: (account: PaymentSums, row: Row) => void) => {
    for (const row of await tx.query(sql, [])) fn(sumsOf(sums, integer(row, 'account_id')), row)
  }
  await each(PAYMENTS, (of, row) => {
    of.paid += big(row, 'total')
    of.count += integer(row, 'n')
    of.sum += big(row, 'total')
  })
  await each(summed(CREDITED, 'credited'), (of, row) => {
    of.off += big(row, 'off')
    of.count -= integer(row, 'n')
    of.sum -= big(row, 'credited')
  })
  for (const faults of FAULTS) await each(summed(faults, 'faults'), (of, row) => (of.off += big(row, 'off')))
  await each(BY_HAND, (of, row) => (of.byHand += big(row, 'total')))
  await each(summed(GIVEN_BACK, 'back'), (of, row) => {
    of.off += big(row, 'off')
    of.back += big(row, 'back')
  })
  await each(TAKEN, (of, row) => (of.back += big(row, 'total')))
  // An entry without an order shows as a sum that is left, and two that cancel each other as a count.
  for (const of of sums.values()) of.off += size(of.sum) + size(of.back) + (of.count === 0 ? 0n : 1n)
  await judgeTransfers(tx, sums)
  await judgeTokens(tx, sums)
  await nameUnfit(tx, sums)
  return sums
}

function sumsOf(sums: Map<number, PaymentSums>, accountId: number): PaymentSums {
  const of = sums.get(accountId) ?? empty()
  sums.set(accountId, of)
  return of
}

/** Amounts of tokens are texts, with which engines cannot calculate. */
async function judgeTransfers(tx: Transaction, sums: Map<number, PaymentSums>): Promise<void> {
  const sql =
    'SELECT * FROM pay_orders o JOIN chain_transfers t ON t.order_id = o.id ' +
    'WHERE t.seq > ? AND (o.credited <> 0 OR o.credited_at_ms IS NOT NULL) ORDER BY t.seq LIMIT ?'
  for (let after = 0, more = true; more; ) {
    const page = (await tx.query(sql, [after, PAGE])).map(toTransferOrder)
    for (const order of page) {
      const due = order.creditedAtMs === null ? 0n : floorOf(worthOf(order) ?? 0n)
      const off = size(due - BigInt(order.credited)) + (askedOf(order.tokens) === order.asked ? 0n : 1n)
      if (off !== 0n) blame(sums, order.accountId, order.reference, off)
    }
    after = page.at(-1)?.seq ?? after
    more = page.length === PAGE
  }
}

/** Somebody sends the tokens that the rows say. Each refund is rounded by itself. */
async function judgeTokens(tx: Transaction, sums: Map<number, PaymentSums>): Promise<void> {
  const sql =
    'SELECT r.order_id, o.account_id, o.reference, o.asked AS received, o.credited, COUNT(*) AS n, ' +
    'CAST(SUM(r.amount) AS CHAR) AS back, CAST(SUM(r.asked) AS CHAR) AS sent ' +
    "FROM pay_refunds r JOIN pay_orders o ON o.id = r.order_id WHERE o.method = 'usdt' AND r.state <> 'released' " +
    'AND r.order_id > ? GROUP BY r.order_id, o.account_id, o.reference, o.asked, o.credited ORDER BY r.order_id LIMIT ?'
  for (let after = '', more = true; more; ) {
    const page = await tx.query(sql, [after, PAGE])
    for (const row of page) {
      const [received, credited] = [big(row, 'received'), big(row, 'credited')]
      const due = credited === 0n ? 0n : (received * big(row, 'back')) / credited
      if (size(due - big(row, 'sent')) > BigInt(integer(row, 'n')))
        blame(sums, integer(row, 'account_id'), text(row, 'reference'), 1n)
    }
    after = page.length === 0 ? after : text(page.at(-1) as Row, 'order_id')
    more = page.length === PAGE
  }
}

function blame(sums: Map<number, PaymentSums>, accountId: number, reference: string, off: bigint): void {
  const of = sumsOf(sums, accountId)
  of.off += off
  name(of, reference)
}

function name(of: PaymentSums, reference: string): void {
  if (of.unfit.length < MOST_NAMED && !of.unfit.includes(reference)) of.unfit.push(reference)
}

/** Names what is wrong in accounts where something is. Where all is right, it asks nothing. */
async function nameUnfit(tx: Transaction, sums: ReadonlyMap<number, PaymentSums>): Promise<void> {
  const found = [...sums].filter(([, { off }]) => off !== 0n).slice(0, MOST_NAMED)
  for (const [accountId, of] of found)
    for (const rows of [CREDITED, ...FAULTS, GIVEN_BACK, FROM_NOWHERE]) {
      const sql = `SELECT reference FROM (${rows}) x WHERE account_id = ? AND off <> 0 ORDER BY reference LIMIT ?`
      for (const row of await tx.query(sql, [accountId, MOST_NAMED])) name(of, text(row, 'reference'))
    }
}
