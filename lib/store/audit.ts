/**
 * The audit of the books. In one snapshot it checks for every account that
 * - the sum of the entries is the credit of the account's purse;
 * - the sum of the charges (of usage rows, and of deleted ones) is what the account's purse has spent;
 * - the sums of usage, by the hour and by the day, are together the same charges, and so are those by hour of booking;
 * - the purses of the account's keys have together spent the same sum;
 * - what the purses of its budget, and of each key's cap, have spent is not more than the account and the key have. These
 * purses count the same charges, but not those from before somebody set the limit, and old ones are deleted;
 * - payments are those of its orders, which `payments/audit.ts` checks;
 * - no lease is below zero, and every lease with money belongs to a registered holder. Nobody would give back any other
 * lease.
 */
import { add, type Micro, micro } from '../base/money.ts'
import { keyPurse } from './books/purses.ts'
import type { Driver, Row, Transaction } from './base/driver.ts'
import { MOST_NAMED, readPayments } from './payments/audit.ts'
import { big, integer, text } from './base/text.ts'
import { GRAIN } from './usage/sums.ts'

export interface Audit {
  ok: boolean
  accounts: number
  /** The sum of all entries, with their signs. */
  credits: Micro
  /** The part of it that people credited: openings, top-ups, adjustments, and orders that a person decided to credit. */
  byHand: Micro
  /** The part of that which orders are. */
  resolved: Micro
  /** The sum of the payments that providers prove. */
  proven: Micro
  charges: Micro
  balances: Micro
  leased: Micro
  /** The sum over all accounts of the size of their imbalance; 0 when the books add up. */
  imbalance: Micro
  /** Ids of the accounts with an imbalance. */
  broken: number[]
  /** References of payments that do not fit their orders or transfers; at most twenty. */
  unfit: string[]
  /** What does not add up, the largest difference first; at most a hundred. */
  findings: AuditFinding[]
}

/** The equations of the audit, in words that `lib/operations/billing/audit.ts` explains. */
export const EQUATIONS = [
  'entries',
  'charges',
  'keys',
  'sums_by_hour',
  'sums_by_day',
  'sums_by_key_day',
  'sums_by_account_hour',
  'sums_by_account_day',
  'sums_by_day_of_all',
  'charged_hours',
  'leases_below_zero',
  'leases_of_nobody',
  'limits',
  'payments',
] as const
export type AuditEquation = (typeof EQUATIONS)[number]

/** One side of an equation is not the other. Both are micro-CNY. */
export interface AuditFinding {
  /** null = it is about all accounts together. */
  accountId: number | null
  equation: AuditEquation
  expected: Micro
  found: Micro
}

const MOST_FINDINGS = 100

/** What the tables say of one account. */
class Account {
  readonly id: number
  paidIn = 0n
  /** The part of it that people credited, which no payment provider proves. */
  byHand = 0n
  /** The part of that which was paid by an order, and that a person decided to credit. */
  resolved = 0n
  /** The part of it that payment providers prove. */
  proven = 0n
  /** The size of what does not fit between its payments and its orders. */
  payments = 0n
  /** References of payments that do not fit. */
  unfit: string[] = []
  charged = 0n
  /** Charges in the sums of usage, by hours and by days. */
  byHours = 0n
  byDays = 0n
  /** Charges in the sums of the account's keys by days, whatever they were used for. */
  byKeyDays = 0n
  /** Charges in the sums of the account itself, by hours and by days. */
  byOwnHours = 0n
  byOwnDays = 0n
  /** Charges by the hour of booking. */
  booked = 0n
  credit = 0n
  promised = 0n
  leased = 0n
  /** How far leases of its purse and its keys' purses are below zero, as a positive sum. */
  below = 0n
  /** What the purses of its keys have spent. */
  byKeys = 0n
  /** What its purse and its keys' purses have leased to holders that are not registered. */
  stray = 0n
  /** By how much purses of limits have spent too much. */
  limits = 0n

  constructor(id: number) {
    this.id = id
  }
}

const size = (value: bigint): bigint => (value < 0n ? -value : value)

