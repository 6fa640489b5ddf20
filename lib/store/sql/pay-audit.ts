/**
 * The part of the audit that is about money that came in. For every account it checks that
 * - every entry of the kind `payment` belongs to exactly one credited order or deposit of the account, with the same amount,
 * and every such order or deposit to exactly one entry;
 * - every credited order has a proof of what was credited;
 * - no order or deposit gives back more than it got, and what it gave back is what its refunds and disputes say;
 * - the entries that freeze, release and take back are together what the orders and deposits of the account have frozen and
 * given back.
 */
import type { Row, Statements } from '../driver.ts'
import { big, integer } from './text.ts'

/** What is wrong with an account's payments, and what of them people credited. */
export interface PaymentsOf {
  /** The size of everything that does not fit; 0 when all does. */
  off: bigint
  /** The sum of its entries of the kind `payment`. */
  paid: bigint
  /** The part of it that a person decided to credit, which no payment provider proves. */
  byHand: bigint
}

/**
 * Where payments come from: by what their references begin with. `query`: for each account, how many there are (`n`), their
 * sum (`credited`), and how far their entries differ (`off`).
 */
interface Source {
  prefix: string
  query: string
}

const SOURCES: readonly Source[] = [
  {
    prefix: 'topup:',
    query:
      'SELECT o.account_id, COUNT(*) AS n, CAST(SUM(o.credited) AS CHAR) AS credited, ' +
      'CAST(SUM(ABS(o.credited - CASE WHEN e.account_id = o.account_id THEN e.amount ELSE 0 END)) AS CHAR) AS off ' +
      "FROM pay_orders o LEFT JOIN entries e ON e.payment = CONCAT('topup:', o.id) " +
      'WHERE o.credited_at_ms IS NOT NULL GROUP BY o.account_id',
  },
  {
    // Deposits worth less than a millionth of a CNY have no entry.
    prefix: 'bsc:',
    query:
      'SELECT d.account_id, COUNT(*) AS n, CAST(SUM(d.credited) AS CHAR) AS credited, ' +
      'CAST(SUM(ABS(d.credited - CASE WHEN e.account_id = d.account_id THEN e.amount ELSE 0 END)) AS CHAR) AS off ' +
      "FROM chain_deposits d LEFT JOIN entries e ON e.payment = CONCAT('bsc:', d.chain_id, ':', d.tx, ':', d.log_index) " +
      'WHERE d.credited > 0 GROUP BY d.account_id',
  },
]

const sourceOf = SOURCES.map(({ prefix }, i) => `WHEN reference LIKE '${prefix}%' THEN ${i}`).join(' ')
const PAYMENTS =
  `SELECT account_id, CASE ${sourceOf} ELSE -1 END AS source, COUNT(*) AS n, CAST(SUM(amount) AS CHAR) AS total ` +
  "FROM entries WHERE kind = 'payment' GROUP BY account_id, source"

/** A proof is worth what was credited: in CNY, for the whole order, or at its rate, rounded down. */
const FITS =
  "p.currency = 'CNY' AND p.amount * 10000 = o.credited OR p.currency = o.currency AND " +
  '(p.amount = o.asked AND o.credited = o.amount OR p.amount * o.rate - o.credited * 100 BETWEEN 0 AND 99)'
const UNPROVEN =
  'SELECT o.account_id, CAST(SUM(o.credited) AS CHAR) AS off FROM pay_orders o WHERE o.credited_at_ms IS NOT NULL ' +
  `AND NOT EXISTS (SELECT 1 FROM pay_proofs p WHERE p.order_id = o.id AND (${FITS})) GROUP BY o.account_id`

/** The first proof of an order is the one that made it paid. */
const BY_HAND =
  'SELECT o.account_id, CAST(SUM(o.credited) AS CHAR) AS total FROM pay_orders o ' +
  "JOIN pay_proofs p ON p.order_id = o.id WHERE p.source = 'operator' AND o.credited_at_ms IS NOT NULL " +
  'AND NOT EXISTS (SELECT 1 FROM pay_proofs q WHERE q.order_id = o.id AND ' +
  '(q.at_ms < p.at_ms OR q.at_ms = p.at_ms AND q.transaction_id < p.transaction_id)) GROUP BY o.account_id'

const DEPOSITS_BY_HAND =
  'SELECT account_id, CAST(SUM(credited) AS CHAR) AS total FROM chain_deposits ' +
  'WHERE decided_by IS NOT NULL AND credited > 0 GROUP BY account_id'

