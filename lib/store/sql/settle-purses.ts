/**
 * What a batch of settlements takes from purses and leases. Rows are touched in the order of their keys, many in one statement: the
 * amount of each stands in a CASE.
 */
import { invariant } from '../../base/assert.ts'
import type { Statements } from '../driver.ts'
import { accountPurse, keyPurse, type PurseId, type Settlement } from '../types.ts'
import { caseOf, chunks, integer, marks, padded, text } from './text.ts'

/** The engine looks for each row's amount from the first pair of a CASE on, so that many pairs in one statement take long. */
const CASE_PAIRS = 128

/** What a batch takes from purses and leases in total. */
interface Sums {
  /** Charges that no lease pays, by purse. */
  unleased: Map<PurseId, number>
  /** Charges that leases pay, by holder and purse. */
  leased: Map<string, Map<PurseId, number>>
}

const addTo = (map: Map<PurseId, number>, purse: PurseId, amount: number) => {
  if (amount !== 0) map.set(purse, (map.get(purse) ?? 0) + amount)
}

export function sum(batch: readonly Settlement[]): Sums {
  const sums: Sums = { unleased: new Map(), leased: new Map() }
  for (const { row, holder, fromAccountLease, fromKeyLease, limits } of batch) {
    const { charge } = row
    invariant(
      fromAccountLease >= 0 && fromAccountLease <= charge && fromKeyLease >= 0 && fromKeyLease <= charge,
      `settlement ${row.requestId}: leases pay ${fromAccountLease} and ${fromKeyLease} of ${charge}`,
    )
    let leased = sums.leased.get(holder)
    if (leased === undefined) sums.leased.set(holder, (leased = new Map()))
    const account = accountPurse(row.accountId)
    const key = keyPurse(row.keyId)
    addTo(leased, account, fromAccountLease)
    addTo(leased, key, fromKeyLease)
    addTo(sums.unleased, account, charge - fromAccountLease)
    addTo(sums.unleased, key, charge - fromKeyLease)
    for (const { purse, fromLease } of limits) {
      invariant(
        fromLease >= 0 && fromLease <= charge,
        `settlement ${row.requestId}: a lease of ${purse} pays ${fromLease}`,
      )
      addTo(leased, purse, fromLease)
      addTo(sums.unleased, purse, charge - fromLease)
    }
  }
  return sums
}

const inOrder = <V>(map: Map<PurseId, V>): [PurseId, V][] => [...map].sort(([a], [b]) => (a < b ? -1 : 1))

export async function raisePurses(tx: Statements, amounts: Map<PurseId, number>): Promise<void> {
  for (const some of chunks(inOrder(amounts), CASE_PAIRS)) {
    const pairs = padded(some)
    const sql = `UPDATE purses SET promised = promised + ${caseOf('id', pairs.length)} WHERE id IN (${marks(pairs.length)})`
    await tx.run(sql, [...pairs.flat(), ...pairs.map(([id]) => id)])
  }
}

/** Lowers the leases that have at least the given amount; false when one of them has less. */
export async function lowerLeases(tx: Statements, holder: string, amounts: Map<PurseId, number>): Promise<boolean> {
  let all = true
  for (const some of chunks(inOrder(amounts), CASE_PAIRS)) {
    const pairs = padded(some)
    const amount = caseOf('purse_id', pairs.length)
    const sql =
      `UPDATE leases SET amount = amount - ${amount} ` +
      `WHERE holder = ? AND purse_id IN (${marks(pairs.length)}) AND amount >= ${amount}`
    const flat = pairs.flat()
    const { changes } = await tx.run(sql, [...flat, holder, ...pairs.map(([id]) => id), ...flat])
    all &&= changes === some.length
  }
  return all
}

export async function lockPurses(tx: Statements, ids: PurseId[]): Promise<void> {
  for (const some of chunks(ids.sort())) {
    const asked = padded(some)
    await tx.run(`UPDATE purses SET promised = promised WHERE id IN (${marks(asked.length)})`, asked)
  }
}

/** Locks the leases and returns how much of `asked` each can pay. The rest is added to `unleased`. */
export async function payable(
  tx: Statements,
  holder: string,
  asked: Map<PurseId, number>,
  unleased: Map<PurseId, number>,
) {
  const pays = new Map<PurseId, number>()
  for (const some of chunks([...asked.keys()].sort())) {
    const ids = padded(some)
    const where = `WHERE holder = ? AND purse_id IN (${marks(ids.length)})`
    await tx.run(`UPDATE leases SET amount = amount ${where}`, [holder, ...ids])
    for (const row of await tx.query(`SELECT purse_id, amount FROM leases ${where}`, [holder, ...ids])) {
      const purse = text(row, 'purse_id') as PurseId
      addTo(pays, purse, Math.min(asked.get(purse)!, Math.max(0, integer(row, 'amount'))))
    }
  }
  for (const [purse, amount] of asked) addTo(unleased, purse, amount - (pays.get(purse) ?? 0))
  return pays
}
