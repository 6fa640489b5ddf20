/**
 * Do the books add up? For every account, at one moment: what was paid in is the purse's credit, what its usage rows
 * (and those pruned) charged is what the purse has spent, and no lease is below zero.
 */
import { micro } from '../../base/money.ts'
import type { Driver, Row, Statements } from '../driver.ts'
import { type Audit, accountPurse } from '../store.ts'
import { big, integer, text } from './text.ts'

interface Account {
  id: number
  paidIn: bigint
  charged: bigint
  credit: bigint
  promised: bigint
  leased: bigint
  /** Sum of what leases are below zero, without sign. */
  below: bigint
}

const size = (value: bigint): bigint => (value < 0n ? -value : value)

/** Sums come as text: they may pass what a JavaScript number holds. */
const QUERIES = {
  accounts: 'SELECT id, CAST(archived AS CHAR) AS archived FROM accounts',
  topups: 'SELECT account_id, CAST(SUM(amount) AS CHAR) AS total FROM topups GROUP BY account_id',
  usage: 'SELECT account_id, CAST(SUM(charge) AS CHAR) AS total FROM usage_rows GROUP BY account_id',
  purses:
    "SELECT id, CAST(credit AS CHAR) AS credit, CAST(promised AS CHAR) AS promised FROM purses WHERE id LIKE 'a%'",
  leases:
    'SELECT purse_id AS id, CAST(SUM(amount) AS CHAR) AS leased, ' +
    'CAST(SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END) AS CHAR) AS below ' +
    "FROM leases WHERE purse_id LIKE 'a%' GROUP BY purse_id",
}

async function read(tx: Statements): Promise<Map<string, Account>> {
  const byPurse = new Map<string, Account>()
  const each = async (query: keyof typeof QUERIES, fn: (row: Row) => void) =>
    (await tx.query(QUERIES[query], [])).forEach(fn)
  const of = (id: number) => {
    let account = byPurse.get(accountPurse(id))
    if (account === undefined) {
      account = { id, paidIn: 0n, charged: 0n, credit: 0n, promised: 0n, leased: 0n, below: 0n }
      byPurse.set(accountPurse(id), account)
    }
    return account
  }
  const ofPurse = (row: Row) => of(Number(text(row, 'id').slice(1)))
  await each('accounts', row => (of(integer(row, 'id')).charged += big(row, 'archived')))
  await each('topups', row => (of(integer(row, 'account_id')).paidIn += big(row, 'total')))
  await each('usage', row => (of(integer(row, 'account_id')).charged += big(row, 'total')))
  await each('purses', row => {
    ofPurse(row).credit = big(row, 'credit')
    ofPurse(row).promised = big(row, 'promised')
  })
  await each('leases', row => {
    ofPurse(row).leased = big(row, 'leased')
    ofPurse(row).below = big(row, 'below')
  })
  return byPurse
}

const imbalanceOf = (a: Account): bigint =>
  size(a.paidIn - a.credit) + size(a.charged - (a.promised - a.leased)) + a.below

export async function audit(driver: Driver): Promise<Audit> {
  const accounts = [...(await driver.snapshot('audit', read)).values()]
  const total = (fn: (account: Account) => bigint) => micro(Number(accounts.reduce((sum, a) => sum + fn(a), 0n)))
  const broken = accounts.filter(a => imbalanceOf(a) !== 0n).map(a => a.id)
  return {
    ok: broken.length === 0,
    accounts: accounts.length,
    credits: total(a => a.paidIn),
    charges: total(a => a.charged),
    balances: total(a => a.credit - (a.promised - a.leased)),
    leased: total(a => a.leased),
    imbalance: total(imbalanceOf),
    broken,
  }
}
