/** Passwords, second factors and recovery codes. The secret of a factor is sealed, bound to the user that it belongs to. */
import type { Act, Person } from '../../base/people.ts'
import type { Driver, Param, Transaction } from '../base/driver.ts'
import type { Credentials, CredentialsChange } from './records.ts'
import type { Sealer } from '../catalogue/sealer.ts'
import { checkActor, recordAction } from '../base/actions.ts'
import { integer, text, textOrNull } from '../base/text.ts'
import { endLinksOf } from './link-rows.ts'
import { markOf, markWith, addNotice, lockUser, personById, subject } from './person.ts'
import { endAllSessions } from './sessions.ts'

const nameOf = (publicId: string): string => `totp:${publicId}`

/** A passkey that was added or deleted, by its name, for the log of actions. */
interface PasskeyNamed {
  passkey?: { before?: string; after?: string }
}

/** Also within transactions that use up a link. The user's row is locked. Returns the `mark` of what is in force now. */
export async function writeCredentials(
  tx: Transaction,
  driver: Driver,
  person: Person,
  { password, totp, passkeys, passkey, recoveryCodes, notice, endTokens }: CredentialsChange & PasskeyNamed,
  act: Act,
): Promise<string> {
  await checkActor(tx, act)
  const { id } = person
  const set: [string, Param][] = password === undefined ? [] : [['password = ?', password]]
  if (totp === null) set.push(['totp = ?', null], ['totp_next = ?', null], ['totp_step = ?', null])
  else if (totp !== undefined) set.push(['totp_step = ?', totp.confirmedStep])
  const moved = totp === undefined || totp === null ? [] : ['totp = totp_next', 'totp_next = NULL']
  const assignments = [...moved, ...set.map(([sql]) => sql)]
  if (assignments.length > 0)
    await tx.run(`UPDATE users SET ${assignments.join(', ')} WHERE id = ?`, [...set.map(([, value]) => value), id])
  if (passkeys === null) await tx.run('DELETE FROM passkeys WHERE user_id = ?', [id])
  const { secondFactor } = await personById(tx, id)
  if (recoveryCodes !== undefined || !secondFactor) {
    await tx.run('DELETE FROM recovery_codes WHERE user_id = ?', [id])
    for (const hash of recoveryCodes ?? [])
      await tx.run('INSERT INTO recovery_codes (user_id, hash) VALUES (?, ?)', [id, hash])
  }
  if (notice !== undefined) await addNotice(tx, person, notice)
  await endAllSessions(tx, id)
  await endLinksOf(tx, id)
  await tx.run('DELETE FROM devices WHERE user_id = ?', [id]) // whoever knew the secret that was may have made one
  const tokens = endTokens ? (await tx.run('DELETE FROM personal_tokens WHERE user_id = ?', [id])).changes : 0
  await recordAction(tx, driver, act, {
    ...subject(person),
    before: {
      second_factor: person.secondFactor,
      ...(passkey?.before === undefined ? {} : { passkey: passkey.before }),
      ...(passkeys === null && person.passkeys > 0 ? { passkeys: person.passkeys } : {}),
    },
    after: {
      second_factor: secondFactor,
      ...(passkey?.after === undefined ? {} : { passkey: passkey.after }),
      ...(password === undefined ? {} : { password: 'changed' }),
      ...(recoveryCodes === undefined ? {} : { recovery_codes: 'changed' }),
      ...(tokens === 0 ? {} : { ended_tokens: tokens }),
    },
  })
  return markOf(tx, id)
}

const SLICE = 500

export class CredentialRows {
  readonly #driver: Driver
  readonly #sealer: Sealer

  constructor(driver: Driver, sealer: Sealer) {
    this.#driver = driver
    this.#sealer = sealer
  }

