/**
 * Buries a dead process: gives its leases back to their purses. This file also deletes the empty leases of live processes.
 *
 * A process may have a lease of every purse there is, so a burial is many small transactions, and other transactions
 * run in between. The first one sets the holder's counter to -1: from then on the process can neither raise the counter
 * nor get new leases. The holder's row is deleted last, so that another process which finds a row with -1 can go on
 * with a burial that broke off.
 */
import type { Driver, Statements } from '../driver.ts'
import type { PurseId } from '../types.ts'
import { caseOf, integer, marks, padded, text } from './text.ts'

/** How many leases one transaction gives back or deletes. */
export const SLICE = 256
/** The value of a holder's counter while the holder is being buried. */
const BURIED = -1

/** Raises a holder's counter, unless the holder is being buried. */
export const BEAT = 'UPDATE holders SET beat = beat + 1 WHERE id = ? AND beat >= 0'
const MARK = `UPDATE holders SET beat = ${BURIED} WHERE id = ?`
const NEXT = 'SELECT purse_id FROM leases WHERE holder = ? LIMIT ?'
const NEXT_ZERO = 'SELECT purse_id FROM leases WHERE holder = ? AND amount = 0 AND held = 0 LIMIT ?'

/** Takes one step of a burial; see `Store.bury`. True when the burial is complete, or the holder's counter is no longer `beat`. */
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

/** Gives up to `slice` leases back and returns how many; it reads their amounts only after it has locked the rows. */
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
 * Deletes lease rows with neither money nor holds, so that purses which are no longer used do not keep rows for ever; a
 * purse that is used again gets a new row. Deleting is safe even while a commit is uncertain (`doubts.ts`): a grant
 * that did happen keeps the row's amount above zero, and a give-back that did happen needs no second one.
 */
export async function forgetLeases(driver: Driver, holder: string, slice: number): Promise<number> {
  const rows = await driver.query('forgetLeases', NEXT_ZERO, [holder, slice])
  if (rows.length === 0) return 0
  const ids = padded(rows.map(row => text(row, 'purse_id')))
  const sql = `DELETE FROM leases WHERE holder = ? AND purse_id IN (${marks(ids.length)}) AND amount = 0 AND held = 0`
  await driver.run('forgetLeases', sql, [holder, ...ids])
  return rows.length
}
