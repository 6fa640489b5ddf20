/** How a person is read from a row of the store, and named in the log of actions. */
import type { Language, Person, Theme } from '../../../base/people.ts'
import type { Row, Statements } from '../../driver.ts'
import { StoreConflict } from '../../types.ts'
import { integer, json, text, textOrNull } from '../text.ts'

const PLAIN = [
  'id',
  'public_id',
  'email',
  'name',
  'status',
  'operator',
  'language',
  'theme',
  'notices',
  'created_at_ms',
]

/** The columns of a person, named so that they can stand in a row beside those of another table. */
export const PERSON_COLUMNS =
  `${PLAIN.map(column => `u.${column} AS user_${column}`).join(', ')}, ` +
  'CASE WHEN u.password IS NULL THEN 0 ELSE 1 END AS user_has_password, ' +
  'CASE WHEN u.totp IS NULL THEN 0 ELSE 1 END AS user_has_totp'

export const toPerson = (row: Row): Person => ({
  id: integer(row, 'user_id'),
  publicId: text(row, 'user_public_id'),
  email: text(row, 'user_email'),
  name: text(row, 'user_name'),
  status: text(row, 'user_status') as Person['status'],
  operator: integer(row, 'user_operator') === 1,
  createdAtMs: integer(row, 'user_created_at_ms'),
  language: textOrNull(row, 'user_language') as Language | null,
  theme: textOrNull(row, 'user_theme') as Theme | null,
  hasPassword: integer(row, 'user_has_password') === 1,
  secondFactor: integer(row, 'user_has_totp') === 1,
  notices: json(row, 'user_notices'),
})

export const selectPerson = (where: string): string => `SELECT ${PERSON_COLUMNS} FROM users u ${where}`

export async function personById(tx: Pick<Statements, 'query'>, id: number): Promise<Person> {
  const [row] = await tx.query(selectPerson('WHERE u.id = ?'), [id])
  if (row === undefined) throw new StoreConflict({ zh: '没有此用户', en: 'there is no such user' })
  return toPerson(row)
}

/** Makes sure that nobody else changes the user until the transaction has ended. */
export async function lockUser(tx: Statements, id: number): Promise<Person> {
  await tx.run('UPDATE users SET name = name WHERE id = ?', [id])
  return personById(tx, id)
}

/** The log knows users by their outward ids. */
export const subject = (person: Person) => ({
  subject: { kind: 'user' as const, id: person.publicId },
  accountId: null,
})
