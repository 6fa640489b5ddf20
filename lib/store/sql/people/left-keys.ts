/** The keys of somebody who may have none in the account any more: disabled, or handed to somebody who may. */
import type { Act } from '../../../base/people.ts'
import type { Driver, Statements } from '../../driver.ts'
import { recordAction } from '../actions.ts'
import { recordKeyChange } from '../key-secrets.ts'
import { integer, text } from '../text.ts'

const OWN = 'created_by = ? AND deleted = 0'

/** Comes last in its transaction. `accountId` null = in all accounts. `to` null = they are disabled. */
export async function leaveKeys(
  tx: Statements,
  driver: Driver,
  { userId, accountId }: { userId: number; accountId: number | null },
  to: number | null,
  act: Act,
): Promise<void> {
  const where = accountId === null ? OWN : `${OWN} AND account_id = ?`
  const own = accountId === null ? [userId] : [userId, accountId]
  const enabled = to === null ? " AND status = 'enabled'" : ''
  const select = `SELECT id, public_id, account_id, hash FROM api_keys WHERE ${where}${enabled} ORDER BY id`
  const rows = await tx.query(select, own)
  if (to === null) await tx.run(`UPDATE api_keys SET status = 'disabled' WHERE ${where}`, own)
  else await tx.run(`UPDATE api_keys SET created_by = ? WHERE ${where}`, [to, ...own])
  const [before, after] =
    to === null ? [{ status: 'enabled' }, { status: 'disabled' }] : [{ created_by: userId }, { created_by: to }]
  for (const row of rows) {
    const subject = { kind: 'key' as const, id: text(row, 'public_id') }
    await recordAction(tx, driver, act, { subject, accountId: integer(row, 'account_id'), before, after })
  }
  for (const row of rows) await recordKeyChange(tx, integer(row, 'id'), [text(row, 'hash')])
}
