/** Passwords, second factors and recovery codes. The secret of a factor is sealed, bound to the user that it belongs to. */
import type { Act, Person } from '../../../base/people.ts'
import type { Driver, Param, Statements } from '../../driver.ts'
import type { Credentials, CredentialsChange } from '../../people-records.ts'
import type { Sealer } from '../../secrets.ts'
import { recordAction } from '../actions.ts'
import { integer, text, textOrNull } from '../text.ts'
import { endLinksOf } from './links.ts'
import { addNotice } from './notices.ts'
import { lockUser, subject } from './person.ts'
import { endAllSessions } from './sessions.ts'

const nameOf = (publicId: string): string => `totp:${publicId}`

export async function credentials(driver: Driver, sealer: Sealer, userId: number): Promise<Credentials | null> {
  const sql =
    'SELECT u.public_id, u.password, u.totp, u.totp_next, ' +
    '(SELECT COUNT(*) FROM recovery_codes r WHERE r.user_id = u.id) AS codes FROM users u WHERE u.id = ?'
  const [row] = await driver.query('credentials', sql, [userId])
  if (row === undefined) return null
  const open = (column: string): string | null => {
    const sealed = textOrNull(row, column)
    return sealed === null ? null : (sealer.open(sealed, nameOf(text(row, 'public_id')))?.plain ?? null)
  }
  return {
    password: textOrNull(row, 'password'),
    totp: open('totp'),
    totpNext: open('totp_next'),
    recoveryCodes: integer(row, 'codes'),
  }
}

export const setCredentials = (driver: Driver, userId: number, change: CredentialsChange, act: Act): Promise<void> =>
  driver.transaction('setCredentials', async tx => {
    const person = await lockUser(tx, userId)
    await writeCredentials(tx, driver, person, change, act)
  })

/** Also within transactions that use up a link. The user's row is locked. */
export async function writeCredentials(
  tx: Statements,
  driver: Driver,
  person: Person,
  { password, totp, recoveryCodes, notice, endTokens }: CredentialsChange,
  act: Act,
): Promise<void> {
  const { id } = person
  const set: [string, Param][] = password === undefined ? [] : [['password = ?', password]]
  if (totp === null) set.push(['totp = ?', null], ['totp_next = ?', null], ['totp_step = ?', null])
  else if (totp !== undefined) set.push(['totp_step = ?', totp.confirmedStep])
  const moved = totp === undefined || totp === null ? [] : ['totp = totp_next', 'totp_next = NULL']
  const assignments = [...moved, ...set.map(([sql]) => sql)]
  if (assignments.length > 0)
    await tx.run(`UPDATE users SET ${assignments.join(', ')} WHERE id = ?`, [...set.map(([, value]) => value), id])
  const codes = totp === null ? [] : recoveryCodes
  if (codes !== undefined) {
    await tx.run('DELETE FROM recovery_codes WHERE user_id = ?', [id])
    for (const hash of codes) await tx.run('INSERT INTO recovery_codes (user_id, hash) VALUES (?, ?)', [id, hash])
  }
  if (notice !== undefined) await addNotice(tx, person, notice)
  await endAllSessions(tx, id)
  await endLinksOf(tx, id)
  await tx.run('DELETE FROM devices WHERE user_id = ?', [id]) // whoever knew the secret that was may have made one
  const tokens = endTokens ? (await tx.run('DELETE FROM personal_tokens WHERE user_id = ?', [id])).changes : 0
  await recordAction(tx, driver, act, {
    ...subject(person),
    before: { second_factor: person.secondFactor },
    after: {
      second_factor: totp === undefined ? person.secondFactor : totp !== null,
      ...(password === undefined ? {} : { password: 'changed' }),
      ...(recoveryCodes === undefined ? {} : { recovery_codes: 'changed' }),
      ...(tokens === 0 ? {} : { ended_tokens: tokens }),
    },
  })
}

export async function rehash(driver: Driver, userId: number, from: string, to: string): Promise<void> {
  await driver.run('rehash', 'UPDATE users SET password = ? WHERE id = ? AND password = ?', [to, userId, from])
}

export const startTotp = (driver: Driver, sealer: Sealer, userId: number, secret: string): Promise<void> =>
  driver.transaction('startTotp', async tx => {
    const { publicId } = await lockUser(tx, userId)
    await tx.run('UPDATE users SET totp_next = ? WHERE id = ?', [sealer.seal(secret, nameOf(publicId)), userId])
  })

export async function useStep(driver: Driver, userId: number, step: number): Promise<boolean> {
  const update = 'UPDATE users SET totp_step = ? WHERE id = ? AND (totp_step IS NULL OR totp_step < ?)'
  return (await driver.run('useStep', update, [step, userId, step])).changes > 0
}

export async function useRecoveryCode(driver: Driver, userId: number, hash: string): Promise<boolean> {
  const remove = 'DELETE FROM recovery_codes WHERE user_id = ? AND hash = ?'
  return (await driver.run('useRecoveryCode', remove, [userId, hash])).changes > 0
}

const SLICE = 500

/** Nothing that anybody sees changes, so the log of actions has no line of it. */
export async function reseal(driver: Driver, sealer: Sealer): Promise<void> {
  for (let after = 0; ; ) {
    const sql =
      'SELECT id, public_id, totp, totp_next FROM users WHERE id > ? AND (totp IS NOT NULL OR totp_next IS NOT NULL) ' +
      'ORDER BY id LIMIT ?'
    const rows = await driver.query('reseal', sql, [after, SLICE])
    for (const row of rows)
      for (const column of ['totp', 'totp_next']) {
        const sealed = textOrNull(row, column)
        const name = nameOf(text(row, 'public_id'))
        const opened = sealed === null ? null : sealer.open(sealed, name)
        if (opened === null || opened.current) continue
        const update = `UPDATE users SET ${column} = ? WHERE id = ? AND ${column} = ?`
        await driver.run('reseal', update, [sealer.seal(opened.plain, name), integer(row, 'id'), sealed])
      }
    if (rows.length < SLICE) return
    after = integer(rows.at(-1)!, 'id')
  }
}