  async of(userId: number): Promise<Credentials | null> {
    const sql =
      'SELECT u.public_id, u.password, u.totp, u.totp_next, ' +
      '(SELECT COUNT(*) FROM recovery_codes r WHERE r.user_id = u.id) AS codes FROM users u WHERE u.id = ?'
    const [row] = await this.#driver.query('credentials', sql, [userId])
    if (row === undefined) return null
    const open = (column: string): string | null => {
      const sealed = textOrNull(row, column)
      return sealed === null ? null : (this.#sealer.open(sealed, nameOf(text(row, 'public_id')))?.plain ?? null)
    }
    return {
      password: textOrNull(row, 'password'),
      totp: open('totp'),
      totpNext: open('totp_next'),
      recoveryCodes: integer(row, 'codes'),
    }
  }

  /**
   * Ends all sessions, forgets the user's browsers, and uses up the links that were made for the user. Returns the `mark` of what is in
   * force then.
   */
  set(userId: number, change: CredentialsChange, act: Act): Promise<string> {
    return this.#driver.transaction('setCredentials', async tx => {
      const person = await lockUser(tx, userId)
      return writeCredentials(tx, this.#driver, person, change, act)
    })
  }

  /**
   * The same password under newer parameters. Nothing happens when it has changed meanwhile. Returns what `mark` has become by this, and by
   * nothing else.
   */
  async rehash(userId: number, from: string, to: string, mark: string): Promise<string> {
    const update = 'UPDATE users SET password = ? WHERE id = ? AND password = ?'
    const { changes } = await this.#driver.run('rehash', update, [to, userId, from])
    return changes > 0 ? markWith(to, mark.slice(mark.indexOf(' ') + 1)) : mark
  }

  /**
   * A text that changes with the user's password, e-mail, factors and status, and with nothing else: neither with a code that is used
   * nor with the time of a passkey.
   */
  mark(userId: number): Promise<string> {
    return markOf({ query: (sql, params) => this.#driver.query('credentials', sql, params) }, userId)
  }

  startTotp(userId: number, secret: string): Promise<void> {
    return this.#driver.transaction('startTotp', async tx => {
      const { publicId } = await lockUser(tx, userId)
      await tx.run('UPDATE users SET totp_next = ? WHERE id = ?', [this.#sealer.seal(secret, nameOf(publicId)), userId])
    })
  }

  /** Uses a step up; false = a code of this step or of a later one was used before. */
  async useStep(userId: number, step: number): Promise<boolean> {
    const update = 'UPDATE users SET totp_step = ? WHERE id = ? AND (totp_step IS NULL OR totp_step < ?)'
    return (await this.#driver.run('useStep', update, [step, userId, step])).changes > 0
  }

  /** Uses a recovery code up; false = there is no such code. */
  async useRecoveryCode(userId: number, hash: string): Promise<boolean> {
    const remove = 'DELETE FROM recovery_codes WHERE user_id = ? AND hash = ?'
    return (await this.#driver.run('useRecoveryCode', remove, [userId, hash])).changes > 0
  }

  /** Encrypts secrets that were encrypted under the previous secret under the present one. */
  async reseal(): Promise<void> {
    for (let after = 0; ; ) {
      const sql =
        'SELECT id, public_id, totp, totp_next FROM users WHERE id > ? AND (totp IS NOT NULL OR totp_next IS NOT NULL) ' +
        'ORDER BY id LIMIT ?'
      const rows = await this.#driver.query('reseal', sql, [after, SLICE])
      for (const row of rows)
        for (const column of ['totp', 'totp_next']) {
          const sealed = textOrNull(row, column)
          const name = nameOf(text(row, 'public_id'))
          const opened = sealed === null ? null : this.#sealer.open(sealed, name)
          if (opened === null || opened.current) continue
          const update = `UPDATE users SET ${column} = ? WHERE id = ? AND ${column} = ?`
          await this.#driver.run('reseal', update, [this.#sealer.seal(opened.plain, name), integer(row, 'id'), sealed])
        }
      if (rows.length < SLICE) return
      after = integer(rows.at(-1)!, 'id')
    }
  }
}
