/** What the keys of an account are called. Deleted keys are among them, because rows of usage refer to them. */
import type { Driver, ReadingDriver, Row } from '../driver.ts'
import type { KeyLabel } from '../request-store.ts'
import { chunks, integer, marks, padded, text } from './text.ts'

const SELECT = 'SELECT id, public_id, name, deleted FROM api_keys WHERE account_id = ?'

const toLabel = (row: Row): KeyLabel => ({
  id: integer(row, 'id'),
  publicId: text(row, 'public_id'),
  name: text(row, 'name'),
  deleted: integer(row, 'deleted') !== 0,
})

export async function keyLabels(
  driver: ReadingDriver,
  accountId: number,
  ids: readonly number[],
): Promise<Map<number, KeyLabel>> {
  const labels = new Map<number, KeyLabel>()
  for (const some of chunks([...new Set(ids)])) {
    const asked = padded(some)
    const rows = await driver.query('keyLabels', `${SELECT} AND id IN (${marks(asked.length)})`, [accountId, ...asked])
    for (const label of rows.map(toLabel)) labels.set(label.id, label)
  }
  return labels
}

export async function keyLabelOf(driver: Driver, accountId: number, publicId: string): Promise<KeyLabel | null> {
  const [row] = await driver.query('keyLabelOf', `${SELECT} AND public_id = ?`, [accountId, publicId])
  return row === undefined ? null : toLabel(row)
}

export async function keyIdsOf(driver: Driver, accountId: number, userId: number): Promise<number[]> {
  const sql = 'SELECT id FROM api_keys WHERE created_by = ? AND account_id = ?'
  return (await driver.query('keyIdsOf', sql, [userId, accountId])).map(row => integer(row, 'id'))
}
