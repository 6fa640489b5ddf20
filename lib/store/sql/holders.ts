/**
 * Holders: the processes that may have leases, the counters by which they show that they live, and their reports of
 * what their open requests hold. Also here: the shared state of the accounts' rate limits.
 */
import type { Micro } from '../../base/money.ts'
import { type Driver, DuplicateKey, type Statements } from '../driver.ts'
import type { Holder, PurseId } from '../types.ts'
import { BEAT, bury, forgetLeases } from './burial.ts'
import { caseOf, chunks, integer, marks, money, padded, text } from './text.ts'

export class Holders {
  readonly #driver: Driver
  readonly #register: string
  /** How many leases one transaction of a burial gives back. */
  readonly #slice: number

  constructor(driver: Driver, slice: number) {
    this.#driver = driver
    this.#slice = slice
    const overwrite = driver.dialect.overwrite(['id'], ['host', 'beat'])
    this.#register = `INSERT INTO holders (id, host, beat) VALUES (?, ?, ?) ${overwrite}`
  }

  async register({ id, host, beat }: Holder): Promise<void> {
    await this.#driver.run('register', this.#register, [id, host, beat])
  }

  async beat(id: string): Promise<boolean> {
    return (await this.#driver.run('beat', BEAT, [id])).changes === 1
  }

  async list(): Promise<Holder[]> {
    const rows = await this.#driver.query('holders', 'SELECT id, host, beat FROM holders ORDER BY id', [])
    return rows.map(row => ({ id: text(row, 'id'), host: text(row, 'host'), beat: integer(row, 'beat') }))
  }

  bury(id: string, beat: number | null): Promise<boolean> {
    return bury(this.#driver, id, beat, this.#slice)
  }

  forgetLeases(holder: string): Promise<number> {
    return forgetLeases(this.#driver, holder, this.#slice)
  }

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

  async heldByOthers(purses: PurseId[] | null, exceptHolders: readonly string[]): Promise<Map<PurseId, Micro>> {
    const result = new Map<PurseId, Micro>()
    const except = exceptHolders.length === 0 ? '' : `AND holder NOT IN (${marks(exceptHolders.length)}) `
    for (const some of purses === null ? [null] : chunks(purses)) {
      const asked = some === null ? [] : padded(some)
      const among = some === null ? '' : `AND purse_id IN (${marks(asked.length)}) `
      const sql = `SELECT purse_id, SUM(held) AS held FROM leases WHERE held > 0 ${except}${among}GROUP BY purse_id`
      for (const row of await this.#driver.query('heldByOthers', sql, [...exceptHolders, ...asked])) {
        result.set(text(row, 'purse_id') as PurseId, money(row, 'held'))
      }
    }
    return result
  }

  async rateWindow(accountId: number): Promise<{ version: number; state: string } | null> {
    const sql = 'SELECT version, state FROM rate_windows WHERE account_id = ?'
    const [row] = await this.#driver.query('rateWindow', sql, [accountId])
    return row === undefined ? null : { version: integer(row, 'version'), state: text(row, 'state') }
  }

  async swapRateWindow(accountId: number, version: number, state: string): Promise<boolean> {
    const update = 'UPDATE rate_windows SET version = version + 1, state = ? WHERE account_id = ? AND version = ?'
    const insert = 'INSERT INTO rate_windows (account_id, version, state) VALUES (?, 1, ?)'
    try {
      const { changes } =
        version === 0
          ? await this.#driver.run('rateWindow', insert, [accountId, state])
          : await this.#driver.run('rateWindow', update, [state, accountId, version])
      return changes === 1
    } catch (error) {
      if (error instanceof DuplicateKey) return false
      throw error
    }
  }
}

/** Sets `held` of these purses' leases, and sets it to 0 on all other leases of the holder that match `others`. */
async function writeHeld(tx: Statements, holder: string, pairs: [PurseId, Micro][], others: string): Promise<void> {
  if (pairs.length === 0) {
    await tx.run(`UPDATE leases SET held = 0 WHERE holder = ? AND ${others}`, [holder])
    return
  }
  const set = padded(pairs)
  const sql =
    `UPDATE leases SET held = ${caseOf('purse_id', set.length)} ` +
    `WHERE holder = ? AND (purse_id IN (${marks(set.length)}) OR ${others})`
  await tx.run(sql, [...set.flat(), holder, ...set.map(([purse]) => purse)])
}
