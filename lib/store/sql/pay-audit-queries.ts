/**
 * The queries of the audit of payments. Those that look for faults return a row for each order or deposit: its account, its
 * reference, and by how much it is `off`, so that the same text gives both the sums of accounts and the names of what is
 * wrong.
 */

/**
 * Where payments come from: by what their references begin with. `rows`: the reference of each, what it was credited with
 * (`credited`), and how far its entry differs (`off`). An index of the unique references finds the entry.
 */
export interface Source {
  prefix: string
  rows: string
}

export const SOURCES: readonly Source[] = [
  {
    prefix: 'topup:',
    rows:
      "SELECT o.account_id, CONCAT('topup:', o.id) AS reference, o.credited, " +
      'ABS(o.credited - CASE WHEN e.account_id = o.account_id THEN e.amount ELSE 0 END) AS off ' +
      "FROM pay_orders o LEFT JOIN entries e ON e.payment = CONCAT('topup:', o.id) WHERE o.credited_at_ms IS NOT NULL",
  },
  {
    // Deposits worth less than a millionth of a CNY have no entry.
    prefix: 'bsc:',
    rows:
      "SELECT d.account_id, CONCAT('bsc:', d.chain_id, ':', d.tx, ':', d.log_index) AS reference, d.credited, " +
      'ABS(d.credited - CASE WHEN e.account_id = d.account_id THEN e.amount ELSE 0 END) AS off ' +
      "FROM chain_deposits d LEFT JOIN entries e ON e.payment = CONCAT('bsc:', d.chain_id, ':', d.tx, ':', d.log_index) " +
      'WHERE d.credited > 0',
  },
]

const sourceOf = SOURCES.map(({ prefix }, i) => `WHEN reference LIKE '${prefix}%' THEN ${i}`).join(' ')
export const PAYMENTS =
  `SELECT account_id, CASE ${sourceOf} ELSE -1 END AS source, COUNT(*) AS n, CAST(SUM(amount) AS CHAR) AS total ` +
  "FROM entries WHERE kind = 'payment' GROUP BY account_id, source"

/**
 * A proof is worth what was credited: in CNY, at the order's rate, rounded down, or for the whole order, whose payer was asked
 * for its amount at that rate, rounded up.
 */
const FITS =
  "p.currency = 'CNY' AND p.amount * 10000 = o.credited OR p.currency = o.currency AND " +
  '(p.amount = o.asked AND o.credited = o.amount AND o.asked * o.rate - o.amount * 100 BETWEEN 0 AND o.rate - 1 ' +
  'OR p.amount * o.rate - o.credited * 100 BETWEEN 0 AND 99)'
export const UNPROVEN =
  "SELECT o.account_id, CONCAT('topup:', o.id) AS reference, o.credited AS off FROM pay_orders o " +
  `WHERE o.credited_at_ms IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pay_proofs p WHERE p.order_id = o.id AND (${FITS}))`

/** The first proof of an order is the one that made it paid. */
export const BY_HAND =
  'SELECT o.account_id, CAST(SUM(o.credited) AS CHAR) AS total FROM pay_orders o ' +
  "JOIN pay_proofs p ON p.order_id = o.id WHERE p.source = 'operator' AND o.credited_at_ms IS NOT NULL " +
  'AND NOT EXISTS (SELECT 1 FROM pay_proofs q WHERE q.order_id = o.id AND ' +
  '(q.at_ms < p.at_ms OR q.at_ms = p.at_ms AND q.transaction_id < p.transaction_id)) GROUP BY o.account_id'

export const DEPOSITS_BY_HAND =
  'SELECT account_id, CAST(SUM(credited) AS CHAR) AS total FROM chain_deposits ' +
  'WHERE decided_by IS NOT NULL AND credited > 0 GROUP BY account_id'

const sumOf = (name: string, where: string) => `SUM(CASE WHEN ${where} THEN amount ELSE 0 END) AS ${name}`
const BACK = 'o.refunded + o.frozen + o.reversed'
export const GIVEN_BACK =
  `SELECT o.account_id, CONCAT('topup:', o.id) AS reference, ${BACK} AS back, (` +
  `CASE WHEN ${BACK} > o.credited THEN ${BACK} - o.credited ELSE 0 END + ` +
  'CASE WHEN o.credited_at_ms IS NULL THEN ABS(o.credited) ELSE 0 END + ' +
  "CASE WHEN (o.state IN ('credited', 'refunded', 'reversed')) = (o.credited_at_ms IS NULL) THEN 1 ELSE 0 END + " +
  'ABS(o.frozen - COALESCE(r.frozen, 0)) + ABS(o.refunded - COALESCE(r.refunded, 0)) + ' +
  'ABS(o.reversed - COALESCE(r.reversed, 0))) AS off FROM pay_orders o LEFT JOIN ' +
  `(SELECT order_id, ${sumOf('frozen', "state = 'frozen'")}, ` +
  `${sumOf('refunded', "state = 'done' AND kind <> 'dispute'")}, ` +
  `${sumOf('reversed', "state = 'done' AND kind = 'dispute'")} FROM pay_refunds GROUP BY order_id) r ` +
  'ON r.order_id = o.id'
