/**
 * Moves the rows of `topups`, where earlier versions kept what was paid in, into `entries`. It is one transaction, which
 * first locks the schema's version: of two processes that migrate at once the second finds the work done, or even the old
 * table gone, and does nothing.
 */
import type { Driver } from '../driver.ts'
import { integer } from './text.ts'

/** The name of the table of top-ups while it is copied. */
export const OLD_TOPUPS = 'topups_old'

const COPY =
  'INSERT INTO entries (account_id, kind, reference, amount, booked_at_ms, actor, note) ' +
  "SELECT account_id, CASE WHEN reference = 'opening' THEN 'opening' ELSE 'topup' END, reference, amount, at_ms, " +
  `'', '' FROM ${OLD_TOPUPS} ORDER BY at_ms, account_id, reference`

/** `version`: of the schema, while the copy is under way. */
export function copyTopUps(driver: Driver, version: number): Promise<void> {
  return driver.transaction('migrate', async tx => {
    await tx.run("UPDATE meta SET value = value WHERE name = 'schema'", [])
    const [schema] = await tx.query("SELECT value FROM meta WHERE name = 'schema'", [])
    if (integer(schema!, 'value') > version) return
    const [first] = await tx.query('SELECT seq FROM entries LIMIT 1', [])
    if (first === undefined) await tx.run(COPY, [])
  })
}
