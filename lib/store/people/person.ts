/**
 * What transactions about people share: a person is read from a row, locked, given a notice, and named in the log of actions; and what
 * becomes of the keys that somebody made who leaves.
 */
import type { Act, Language, UserNotice, Person, Theme } from '../../base/people.ts'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import { StoreConflict } from '../base/errors.ts'
import { integer, json, text, textOrNull } from '../base/text.ts'
import { recordActions } from '../base/actions.ts'
import { recordChanges } from '../base/changes.ts'
import { oldHashes } from '../accounts/key-rows.ts'
import { hashOf } from '../../base/secrets.ts'

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
  'CASE WHEN u.totp IS NULL THEN 0 ELSE 1 END AS user_has_totp, ' +
  '(SELECT COUNT(*) FROM passkeys pk WHERE pk.user_id = u.id) AS user_passkeys'

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
  secondFactor: integer(row, 'user_has_totp') === 1 || integer(row, 'user_passkeys') > 0,
  authenticator: integer(row, 'user_has_totp') === 1,
  passkeys: integer(row, 'user_passkeys'),
  notices: json(row, 'user_notices'),
})

export const selectPerson = (where: string): string => `SELECT ${PERSON_COLUMNS} FROM users u ${where}`

export async function personById(tx: Pick<Transaction, 'query'>, id: number): Promise<Person> {
  const [row] = await tx.query(selectPerson('WHERE u.id = ?'), [id])
  if (row === undefined) throw new StoreConflict({ zh: '没有此用户', en: 'there is no such user' })
  return toPerson(row)
}

/** Makes sure that nobody else changes the user until the transaction has ended. */
export async function lockUser(tx: Transaction, id: number): Promise<Person> {
  await tx.run('UPDATE users SET name = name WHERE id = ?', [id])
  return personById(tx, id)
}

const PROOFS =
  'SELECT u.password, u.email, u.totp, u.status, u.operator, ' +
  '(SELECT COUNT(*) FROM passkeys p WHERE p.user_id = u.id) AS passkeys, ' +
  '(SELECT COALESCE(MAX(p.id), 0) FROM passkeys p WHERE p.user_id = u.id) AS newest FROM users u WHERE u.id = ?'

/** `CredentialRows.mark`, also within a transaction. */
export async function markOf(tx: Pick<Transaction, 'query'>, userId: number): Promise<string> {
  const [row] = await tx.query(PROOFS, [userId])
  if (row === undefined) return ''
  const rest = ['email', 'totp', 'status', 'operator', 'passkeys', 'newest'].map(column => row[column] ?? '').join(' ')
  return markWith(textOrNull(row, 'password'), hashOf(rest))
}

export const markWith = (password: string | null, rest: string): string => `${hashOf(password ?? '')} ${rest}`

/** Throws StoreConflict where a user without a password has no other way in any more. The user's row is locked. */
export async function checkWayIn(tx: Pick<Transaction, 'query'>, userId: number): Promise<void> {
  const other = (table: string) => `NOT EXISTS (SELECT 1 FROM ${table} o WHERE o.user_id = u.id)`
  const none = `SELECT 1 AS found FROM users u WHERE u.id = ? AND u.password IS NULL AND ${other('passkeys')} AND ${other('identities')}`
  if ((await tx.query(none, [userId])).length > 0)
    throw new StoreConflict({ zh: '请先设置密码', en: 'choose a password first: this is your only way in' })
}

/** The log knows users by their outward ids. */
export const subject = (person: Person) => ({
  subject: { kind: 'user' as const, id: person.publicId },
  accountId: null,
})

const MOST_NOTICES = 20

export async function addNotice(tx: Transaction, person: Person, notice: UserNotice): Promise<void> {
  const notices = [...person.notices, notice].slice(-MOST_NOTICES)
  await tx.run('UPDATE users SET notices = ? WHERE id = ?', [JSON.stringify(notices), person.id])
}

const OWN = 'created_by = ? AND deleted = 0'
/** The most keys whose change is told of each. Of more, the accounts are told: the list of changes holds some thousands, and is everybody's. */
const MOST_TOLD = 500

/**
 * Hands the keys that a user made to another user (`to`), or disables them (null). `accountId`: the account that the user leaves; null = all.
 * Call it last in the transaction, for the reason that `recordChange` has.
 */
export async function leaveKeys(
  tx: Transaction,
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
  const lines = rows.map(row => {
    const subject = { kind: 'key' as const, id: text(row, 'public_id') }
    return { subject, accountId: integer(row, 'account_id'), before, after }
  })
  await recordActions(tx, driver, act, lines)
  if (rows.length > MOST_TOLD) {
    const accounts = new Set(rows.map(row => text(row, 'account_id')))
    return recordChanges(tx, 'account', [...accounts])
  }
  const hashes = rows.map(row => text(row, 'hash'))
  const old = rows.length === 0 ? [] : await oldHashes(tx, ...rows.map(row => integer(row, 'id')))
  await recordChanges(tx, 'key', [...new Set([...hashes, ...old])])
}
