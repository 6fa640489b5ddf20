/** What links allow: to become a user, a member or an operator, to choose a new password, to have another e-mail. */
import type { Act, Person } from '../../../base/people.ts'
import type { NewAccount } from '../../account-store.ts'
import type { Driver, Statements } from '../../driver.ts'
import type { Identified, Joining, Link, MemberBound, NewUser } from '../../people-records.ts'
import { StoreConflict } from '../../types.ts'
import { insertAccount } from '../accounts.ts'
import { recordAction } from '../actions.ts'
import { writeCredentials } from './credentials.ts'
import { endInvitations, endLinksOf, useLink } from './links.ts'
import { checkRoom, insertMember } from './members.ts'
import { lockUser, subject } from './person.ts'
import { endAllSessions } from './sessions.ts'
import { insertIdentity } from './tokens.ts'
import { emailTaken, insertUser } from './users.ts'

const inTransaction = async <T>(driver: Driver, op: string, fn: (tx: Statements) => Promise<T>): Promise<T> => {
  try {
    return await driver.transaction(op, fn)
  } catch (error) {
    throw emailTaken(error)
  }
}

/** Who has a user keeps it. The actor of what a new user does is that user. */
async function joined(tx: Statements, driver: Driver, who: Joining, act: Act): Promise<{ person: Person; act: Act }> {
  const person = 'user' in who ? await insertUser(tx, driver, who.user, act) : await lockUser(tx, who.userId)
  return { person, act: { ...act, actor: { ...act.actor, kind: 'user', userId: person.id } } }
}

export const acceptInvitation = (
  driver: Driver,
  hash: string,
  atMs: number,
  { most = Number.POSITIVE_INFINITY, ...who }: Joining & MemberBound,
  given: Act,
): Promise<{ userId: number } | null> =>
  inTransaction(driver, 'acceptInvitation', async tx => {
    const link = await useLink(tx, 'invitation', hash, atMs)
    if (link === null) return null
    const { person, act } = await joined(tx, driver, who, given)
    if (person.email !== link.email)
      throw new StoreConflict({ zh: '此邀请属于另一个邮箱', en: 'the invitation is for another e-mail' })
    if (link.operator) await makeOperator(tx, driver, person, act)
    if (link.accountId !== null) {
      await checkRoom(tx, person.id, link.accountId, most)
      const member = { userId: person.id, accountId: link.accountId, role: link.role ?? 'viewer' }
      await insertMember(tx, driver, member, atMs, act)
      await endInvitations(tx, link.accountId, person.email) // who is removed later would else come back by another one
    }
    return { userId: person.id }
  })

async function makeOperator(tx: Statements, driver: Driver, person: Person, act: Act): Promise<void> {
  await tx.run('UPDATE users SET operator = 1 WHERE id = ?', [person.id])
  await endAllSessions(tx, person.id)
  const before = { operator: person.operator }
  await recordAction(tx, driver, act, { ...subject(person), before, after: { operator: true } })
}

/** `hash` null: somebody else has proven that the person is who they say. */
export const register = (
  driver: Driver,
  hash: string | null,
  atMs: number,
  user: NewUser,
  account: NewAccount,
  given: Act,
  identity?: Identified,
): Promise<Person | null> =>
  inTransaction(driver, 'register', async tx => {
    const link = hash === null ? null : await useLink(tx, 'registration', hash, atMs)
    if (hash !== null && link === null) return null
    const { person, act } = await joined(tx, driver, { user: { ...user, email: link?.email ?? user.email } }, given)
    const { id: accountId } = await insertAccount(tx, driver, account, act)
    await insertMember(tx, driver, { userId: person.id, accountId, role: 'owner' }, atMs, act)
    if (identity !== undefined) await insertIdentity(tx, driver, { ...identity, userId: person.id, atMs }, act)
    return person
  })

export const resetPassword = (
  driver: Driver,
  hash: string,
  atMs: number,
  password: string,
  act: Act,
): Promise<Link | null> =>
  driver.transaction('resetPassword', async tx => {
    const link = await useLink(tx, 'reset', hash, atMs)
    if (link === null) return null
    const person = await lockUser(tx, link.userId ?? 0)
    const own: Act = { ...act, actor: { ...act.actor, kind: 'user', userId: person.id } }
    await writeCredentials(tx, driver, person, { password, endTokens: true }, own)
    return link
  })

export const changeEmail = (driver: Driver, hash: string, atMs: number, act: Act): Promise<Link | null> =>
  inTransaction(driver, 'changeEmail', async tx => {
    const link = await useLink(tx, 'email', hash, atMs)
    if (link === null || link.email === null) return null
    const person = await lockUser(tx, link.userId ?? 0)
    await tx.run('UPDATE users SET email = ? WHERE id = ?', [link.email, person.id])
    await endAllSessions(tx, person.id)
    await endLinksOf(tx, person.id) // one that was mailed to the address before would else still work
    await recordAction(tx, driver, act, { ...subject(person), before: {}, after: { email: 'changed' } })
    return link
  })
