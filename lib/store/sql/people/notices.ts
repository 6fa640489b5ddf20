/** What a user is told at the next sign-in. */
import type { Notice, Person } from '../../../base/people.ts'
import type { Driver, Statements } from '../../driver.ts'

const MOST_NOTICES = 20

export async function addNotice(tx: Statements, person: Person, notice: Notice): Promise<void> {
  const notices = [...person.notices, notice].slice(-MOST_NOTICES)
  await tx.run('UPDATE users SET notices = ? WHERE id = ?', [JSON.stringify(notices), person.id])
}

export const clearNotices = async (driver: Driver, id: number): Promise<void> => {
  await driver.run('updateUser', "UPDATE users SET notices = '[]' WHERE id = ?", [id])
}
