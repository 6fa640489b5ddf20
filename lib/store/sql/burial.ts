/**
 * The end of leases: a dead process's go back to their purses, and those that have nothing left are forgotten.
 *
 * A process may hold a lease of every purse there is, so its burial is many small transactions, between which others get
 * their turn. The first one marks the holder: from then on its counter cannot be raised and no new lease of it begins.
 * The holder's row goes last, so that a burial which breaks off is taken up by whoever sees it next.
 */
import type { Driver, Statements } from '../driver.ts'
import type { PurseId } from '../store.ts'
import { caseOf, integer, marks, padded, text } from './text.ts'

/** Leases in one transaction. */
export const SLICE = 256
/** The counter of a holder that is being buried. */
const BURIED = -1

export const BEAT = 'UPDATE holders SET beat = beat + 1 WHERE id = ? AND beat >= 0'
const MARK = `UPDATE holders SET beat = ${BURIED} WHERE id = ?`
const NEXT = 'SELECT purse_id FROM leases WHERE holder = ? LIMIT ?'
const NEXT_ZERO = 'SELECT purse_id FROM leases WHERE holder = ? AND amount = 0 AND held = 0 LIMIT ?'

/** One step of a burial. True: it is done, or the holder lives because its counter is not `beat` any more. */
export async function bury(driver: Driver, holder: string, beat: number | null, slice: number): Promise<boolean> {
  if (!(await mark(driver, holder, beat))) return true
  const leases = await driver.transaction('bury', tx => returnSlice(tx, holder, slice))
  if (leases === slice) return false
  await driver.run('bury', 'DELETE FROM holders WHERE id = ?', [holder])
  return true
}

async function mark(driver: Driver, holder: string, beat: number | null): Promise<boolean> {
  if (beat === null) {
    await driver.run('bury', MARK, [holder])
    return true
  }
  const { changes } = await driver.run('bury', `${MARK} AND beat IN (?, ${BURIED})`, [holder, beat])
  return changes === 1
}

/** Purses are locked before leases, all in the order of their ids, and the leases read under both locks. */
async function returnSlice(tx: Statements, holder: string, slice: number): Promise<number> {
  const next = await tx.query(NEXT, [holder, slice])
  if (next.length === 0) return 0
  const ids = padded(next.map(row => text(row, 'purse_id') as PurseId).sort())
  const among = `(${marks(ids.length)})`
  const where = `WHERE holder = ? AND purse_id IN ${among}`
  await tx.run(`UPDATE purses SET promised = promised WHERE id IN ${among}`, ids)
  await tx.run(`UPDATE leases SET amount = amount ${where}`, [holder, ...ids])
  const amounts = (await tx.query(`SELECT purse_id, amount FROM leases ${where}`, [holder, ...ids]))
    .map((row): [PurseId, number] => [text(row, 'purse_id') as PurseId, integer(row, 'amount')])
    .filter(([, amount]) => amount !== 0)
  if (amounts.length > 0) {
    const pairs = padded(amounts)
    const sql =
      `UPDATE purses SET promised = promised - ${caseOf('id', pairs.length)} ` + `WHERE id IN (${marks(pairs.length)})`
    await tx.run(sql, [...pairs.flat(), ...pairs.map(([id]) => id)])
  }
  await tx.run(`DELETE FROM leases ${where}`, [holder, ...ids])
  return next.length
}

/**
 * Leases of which nothing is left. A purse that is used again gets another. What a lost answer left in doubt needs none of
 * them: a grant in doubt has its money in the row, and a gift back that happened leaves nothing to give.
 */
export async function forgetLeases(driver: Driver, holder: string, slice: number): Promise<number> {
  const rows = await driver.query('forgetLeases', NEXT_ZERO, [holder, slice])
  if (rows.length === 0) return 0
  const ids = padded(rows.map(row => text(row, 'purse_id')))
  const sql = `DELETE FROM leases WHERE holder = ? AND purse_id IN (${marks(ids.length)}) AND amount = 0 AND held = 0`
  await driver.run('forgetLeases', sql, [holder, ...ids])
  return rows.length
}