/** Sums are read as text, because they may be larger than a safe integer. */
const QUERIES = {
  accounts: 'SELECT id, CAST(archived AS CHAR) AS archived FROM accounts',
  entries:
    'SELECT account_id, CAST(SUM(amount) AS CHAR) AS total, ' +
    "CAST(SUM(CASE WHEN kind IN ('opening', 'topup', 'adjustment') THEN amount ELSE 0 END) AS CHAR) AS by_hand " +
    'FROM entries GROUP BY account_id',
  booked: 'SELECT account_id, CAST(SUM(charge) AS CHAR) AS total FROM charged_hours GROUP BY account_id',
  usage: 'SELECT account_id, CAST(SUM(charge) AS CHAR) AS total FROM usage_log GROUP BY account_id',
  sums: 'SELECT account_id, grain, CAST(SUM(charge) AS CHAR) AS total FROM usage_sums GROUP BY account_id, grain',
  keys: 'SELECT id, account_id FROM api_keys',
  purses: 'SELECT id, CAST(credit AS CHAR) AS credit, CAST(promised AS CHAR) AS promised FROM purses',
  leases:
    'SELECT purse_id AS id, CAST(SUM(amount) AS CHAR) AS leased, ' +
    'CAST(SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END) AS CHAR) AS below, ' +
    'CAST(SUM(CASE WHEN h.id IS NULL AND amount > 0 THEN amount ELSE 0 END) AS CHAR) AS stray ' +
    'FROM leases LEFT JOIN holders h ON h.id = holder GROUP BY purse_id',
}

/** Where an account's sums are kept by; days of all accounts are no account's. */
const SUMS_OF: Partial<Record<number, 'byHours' | 'byDays' | 'byKeyDays' | 'byOwnHours' | 'byOwnDays'>> = {
  [GRAIN.hour]: 'byHours',
  [GRAIN.day]: 'byDays',
  [GRAIN.keyDay]: 'byKeyDays',
  [GRAIN.accountHour]: 'byOwnHours',
  [GRAIN.accountDay]: 'byOwnDays',
}

/** The tables as they are read for an audit, account by account. */
class Books {
  /** Charges in the sums of usage by days of all accounts together. */
  byDaysOfAll = 0n
  readonly #tx: Transaction
  readonly #accounts = new Map<number, Account>()
  /** The accounts of keys, by the keys' purses. */
  readonly #owners = new Map<string, number>()
  /** What each purse has spent. */
  readonly #spent = new Map<string, bigint>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  static async read(tx: Transaction): Promise<Books> {
    const books = new Books(tx)
    await books.#each('keys', row => books.#owners.set(keyPurse(integer(row, 'id')), integer(row, 'account_id')))
    await books.#readCredits()
    await books.#readCharges()
    await books.#readPurses()
    return books
  }

  get accounts(): Account[] {
    return [...this.#accounts.values()]
  }

  async #each(query: keyof typeof QUERIES, fn: (row: Row) => void): Promise<void> {
    for (const row of await this.#tx.query(QUERIES[query], [])) fn(row)
  }

  #account(id: number): Account {
    let account = this.#accounts.get(id)
    if (account === undefined) this.#accounts.set(id, (account = new Account(id)))
    return account
  }

  /** The account that owns a purse, directly or by one of its keys. */
  #owner(purse: string): Account {
    const [whole] = purse.split('.', 1) as [string]
    return this.#account(purse.startsWith('k') ? (this.#owners.get(whole) ?? 0) : Number(whole.slice(1)))
  }

  async #readCredits(): Promise<void> {
    await this.#each('entries', row => {
      const account = this.#account(integer(row, 'account_id'))
      account.paidIn += big(row, 'total')
      account.byHand += big(row, 'by_hand')
    })
    for (const [id, { off, paid, byHand, unfit }] of await readPayments(this.#tx)) {
      const account = this.#account(id)
      account.payments += off
      account.unfit = unfit
      account.proven += paid - byHand
      account.resolved += byHand
      account.byHand += byHand
    }
  }

  async #readCharges(): Promise<void> {
    await this.#each('accounts', row => (this.#account(integer(row, 'id')).charged += big(row, 'archived')))
    await this.#each('booked', row => (this.#account(integer(row, 'account_id')).booked += big(row, 'total')))
    await this.#each('usage', row => (this.#account(integer(row, 'account_id')).charged += big(row, 'total')))
    await this.#each('sums', row => {
      const total = row['total'] === null ? 0n : big(row, 'total')
      const sums = SUMS_OF[integer(row, 'grain')]
      if (sums === undefined) this.byDaysOfAll += total
      else this.#account(integer(row, 'account_id'))[sums] += total
    })
  }

  async #readPurses(): Promise<void> {
    await this.#each('purses', row => {
      const id = text(row, 'id')
      const account = this.#owner(id)
      this.#spent.set(id, big(row, 'promised'))
      if (isLimit(id)) return
      if (id.startsWith('k')) account.byKeys += big(row, 'promised')
      else {
        account.credit = big(row, 'credit')
        account.promised = big(row, 'promised')
      }
    })
    await this.#each('leases', row => {
      const id = text(row, 'id')
      const account = this.#owner(id)
      this.#spent.set(id, (this.#spent.get(id) ?? 0n) - big(row, 'leased'))
      if (!isLimit(id)) {
        if (id.startsWith('k')) account.byKeys -= big(row, 'leased')
        else account.leased = big(row, 'leased')
      }
      account.below += big(row, 'below')
      account.stray += big(row, 'stray')
    })
    for (const [id, tooMuch] of tooMuchSpent(this.#spent)) this.#owner(id).limits += tooMuch
  }
}

