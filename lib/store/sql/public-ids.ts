/** Part of a migration: rows that were made before outward ids existed get one each. */
import { publicId } from '../../base/ids.ts'
import type { Driver } from '../driver.ts'
import { integer } from './text.ts'

const SLICE = 1_000

export async function givePublicIds(driver: Driver, table: string): Promise<void> {
  for (;;) {
    const rows = await driver.query('migrate', `SELECT id FROM ${table} WHERE public_id IS NULL ORDER BY id LIMIT ?`, [
      SLICE,
    ])
    if (rows.length === 0) return
    await driver.transaction('migrate', async tx => {
      const give = `UPDATE ${table} SET public_id = ? WHERE id = ? AND public_id IS NULL`
      for (const row of rows) await tx.run(give, [publicId(), integer(row, 'id')])
    })
  }
}
