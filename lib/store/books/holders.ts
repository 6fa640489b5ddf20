/**
 * Holders: the processes that may have leases, the counters by which they show that they live, and their reports of
 * what their open requests hold. Also here: the shared state of the accounts' rate limits.
 */
import type { Table } from '../base/tables.ts'
import { BEAT, type Books } from './books.ts'
import type { Micro } from '../../base/money.ts'
import type { PurseId } from './purses.ts'
import type { Driver, Transaction } from '../base/driver.ts'
import { recordChange } from '../base/changes.ts'
import { caseOf, chunks, integer, binds, money, padded, text } from '../base/text.ts'

export const HOLDERS: Table = { name: 'holders', columns: { id: 'code', host: 'name', beat: 'int' }, key: ['id'] }

/** A process that may have leases. It raises the counter `beat` while it lives; -1 means that its burial has begun. */
interface Holder {
  id: string
  host: string
  beat: number
}

/** The value of a holder's counter while the holder is being buried. */
const BURIED = -1

const MARK = `UPDATE holders SET beat = ${BURIED} WHERE id = ?`
const NEXT = 'SELECT purse_id FROM leases WHERE holder = ? LIMIT ?'
const NEXT_ZERO = 'SELECT purse_id FROM leases WHERE holder = ? AND amount = 0 AND held = 0 LIMIT ?'

async function mark(driver: Driver, holder: string, beat: number | null): Promise<boolean> {
  if (beat === null) {
    await driver.run('bury', MARK, [holder])
    return true
  }
  const { changes } = await driver.run('bury', `${MARK} AND beat IN (?, ${BURIED})`, [holder, beat])
  return changes === 1
}

/** Gives up to `slice` leases back and returns how many; it reads their amounts only after it has locked the rows. */
async function returnSlice(tx: Transaction, holder: string, slice: number): Promise<number> {
  const next = await tx.query(NEXT, [holder, slice])
  if (next.length === 0) return 0
  const ids = padded(next.map(row => text(row, 'purse_id') as PurseId).sort())
  const among = `(${binds(ids.length)})`
  const where = `WHERE holder = ? AND purse_id IN ${among}`
  await tx.run(`UPDATE purses SET promised = promised WHERE id IN ${among}`, ids)
  await tx.run(`UPDATE leases SET amount = amount ${where}`, [holder, ...ids])
  const amounts = (await tx.query(`SELECT purse_id, amount FROM leases ${where}`, [holder, ...ids]))
    .map((row): [PurseId, number] => [text(row, 'purse_id') as PurseId, integer(row, 'amount')])
    .filter(([, amount]) => amount !== 0)
  if (amounts.length > 0) {
    const pairs = padded(amounts)
    const sql =
      `UPDATE purses SET promised = promised - ${caseOf('id', pairs.length)} ` + `WHERE id IN (${binds(pairs.length)})`
    await tx.run(sql, [...pairs.flat(), ...pairs.map(([id]) => id)])
  }
  await tx.run(`DELETE FROM leases ${where}`, [holder, ...ids])
  return next.length
}

export class Holders {
  readonly #driver: Driver
  readonly #books: Books
  readonly #register: string
  /** How many leases one transaction of a burial gives back. */
  readonly #slice: number

  constructor(driver: Driver, books: Books, slice: number) {
    this.#driver = driver
    this.#books = books
    this.#slice = slice
    const overwrite = driver.dialect.overwrite(['id'], ['host', 'beat'])
    this.#register = `INSERT INTO holders (id, host, beat) VALUES (?, ?, ?) ${overwrite}`
  }

