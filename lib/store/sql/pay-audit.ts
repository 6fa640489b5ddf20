/**
 * The part of the audit that is about money that came in. For every account it checks that
 * - every entry of the kind `payment` belongs to exactly one credited order or deposit of the account, with the same amount,
 * and every such order or deposit to exactly one entry;
 * - every credited order has a proof of what was credited, and every credited deposit is worth what was credited;
 * - no order or deposit gives back more than it got, and what it gave back is what its refunds and disputes say, each of
 * which has entries of its own; tokens that are sent back are worth what was taken for them;
 * - every deposit belongs to the account whose address it came to;
 * - the entries that freeze, release and take back are together what the orders and deposits of the account have frozen and
 * given back.
 */
import { type Deposit, depositReference, floorOf, tokensBack, worthOf } from '../../terms/deposits.ts'
import type { Row, Transaction } from '../base/driver.ts'
import { toDeposit } from './deposit-rows.ts'
import {
  BY_HAND,
  DEPOSITS_BY_HAND,
  FROM_NOWHERE,
  GIVEN_BACK,
  MISPLACED,
  PAYMENTS,
  SENT_BACK,
  SOURCES,
  TAKEN,
  UNBOOKED,
  UNPROVEN,
} from './pay-audit-queries.ts'
import { big, integer, money, text } from '../base/text.ts'

/** Most references that are named. */
export const MOST_NAMED = 20
const PAGE = 1_000

/** Queries that look for faults and add nothing up. */
const FAULTS = [UNPROVEN, ...UNBOOKED, MISPLACED]

/** What is wrong with an account's payments, and what of them people credited. */
export interface PaymentsOf {
  /** The size of everything that does not fit; 0 when all does. */
  off: bigint
  /** The sum of its entries of the kind `payment`. */
  paid: bigint
  /** The part of it that a person decided to credit, which no payment provider proves. */
  byHand: bigint
  /** References of orders and deposits that do not fit, some of them at least. */
  unfit: string[]
}

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
  unfit: [],
  counts: SOURCES.map(() => 0),
  sums: SOURCES.map(() => 0n),
  back: 0n,
})

const SUMS_OF = {
  source: 'COUNT(*) AS n, CAST(SUM(credited) AS CHAR) AS credited, CAST(SUM(off) AS CHAR) AS off',
  faults: 'CAST(SUM(off) AS CHAR) AS off',
  back: 'CAST(SUM(back) AS CHAR) AS back, CAST(SUM(off) AS CHAR) AS off',
} as const
const summed = (rows: string, what: keyof typeof SUMS_OF): string =>
  `SELECT account_id, ${SUMS_OF[what]} FROM (${rows}) x GROUP BY account_id`

export async function readPayments(tx: Transaction): Promise<Map<number, PaymentsOf>> {
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
  for (const [i, { rows }] of SOURCES.entries())
    await each(summed(rows, 'source'), (of, row) => {
      of.off += big(row, 'off')
      count(of, i, -integer(row, 'n'), -big(row, 'credited'))
    })
  for (const faults of FAULTS) await each(summed(faults, 'faults'), (of, row) => (of.off += big(row, 'off')))
  for (const byHand of [BY_HAND, DEPOSITS_BY_HAND]) await each(byHand, (of, row) => (of.byHand += big(row, 'total')))
  for (const back of [GIVEN_BACK, SENT_BACK])
    await each(summed(back, 'back'), (of, row) => {
      of.off += big(row, 'off')
      of.back += big(row, 'back')
    })
  await each(TAKEN, (of, row) => (of.back += big(row, 'total')))
  // An entry without an order shows as a sum that is left, and two that cancel each other as a count.
  for (const of of books.values())
    of.off +=
      [...of.sums, of.back].reduce((off, sum) => off + size(sum), 0n) + BigInt(of.counts.filter(n => n !== 0).length)
  await judgeDeposits(tx, books)
  await judgeTokens(tx, books)
  await nameUnfit(tx, books)
  return books
}

/** Amounts of tokens are texts, with which engines cannot calculate. */
async function judgeDeposits(tx: Transaction, books: Map<number, Books>): Promise<void> {
  const sql = "SELECT * FROM chain_deposits WHERE id > ? AND (credited <> 0 OR state = 'credited') ORDER BY id LIMIT ?"
  for (let after = 0, more = true; more; ) {
    const page = (await tx.query(sql, [after, PAGE])).map(toDeposit)
    for (const deposit of page) {
      const due = deposit.state === 'credited' ? floorOf(worthOf(deposit) ?? 0n) : 0n
      if (due !== BigInt(deposit.credited)) blame(books, deposit, size(due - BigInt(deposit.credited)))
    }
    after = page.at(-1)?.id ?? after
    more = page.length === PAGE
  }
}

/** Somebody sends the tokens that the row says. */
async function judgeTokens(tx: Transaction, books: Map<number, Books>): Promise<void> {
  const sql =
    'SELECT d.*, r.id AS back_id, r.chain_id AS back_chain, r.amount AS back, r.value AS back_value ' +
    'FROM deposit_refunds r JOIN chain_deposits d ON d.id = r.deposit_id WHERE r.id > ? ORDER BY r.id LIMIT ?'
  for (let after = '', more = true; more; ) {
    const page = await tx.query(sql, [after, PAGE])
    for (const row of page) {
      const deposit = toDeposit(row)
      const due = deposit.credited === 0 ? 0n : tokensBack(deposit, money(row, 'back'))
      if (due !== big(row, 'back_value') || integer(row, 'back_chain') !== deposit.chainId) blame(books, deposit, 1n)
    }
    after = page.length === 0 ? after : text(page.at(-1) as Row, 'back_id')
    more = page.length === PAGE
  }
}

function blame(books: Map<number, Books>, deposit: Deposit, off: bigint): void {
  const of = books.get(deposit.accountId) ?? empty()
  books.set(deposit.accountId, of)
  of.off += off
  name(of, depositReference(deposit.chainId, deposit))
}

function name(of: Books, reference: string): void {
  if (of.unfit.length < MOST_NAMED && !of.unfit.includes(reference)) of.unfit.push(reference)
}

/** Names what is wrong in accounts where something is. Where all is right, it asks nothing. */
async function nameUnfit(tx: Transaction, books: ReadonlyMap<number, Books>): Promise<void> {
  const found = [...books].filter(([, { off }]) => off !== 0n).slice(0, MOST_NAMED)
  for (const [accountId, of] of found)
    for (const rows of [...SOURCES.map(source => source.rows), ...FAULTS, GIVEN_BACK, SENT_BACK, FROM_NOWHERE]) {
      const sql = `SELECT reference FROM (${rows}) x WHERE account_id = ? AND off <> 0 ORDER BY reference LIMIT ?`
      for (const row of await tx.query(sql, [accountId, MOST_NAMED])) name(of, text(row, 'reference'))
    }
}

function count(of: Books, source: number, n: number, sum: bigint): void {
  of.counts[source] = (of.counts[source] ?? 0) + n
  of.sums[source] = (of.sums[source] ?? 0n) + sum
}
