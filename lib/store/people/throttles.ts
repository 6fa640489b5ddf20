/** Counters of tries that failed, which all gateways share; the deletion of rows that nobody needs any more; and addresses, which are forgotten after a time. */
import { DAY_MS } from '../../base/clock.ts'
import type { Driver, Row } from '../base/driver.ts'
import type { Counter } from './records.ts'
import { integer, binds, padded, text } from '../base/text.ts'

const NONE: Counter = { failures: 0, lastMs: 0, untilMs: 0 }

const toCounter = (row: Row): Counter => ({
  failures: integer(row, 'failures'),
  lastMs: integer(row, 'last_ms'),
  untilMs: integer(row, 'until_ms'),
})

/** No session outlives this, see the operations on sessions. */
const SESSION_MS = 30 * DAY_MS
const DEVICE_MS = 400 * DAY_MS

const MARK = 'addresses_forgotten'

/** Lines are written in the order of their time, or nearly so: one that is out of order waits for those before it. */
const forgetActions = (driver: Driver, beforeMs: number, limit: number): Promise<number> =>
  driver.transaction('forgetAddresses', async tx => {
    await tx.run(`INSERT ${driver.dialect.ignore} INTO meta (name, value) VALUES (?, 0)`, [MARK])
    await tx.run('UPDATE meta SET value = value WHERE name = ?', [MARK])
    const [mark] = await tx.query('SELECT value FROM meta WHERE name = ?', [MARK])
    const from = integer(mark!, 'value')
    const rows = await tx.query('SELECT seq, at_ms FROM actions WHERE seq > ? ORDER BY seq LIMIT ?', [from, limit])
    const young = rows.findIndex(row => integer(row, 'at_ms') >= beforeMs)
    const old = young < 0 ? rows : rows.slice(0, young)
    if (old.length === 0) return 0
    const to = integer(old.at(-1)!, 'seq')
    await tx.run('UPDATE actions SET ip = NULL WHERE seq > ? AND seq <= ?', [from, to])
    await tx.run('UPDATE meta SET value = ? WHERE name = ?', [to, MARK])
    return old.length
  })

async function forgetUses(driver: Driver, beforeMs: number, limit: number): Promise<number> {
  const select = "SELECT key_id FROM key_uses WHERE at_ms < ? AND ip <> '' LIMIT ?"
  const rows = await driver.query('forgetAddresses', select, [beforeMs, limit])
  if (rows.length === 0) return 0
  const ids = padded(rows.map(row => integer(row, 'key_id')))
  const update = `UPDATE key_uses SET ip = '' WHERE at_ms < ? AND key_id IN (${binds(ids.length)})`
  await driver.run('forgetAddresses', update, [beforeMs, ...ids])
  return rows.length
}

/** Tries that failed. */
export class Throttles {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** Changes some counters in one transaction. `change` gets them in the order of `ids`; null = nothing is written. */
  count<T>(
    ids: readonly string[],
    change: (counters: Counter[]) => { result: T; counters: Counter[] | null },
  ): Promise<T> {
    return this.#driver.transaction('throttle', async tx => {
      // In one statement: two that have both found the row, and then both want to write it, would wait for each other.
      const locked = this.#driver.dialect.raise(['id'], ['failures'])
      const insert = `INSERT INTO throttles (id, failures, last_ms, until_ms) VALUES (?, 0, 0, 0) ${locked}`
      for (const id of [...ids].sort()) await tx.run(insert, [id])
      const rows = await tx.query(
        `SELECT id, failures, last_ms, until_ms FROM throttles WHERE id IN (${binds(ids.length)})`,
        [...ids],
      )
      const found = new Map(rows.map(row => [text(row, 'id'), toCounter(row)]))
      const { result, counters } = change(ids.map(id => found.get(id) ?? NONE))
      const update = 'UPDATE throttles SET failures = ?, last_ms = ?, until_ms = ? WHERE id = ?'
      for (const [i, id] of ids.entries()) {
        const counter = counters?.[i]
        if (counter !== undefined) await tx.run(update, [counter.failures, counter.lastMs, counter.untilMs, id])
      }
      return result
    })
  }

  /** Deletes some rows that nobody needs any more, and returns how many: the caller repeats the call until it is 0. */
  async prune(atMs: number, limit: number): Promise<number> {
    const old: [table: string, key: string, column: string, beforeMs: number][] = [
      ['sessions', 'id', 'created_at_ms', atMs - SESSION_MS],
      ['people_links', 'id', 'expires_at_ms', atMs - DAY_MS],
      ['devices', 'hash', 'seen_at_ms', atMs - DEVICE_MS],
      ['throttles', 'id', 'last_ms', atMs - DAY_MS],
      ['personal_tokens', 'id', 'expires_at_ms', atMs - SESSION_MS],
    ]
    let deleted = 0
    for (const [table, key, column, beforeMs] of old) {
      const select = `SELECT ${key} AS id FROM ${table} WHERE ${column} < ? ORDER BY ${column} LIMIT ?`
      const rows = await this.#driver.query('prune', select, [beforeMs, limit])
      for (const { id } of rows) {
        const remove = `DELETE FROM ${table} WHERE ${key} = ? AND ${column} < ?`
        deleted += (await this.#driver.run('prune', remove, [id as string | number, beforeMs])).changes
      }
    }
    return deleted
  }

  /**
   * Forgets from which addresses things were done and keys were used before `beforeMs`, in about `limit` rows, and
   * returns how many: the caller repeats the call until it is 0.
   */
  async forgetAddresses(beforeMs: number, limit: number): Promise<number> {
    return (await forgetActions(this.#driver, beforeMs, limit)) + (await forgetUses(this.#driver, beforeMs, limit))
  }
}