  /** Processes that are there already hear of the new one as of a change. */
  register({ id, host, beat }: Holder): Promise<void> {
    return this.#driver.transaction('register', async tx => {
      await tx.run(this.#register, [id, host, beat])
      await recordChange(tx, 'holder', id)
    })
  }

  /** Raises this process's counter. False when another process buried it: it has no leases and must register anew. */
  async beat(id: string): Promise<boolean> {
    const { changes } = await this.#driver.run('beat', BEAT, [id])
    await this.#books.resolveDoubts()
    return changes === 1
  }

  async list(): Promise<Holder[]> {
    const rows = await this.#driver.query('holders', 'SELECT id, host, beat FROM holders ORDER BY id', [])
    return rows.map(row => ({ id: text(row, 'id'), host: text(row, 'host'), beat: integer(row, 'beat') }))
  }

  /** Reports what the open requests of a process hold of each purse, for other processes and for the admin API. */
  async reportHeld(holder: string, held: ReadonlyMap<PurseId, Micro>): Promise<void> {
    const pairs = [...held].sort(([a], [b]) => (a < b ? -1 : 1))
    await this.#driver.transaction('reportHeld', async tx => {
      const [first = [], ...more] = [...chunks(pairs)]
      // `held <> 0` skips the many leases that hold nothing and held nothing. The later chunks touch only their own
      // rows.
      await writeHeld(tx, holder, first, 'held <> 0')
      for (const some of more) await writeHeld(tx, holder, some, '0 = 1')
    })
  }

  /** The sum, for each purse (null: all), of what processes other than `exceptHolders` have reported as held. */
  async heldByOthers(purses: PurseId[] | null, exceptHolders: readonly string[]): Promise<Map<PurseId, Micro>> {
    const result = new Map<PurseId, Micro>()
    const except = exceptHolders.length === 0 ? '' : `AND holder NOT IN (${binds(exceptHolders.length)}) `
    for (const some of purses === null ? [null] : chunks(purses)) {
      const asked = some === null ? [] : padded(some)
      const among = some === null ? '' : `AND purse_id IN (${binds(asked.length)}) `
      const sql = `SELECT purse_id, SUM(held) AS held FROM leases WHERE held > 0 ${except}${among}GROUP BY purse_id`
      for (const row of await this.#driver.query('heldByOthers', sql, [...exceptHolders, ...asked])) {
        result.set(text(row, 'purse_id') as PurseId, money(row, 'held'))
      }
    }
    return result
  }

  /**
   * One step of the burial of a process: some of its leases go back to their purses. The caller repeats the call until
   * it returns true. From the first step on the process can neither raise its counter nor get new leases; settlements
   * of it that come later are charged to the purses. With `beat`, nothing happens unless the counter still has that
   * value: a process that has raised it is alive, and the call returns true.
   */
  async bury(holder: string, beat: number | null = null): Promise<boolean> {
    const slice = this.#slice
    if (!(await mark(this.#driver, holder, beat))) return true
    const leases = await this.#driver.transaction('bury', tx => returnSlice(tx, holder, slice))
    if (leases === slice) return false
    await this.#driver.run('bury', 'DELETE FROM holders WHERE id = ?', [holder])
    return true
  }

  /** Deletes some empty leases of this process and returns how many; the caller repeats the call until it returns 0. */
  async forgetLeases(holder: string): Promise<number> {
    const rows = await this.#driver.query('forgetLeases', NEXT_ZERO, [holder, this.#slice])
    if (rows.length === 0) return 0
    const ids = padded(rows.map(row => text(row, 'purse_id')))
    const sql = `DELETE FROM leases WHERE holder = ? AND purse_id IN (${binds(ids.length)}) AND amount = 0 AND held = 0`
    await this.#driver.run('forgetLeases', sql, [holder, ...ids])
    return rows.length
  }
}

/** Sets `held` of these purses' leases, and sets it to 0 on all other leases of the holder that match `others`. */
async function writeHeld(tx: Transaction, holder: string, pairs: [PurseId, Micro][], others: string): Promise<void> {
  if (pairs.length === 0) {
    await tx.run(`UPDATE leases SET held = 0 WHERE holder = ? AND ${others}`, [holder])
    return
  }
  const set = padded(pairs)
  const sql =
    `UPDATE leases SET held = ${caseOf('purse_id', set.length)} ` +
    `WHERE holder = ? AND (purse_id IN (${binds(set.length)}) OR ${others})`
  await tx.run(sql, [...set.flat(), holder, ...set.map(([purse]) => purse)])
}
