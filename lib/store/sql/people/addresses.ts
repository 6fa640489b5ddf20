/**
 * Addresses of people, which are forgotten after a time. The log of actions loses nothing else, and this is the one
 * statement that touches a line of it. How far it has come stands in the table `meta`, so that no line is looked at twice.
 */
import type { Driver } from '../../driver.ts'
import { integer, marks, padded } from '../text.ts'

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
  const update = `UPDATE key_uses SET ip = '' WHERE at_ms < ? AND key_id IN (${marks(ids.length)})`
  await driver.run('forgetAddresses', update, [beforeMs, ...ids])
  return rows.length
}

export const forgetAddresses = async (driver: Driver, beforeMs: number, limit: number): Promise<number> =>
  (await forgetActions(driver, beforeMs, limit)) + (await forgetUses(driver, beforeMs, limit))
