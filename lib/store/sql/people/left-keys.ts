/** The keys of somebody who is no member of the account any more: disabled, or handed to somebody who is. */
import type { Act } from '../../../terms/people.ts'
import type { Driver, Statements } from '../../driver.ts'
import { recordAction } from '../actions.ts'
import { recordChange } from '../changes.ts'
import { text } from '../text.ts'

const OWN = 'account_id = ? AND created_by = ? AND deleted = 0'

/** Comes last in its transaction. `to` null = they are disabled. */
export async function leaveKeys(
  tx: Statements,
  driver: Driver,
  { userId, accountId }: { userId: number; accountId: number },
  to: number | null,
  act: Act,
): Promise<void> {
  const own = [accountId, userId]
  const enabled = to === null ? " AND status = 'enabled'" : ''
  const rows = await tx.query(`SELECT public_id, hash FROM api_keys WHERE ${OWN}${enabled} ORDER BY id`, own)
  if (to === null) await tx.run(`UPDATE api_keys SET status = 'disabled' WHERE ${OWN}`, own)
  else await tx.run(`UPDATE api_keys SET created_by = ? WHERE ${OWN}`, [to, ...own])
  const [before, after] =
    to === null ? [{ status: 'enabled' }, { status: 'disabled' }] : [{ created_by: userId }, { created_by: to }]
  for (const row of rows) {
    const subject = { kind: 'key' as const, id: text(row, 'public_id') }
    await recordAction(tx, driver, act, { subject, accountId, before, after })
  }
  for (const row of rows) await recordChange(tx, 'key', text(row, 'hash'))
}
