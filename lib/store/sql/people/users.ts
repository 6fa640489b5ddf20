/** Users: what they are called, what they may do, and what is remembered for them. */
import { publicId } from '../../../base/ids.ts'
import type { Act, Person } from '../../../base/people.ts'
import type { PageFilter } from '../../account-store.ts'
import { type Driver, DuplicateKey, type Param, type Statements } from '../../driver.ts'
import type { NewUser, UserChange } from '../../people-records.ts'
import { StoreConflict } from '../../types.ts'
import { recordAction } from '../actions.ts'
import { contains, pattern } from '../text.ts'
import { leaveKeys } from './left-keys.ts'
import { lockUser, personById, selectPerson, subject, toPerson } from './person.ts'
import { endAllSessions } from './sessions.ts'

/** What the log of actions keeps of a user: neither e-mail nor name, so that a deleted user leaves none there. */
const logged = ({ status, operator, language, theme }: Person) => ({ status, operator, language, theme })

export async function insertUser(tx: Statements, driver: Driver, user: NewUser, act: Act): Promise<Person> {
  const columns: [string, Param][] = [
    ['public_id', publicId()],
    ['email', user.email],
    ['name', user.name],
    ['password', user.password],
    ['status', 'active'],
    ['operator', user.operator ? 1 : 0],
    ['language', user.language],
    ['notices', '[]'],
    ['created_at_ms', user.atMs],
  ]
  const insert = `INSERT INTO users (${columns.map(([name]) => name).join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
  const { insertId } = await tx.run(
    insert,
    columns.map(([, value]) => value),
  )
  const person = await personById(tx, insertId)
  // a person who makes their own user is its actor
  const actor = act.actor.kind === 'user' && act.actor.userId === null ? { ...act.actor, userId: insertId } : act.actor
  await recordAction(tx, driver, { ...act, actor }, { ...subject(person), before: null, after: logged(person) })
  return person
}

/** A taken e-mail as a conflict that people can be told. */
export const emailTaken = (error: unknown): unknown =>
  error instanceof DuplicateKey
    ? new StoreConflict({ zh: '已有使用此邮箱的用户', en: 'there is a user with this e-mail' })
    : error

export async function one(driver: Driver, where: string, value: Param): Promise<Person | null> {
  const [row] = await driver.query('user', selectPerson(where), [value])
  return row === undefined ? null : toPerson(row)
}

export async function page(driver: Driver, filter: PageFilter & { operators?: boolean }): Promise<Person[]> {
  const { q = '', afterId = 0, operators, limit } = filter
  const operator = operators === undefined ? '' : 'AND u.operator = ? '
  const where = `WHERE u.id > ? ${operator}AND (${contains('u.email')} OR ${contains('u.name')}) ORDER BY u.id LIMIT ?`
  const params = [afterId, ...(operators === undefined ? [] : [operators ? 1 : 0]), pattern(q), pattern(q), limit]
  return (await driver.query('user', selectPerson(where), params)).map(toPerson)
}

export const anyUser = async (driver: Driver): Promise<boolean> =>
  (await driver.query('user', 'SELECT id FROM users LIMIT 1', [])).length > 0

export async function create(driver: Driver, user: NewUser, act: Act): Promise<Person> {
  try {
    return await driver.transaction('createUser', tx => insertUser(tx, driver, user, act))
  } catch (error) {
    throw emailTaken(error)
  }
}

export const update = (driver: Driver, id: number, change: UserChange, act: Act): Promise<Person> =>
  driver.transaction('updateUser', async tx => {
    const before = await lockUser(tx, id)
    const set = Object.entries(change).filter((entry): entry is [string, string | null] => entry[1] !== undefined)
    if (set.length === 0) return before
    const assignments = set.map(([column]) => `${column} = ?`).join(', ')
    await tx.run(`UPDATE users SET ${assignments} WHERE id = ?`, [...set.map(([, value]) => value), id])
    const after = await personById(tx, id)
    if (before.status !== after.status) await endAllSessions(tx, id)
    await recordAction(tx, driver, act, { ...subject(after), before: logged(before), after: logged(after) })
    if (before.status !== after.status && after.status === 'disabled')
      await leaveKeys(tx, driver, { userId: id, accountId: null }, null, act)
    return after
  })
