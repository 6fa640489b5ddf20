/** Users: what they are called, what they may do, what is remembered for them, and their end. */
import { publicId } from '../../base/ids.ts'
import type { Act, Person } from '../../base/people.ts'
import type { PageFilter } from '../accounts/accounts.ts'
import { asConflict, type Driver, type Param, type Transaction } from '../base/driver.ts'
import type { NewUser, UserChange } from './records.ts'
import { checkActor, recordAction } from '../base/actions.ts'
import { contains, insertStatement, pattern } from '../base/text.ts'
import { leaveKeys, lockUser, personById, selectPerson, toPerson, subject } from './person.ts'
import { endAllSessions } from './sessions.ts'
import { leaveAll } from './members.ts'

/** What the log of actions keeps of a user: neither e-mail nor name, so that a deleted user leaves none there. */
const logged = ({ status, operator, language, theme }: Person) => ({ status, operator, language, theme })

export async function insertUser(tx: Transaction, driver: Driver, user: NewUser, act: Act): Promise<Person> {
  const [insert, values] = insertStatement('users', {
    public_id: publicId(),
    email: user.email,
    name: user.name,
    password: user.password,
    status: 'active',
    operator: user.operator ? 1 : 0,
    language: user.language,
    notices: '[]',
    created_at_ms: user.atMs,
  })
  const { insertId } = await tx.run(insert, values)
  const person = await personById(tx, insertId)
  // a person who makes their own user is its actor
  const actor = act.actor.kind === 'user' && act.actor.userId === null ? { ...act.actor, userId: insertId } : act.actor
  await recordAction(tx, driver, { ...act, actor }, { ...subject(person), before: null, after: logged(person) })
  return person
}

/** A taken e-mail as a conflict that people can be told. */
export const emailTaken = asConflict({ zh: '已有使用此邮箱的用户', en: 'there is a user with this e-mail' })

const OWNED = ['sessions', 'devices', 'personal_tokens', 'recovery_codes', 'passkeys', 'identities', 'people_links']

export class Users {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  async clearNotices(id: number): Promise<void> {
    await this.#driver.run('updateUser', "UPDATE users SET notices = '[]' WHERE id = ?", [id])
  }

  byId(id: number): Promise<Person | null> {
    return this.#one('WHERE u.id = ?', id)
  }

  byPublicId(id: string): Promise<Person | null> {
    return this.#one('WHERE u.public_id = ?', id)
  }

  byEmail(email: string): Promise<Person | null> {
    return this.#one('WHERE u.email = ?', email)
  }

  /** Throws StoreConflict when the e-mail is taken. */
  async create(user: NewUser, act: Act): Promise<Person> {
    return this.#driver.transaction('createUser', tx => insertUser(tx, this.#driver, user, act)).catch(emailTaken)
  }

  /**
   * Ends all sessions when the status changes, and disables the keys that the user made when the user is disabled.
   * Throws StoreConflict when there is no such user.
   */
  update(id: number, change: UserChange, act: Act): Promise<Person> {
    return this.#driver.transaction('updateUser', async tx => {
      const before = await lockUser(tx, id)
      await checkActor(tx, act)
      const set = Object.entries(change).filter((entry): entry is [string, string | null] => entry[1] !== undefined)
      if (set.length === 0) return before
      const assignments = set.map(([column]) => `${column} = ?`).join(', ')
      await tx.run(`UPDATE users SET ${assignments} WHERE id = ?`, [...set.map(([, value]) => value), id])
      const after = await personById(tx, id)
      if (before.status !== after.status) await endAllSessions(tx, id)
      await recordAction(tx, this.#driver, act, { ...subject(after), before: logged(before), after: logged(after) })
      if (before.status !== after.status && after.status === 'disabled')
        await leaveKeys(tx, this.#driver, { userId: id, accountId: null }, null, act)
      return after
    })
  }

  /** Throws StoreConflict when the user is the last owner of an account. */
  delete(id: number, act: Act): Promise<void> {
    return this.#driver.transaction('deleteUser', async tx => {
      await leaveAll(tx, id)
      const person = await lockUser(tx, id)
      for (const table of OWNED) await tx.run(`DELETE FROM ${table} WHERE user_id = ?`, [id])
      await tx.run('DELETE FROM users WHERE id = ?', [id])
      const before = { status: person.status, operator: person.operator }
      await recordAction(tx, this.#driver, act, { ...subject(person), before, after: null })
      await leaveKeys(tx, this.#driver, { userId: id, accountId: null }, null, act)
    })
  }

  async page(filter: PageFilter & { operators?: boolean }): Promise<Person[]> {
    const { q = '', afterId = 0, operators, limit } = filter
    const operator = operators === undefined ? '' : 'AND u.operator = ? '
    const where = `WHERE u.id > ? ${operator}AND (${contains('u.email')} OR ${contains('u.name')}) ORDER BY u.id LIMIT ?`
    const params = [afterId, ...(operators === undefined ? [] : [operators ? 1 : 0]), pattern(q), pattern(q), limit]
    return (await this.#driver.query('user', selectPerson(where), params)).map(toPerson)
  }

  async any(): Promise<boolean> {
    return (await this.#driver.query('user', 'SELECT id FROM users LIMIT 1', [])).length > 0
  }

  async #one(where: string, value: Param): Promise<Person | null> {
    const [row] = await this.#driver.query('user', selectPerson(where), [value])
    return row === undefined ? null : toPerson(row)
  }
}