/** Whether a purse counts charges that an account's or a key's own purse counts too. */
const isLimit = (id: string): boolean => id.startsWith('b') || id.includes('.')

/**
 * By how much purses of limits have spent more than the purse whose charges they count; also what one has spent below
 * zero. Each charge counts in one period only, so the periods of a limit are added up.
 */
function* tooMuchSpent(spent: ReadonlyMap<string, bigint>): Generator<[purse: string, amount: bigint]> {
  const byLimit = new Map<string, bigint>()
  for (const [id, amount] of spent) {
    if (!isLimit(id)) continue
    if (amount < 0n) yield [id, -amount]
    const limit = id.replace(/\..*/, '.')
    byLimit.set(limit, (byLimit.get(limit) ?? 0n) + amount)
  }
  for (const [limit, amount] of byLimit) {
    const own = spent.get(limit.replace('b', 'a').replace('.', '')) ?? 0n
    if (amount > own) yield [limit, amount - own]
  }
}

const spentOf = (a: Account): bigint => a.promised - a.leased
const imbalanceOf = (a: Account): bigint => {
  const [byRows, byKeys] = [size(a.charged - spentOf(a)), size(a.byKeys - spentOf(a))]
  const sums = [a.byHours, a.byDays, a.byKeyDays, a.byOwnHours, a.byOwnDays, a.booked]
  const bySums = sums.reduce((off, sum) => off + size(a.charged - sum), 0n)
  const byPurses = byRows > byKeys ? byRows : byKeys
  return size(a.paidIn - a.credit) + byPurses + bySums + a.below + a.stray + a.limits + a.payments
}

/** Both sides of every equation of an account. */
function* sidesOf(a: Account): Generator<[equation: AuditEquation, expected: bigint, found: bigint]> {
  const spent = spentOf(a)
  yield ['entries', a.paidIn, a.credit]
  yield ['charges', a.charged, spent]
  yield ['keys', spent, a.byKeys]
  yield ['sums_by_hour', a.charged, a.byHours]
  yield ['sums_by_day', a.charged, a.byDays]
  yield ['sums_by_key_day', a.charged, a.byKeyDays]
  yield ['sums_by_account_hour', a.charged, a.byOwnHours]
  yield ['sums_by_account_day', a.charged, a.byOwnDays]
  yield ['charged_hours', a.charged, a.booked]
  yield ['leases_below_zero', 0n, -a.below]
  yield ['leases_of_nobody', 0n, a.stray]
  yield ['limits', 0n, a.limits]
  yield ['payments', 0n, a.payments]
}

/** `ofAll`: what all accounts have by days, and the days of all accounts together. */
function findingsOf(broken: readonly Account[], ofAll: { expected: bigint; found: bigint }): AuditFinding[] {
  const sides = broken.flatMap(a => [...sidesOf(a)].map(side => [a.id, ...side] as const))
  const all = [...sides, [null, 'sums_by_day_of_all', ofAll.expected, ofAll.found] as const]
  return all
    .filter(([, , expected, found]) => expected !== found)
    .sort(([, , e1, f1], [, , e2, f2]) => (size(e2 - f2) > size(e1 - f1) ? 1 : -1))
    .slice(0, MOST_FINDINGS)
    .map(([accountId, equation, expected, found]) => ({
      accountId,
      equation,
      expected: micro(Number(expected)),
      found: micro(Number(found)),
    }))
}

export async function auditBooks(driver: Driver): Promise<Audit> {
  const { accounts, byDaysOfAll } = await driver.snapshot('audit', tx => Books.read(tx))
  const total = (fn: (account: Account) => bigint) => micro(Number(accounts.reduce((sum, a) => sum + fn(a), 0n)))
  const byDays = accounts.reduce((sum, a) => sum + a.byDays, 0n)
  const ofAll = size(byDays - byDaysOfAll)
  const broken = accounts.filter(a => imbalanceOf(a) !== 0n)
  return {
    ok: broken.length === 0 && ofAll === 0n,
    accounts: accounts.length,
    credits: total(a => a.paidIn),
    byHand: total(a => a.byHand),
    resolved: total(a => a.resolved),
    proven: total(a => a.proven),
    charges: total(a => a.charged),
    balances: total(a => a.credit - spentOf(a)),
    leased: total(a => a.leased),
    imbalance: add(total(imbalanceOf), micro(Number(ofAll))),
    broken: broken.map(({ id }) => id),
    unfit: broken.flatMap(({ unfit }) => unfit).slice(0, MOST_NAMED),
    findings: findingsOf(broken, { expected: byDays, found: byDaysOfAll }),
  }
}