const sumOf = (name: string, where: string) => `SUM(CASE WHEN ${where} THEN amount ELSE 0 END) AS ${name}`
const BACK = 'o.refunded + o.frozen + o.reversed'
const GIVEN_BACK =
  `SELECT o.account_id, CAST(SUM(${BACK}) AS CHAR) AS back, CAST(SUM(` +
  `CASE WHEN ${BACK} > o.credited THEN ${BACK} - o.credited ELSE 0 END + ` +
  'CASE WHEN o.credited_at_ms IS NULL THEN ABS(o.credited) ELSE 0 END + ' +
  'ABS(o.frozen - COALESCE(r.frozen, 0)) + ABS(o.refunded - COALESCE(r.refunded, 0)) + ' +
  'ABS(o.reversed - COALESCE(r.reversed, 0))) AS CHAR) AS off FROM pay_orders o LEFT JOIN ' +
  `(SELECT order_id, ${sumOf('frozen', "state = 'frozen'")}, ` +
  `${sumOf('refunded', "state = 'done' AND kind <> 'dispute'")}, ` +
  `${sumOf('reversed', "state = 'done' AND kind = 'dispute'")} FROM pay_refunds GROUP BY order_id) r ` +
  'ON r.order_id = o.id GROUP BY o.account_id'
/** What of deposits was sent back, or is about to be. What was sent names its transaction. */
const SENT_BACK =
  'SELECT d.account_id, CAST(SUM(r.back) AS CHAR) AS back, CAST(SUM(r.unsent + ' +
  'CASE WHEN r.back > d.credited THEN r.back - d.credited ELSE 0 END) AS CHAR) AS off FROM chain_deposits d JOIN ' +
  `(SELECT deposit_id, ${sumOf('back', "state <> 'released'")}, ${sumOf('unsent', "state = 'done' AND tx IS NULL")} ` +
  'FROM deposit_refunds GROUP BY deposit_id) r ON r.deposit_id = d.id GROUP BY d.account_id'
const TAKEN =
  'SELECT account_id, CAST(SUM(amount) AS CHAR) AS total FROM entries ' +
  "WHERE kind IN ('freeze', 'release', 'refund', 'reversal') GROUP BY account_id"

const size = (value: bigint): bigint => (value < 0n ? -value : value)

interface Books extends PaymentsOf {
  /** Entries less what the sources say, by the index of the source. */
  counts: number[]
  sums: bigint[]
  /** What orders say went back, and the entries that take money away. */
  back: bigint
}

const empty = (): Books => ({
  off: 0n,
  paid: 0n,
  byHand: 0n,
  counts: SOURCES.map(() => 0),
  sums: SOURCES.map(() => 0n),
  back: 0n,
})

export async function readPayments(tx: Statements): Promise<Map<number, PaymentsOf>> {
  const books = new Map<number, Books>()
  const each = async (sql: string, fn: (account: Books, row: Row) => void) => {
    for (const row of await tx.query(sql, [])) {
      const id = integer(row, 'account_id')
      const of = books.get(id) ?? empty()
      books.set(id, of)
      fn(of, row)
    }
  }
  await each(PAYMENTS, (of, row) => {
    const source = integer(row, 'source')
    of.paid += big(row, 'total')
    if (source < 0) of.off += size(big(row, 'total')) + 1n
    else count(of, source, integer(row, 'n'), big(row, 'total'))
  })
  for (const [i, { query }] of SOURCES.entries())
    await each(query, (of, row) => {
      of.off += big(row, 'off')
      count(of, i, -integer(row, 'n'), -big(row, 'credited'))
    })
  await each(UNPROVEN, (of, row) => (of.off += big(row, 'off')))
  for (const sql of [BY_HAND, DEPOSITS_BY_HAND]) await each(sql, (of, row) => (of.byHand += big(row, 'total')))
  for (const sql of [GIVEN_BACK, SENT_BACK])
    await each(sql, (of, row) => {
      of.off += big(row, 'off')
      of.back += big(row, 'back')
    })
  await each(TAKEN, (of, row) => (of.back += big(row, 'total')))
  // An entry without an order shows as a sum that is left, and two that cancel each other as a count.
  for (const of of books.values())
    of.off +=
      [...of.sums, of.back].reduce((off, sum) => off + size(sum), 0n) + BigInt(of.counts.filter(n => n !== 0).length)
  return books
}

function count(of: Books, source: number, n: number, sum: bigint): void {
  of.counts[source] = (of.counts[source] ?? 0) + n
  of.sums[source] = (of.sums[source] ?? 0n) + sum
}
