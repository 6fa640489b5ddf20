/** The end of a user, whose keys are disabled as those of everybody who leaves. The log of actions keeps its lines; they name the user by an id that leads nowhere any more. */
import type { Act } from '../../../base/people.ts'
import type { Driver } from '../../driver.ts'
import { recordAction } from '../actions.ts'
import { leaveKeys } from './left-keys.ts'
import { leaveAll } from './members.ts'
import { lockUser, subject } from './person.ts'

const OWNED = ['sessions', 'devices', 'personal_tokens', 'recovery_codes', 'identities', 'people_links']

export const deleteUser = (driver: Driver, id: number, act: Act): Promise<void> =>
  driver.transaction('deleteUser', async tx => {
    await leaveAll(tx, id)
    const person = await lockUser(tx, id)
    for (const table of OWNED) await tx.run(`DELETE FROM ${table} WHERE user_id = ?`, [id])
    await tx.run('DELETE FROM users WHERE id = ?', [id])
    const before = { status: person.status, operator: person.operator }
    await recordAction(tx, driver, act, { ...subject(person), before, after: null })
    await leaveKeys(tx, driver, { userId: id, accountId: null }, null, act)
  })