/** What of deposits was sent back, or is about to be. What was sent names its transaction. */
export const SENT_BACK =
  "SELECT d.account_id, CONCAT('bsc:', d.chain_id, ':', d.tx, ':', d.log_index) AS reference, r.back, " +
  'r.unsent + CASE WHEN r.back > d.credited THEN r.back - d.credited ELSE 0 END AS off FROM chain_deposits d JOIN ' +
  `(SELECT deposit_id, ${sumOf('back', "state <> 'released'")}, ${sumOf('unsent', "state = 'done' AND tx IS NULL")} ` +
  'FROM deposit_refunds GROUP BY deposit_id) r ON r.deposit_id = d.id'

/**
 * Each refund and dispute has entries of its own: what froze it (`f`), what released it at its end (`l`), what took the money when it
 * went back (`g`), and what gave it again when that failed later (`x`). `refunds` has the columns of `pay_refunds`.
 */
const entryOf = (alias: string, prefix: string, end = '') =>
  `LEFT JOIN entries ${alias} ON ${alias}.account_id = r.account_id ` +
  `AND ${alias}.reference = CONCAT(${prefix}, ':', r.method, ':', r.id${end})`
const amountOf = (alias: string, kind: string) => `CASE WHEN ${alias}.kind = ${kind} THEN ${alias}.amount ELSE 0 END`
const unbooked = (reference: string, refunds: string) =>
  `SELECT r.account_id, ${reference} AS reference, ABS(r.amount + ${amountOf('f', "'freeze'")}) + ` +
  `ABS(CASE r.state WHEN 'frozen' THEN 0 ELSE r.amount END - ${amountOf('l', "'release'")}) + ` +
  `ABS(CASE r.state WHEN 'done' THEN r.amount ELSE 0 END + ${amountOf('x', "'release'")} + ` +
  `${amountOf('g', "CASE r.kind WHEN 'dispute' THEN 'reversal' ELSE 'refund' END")}) AS off FROM ${refunds} r ` +
  `${entryOf('f', "'freeze'")} ${entryOf('l', "'release'")} ${entryOf('x', "'release'", ", ':failed'")} ` +
  entryOf('g', "CASE r.kind WHEN 'dispute' THEN 'dispute' ELSE 'refund' END")

export const UNBOOKED = [
  unbooked("CONCAT('topup:', r.order_id)", 'pay_refunds'),
  unbooked(
    'r.reference',
    "(SELECT b.account_id, b.id, b.amount, b.state, 'usdt' AS method, 'refund' AS kind, " +
      "CONCAT('bsc:', d.chain_id, ':', d.tx, ':', d.log_index) AS reference " +
      'FROM deposit_refunds b JOIN chain_deposits d ON d.id = b.deposit_id)',
  ),
]

/** Deposits of an account that came to the address of another one. */
export const MISPLACED =
  "SELECT d.account_id, CONCAT('bsc:', d.chain_id, ':', d.tx, ':', d.log_index) AS reference, d.credited + 1 AS off " +
  'FROM chain_deposits d JOIN deposit_addresses a ON a.chain_id = d.chain_id AND a.address = d.address ' +
  'WHERE a.account_id <> d.account_id'

export const TAKEN =
  'SELECT account_id, CAST(SUM(amount) AS CHAR) AS total FROM entries ' +
  "WHERE kind IN ('freeze', 'release', 'refund', 'reversal') GROUP BY account_id"

/** Entries of the kind `payment` of which no order and no deposit of the account knows. */
export const FROM_NOWHERE =
  "SELECT e.account_id, e.reference, ABS(e.amount) + 1 AS off FROM entries e WHERE e.kind = 'payment' " +
  "AND NOT EXISTS (SELECT 1 FROM pay_orders o WHERE e.reference LIKE 'topup:%' AND o.id = SUBSTR(e.reference, 7) " +
  'AND o.account_id = e.account_id AND o.credited_at_ms IS NOT NULL) ' +
  "AND NOT EXISTS (SELECT 1 FROM chain_deposits d WHERE e.reference LIKE 'bsc:%' " +
  "AND d.chain_id IN (SELECT DISTINCT chain_id FROM chain_deposits) AND d.tx = SUBSTR(e.reference, INSTR(e.reference, '0x'), 66) " +
  "AND CONCAT('bsc:', d.chain_id, ':', d.tx, ':', d.log_index) = e.reference AND d.account_id = e.account_id " +
  'AND d.credited > 0)'
