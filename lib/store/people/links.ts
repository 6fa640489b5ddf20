/** What links allow: to become a user, a member or an operator, to choose a new password, to have another e-mail. */
import type { Act, Person } from '../../base/people.ts'
import { type NewAccount, insertAccount } from '../accounts/accounts.ts'
import type { Driver, Transaction } from '../base/driver.ts'
import type { Identified, Joining, Link, LinkKind, MemberBound, NewLink, NewUser } from './records.ts'
import { StoreConflict, StoreFull } from '../base/errors.ts'
import { recordAction } from '../base/actions.ts'
import { writeCredentials } from './credentials.ts'
import {
  endInvitations,
  endLinksOf,
  useLink,
  COLUMNS,
  MOST_INVITATIONS,
  USABLE,
  insertLink,
  invitation,
  invitationsSql,
  logged,
  toLink,
  use,
} from './link-rows.ts'
import { checkRoom, insertMember } from './members.ts'
import { lockUser, subject } from './person.ts'
import { endAllSessions } from './sessions.ts'
import { endIdentities, insertIdentity } from './tokens.ts'
import { emailTaken, insertUser } from './users.ts'

const inTransaction = <T>(driver: Driver, op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> =>
  driver.transaction(op, fn).catch(emailTaken)

/** Who has a user keeps it. The actor of what a new user does is that user. */
async function joined(tx: Transaction, driver: Driver, who: Joining, act: Act): Promise<{ person: Person; act: Act }> {
  const person = 'user' in who ? await insertUser(tx, driver, who.user, act) : await lockUser(tx, who.userId)
  return { person, act: { ...act, actor: { ...act.actor, kind: 'user', userId: person.id } } }
}

async function makeOperator(tx: Transaction, driver: Driver, person: Person, act: Act): Promise<void> {
  await tx.run('UPDATE users SET operator = 1 WHERE id = ?', [person.id])
  await endAllSessions(tx, person.id)
  const before = { operator: person.operator }
  await recordAction(tx, driver, act, { ...subject(person), before, after: { operator: true } })
}

/** Secrets that work once: invitations, resets, proofs of an e-mail, and the halves of a sign-in. */
export class Links {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** `act` null: nothing that anybody decides, such as the two halves of a sign-in. */
  create(link: NewLink, act: Act | null): Promise<Link> {
    return this.#driver.transaction('createLink', tx => insertLink(tx, this.#driver, link, act))
  }

  /** `most`: StoreFull is thrown when so many invitations into the same account, or into none, can be used. */
  createInvitation(link: NewLink, most: number, act: Act): Promise<Link> {
    return this.#driver.transaction('createLink', async tx => {
      const { accountId, createdAtMs } = link
      if (accountId !== null) await tx.run('UPDATE accounts SET name = name WHERE id = ?', [accountId])
      const [sql, params] = invitationsSql(accountId, createdAtMs, most)
      if ((await tx.query(sql, params)).length >= most)
        throw new StoreFull({
          zh: '未使用的邀请过多，请先撤销一些',
          en: 'there are too many invitations that nobody has used: withdraw some',
        })
      return insertLink(tx, this.#driver, link, act)
    })
  }

  /** A link that can still be used. */
  async read(kind: LinkKind, hash: string, atMs: number): Promise<Link | null> {
    const sql = `SELECT ${COLUMNS} FROM people_links WHERE hash = ? AND kind = ? AND ${USABLE}`
    const [row] = await this.#driver.query('link', sql, [hash, kind, atMs])
    return row === undefined ? null : toLink(row)
  }

  /** Invitations into an account, or (null) among operators, that can still be used. */
  async invitations(accountId: number | null, atMs: number): Promise<Link[]> {
    return (await this.#driver.query('link', ...invitationsSql(accountId, atMs, MOST_INVITATIONS))).map(toLink)
  }

  /** False when there is none that can still be used. */
  revokeInvitation(accountId: number | null, id: string, atMs: number, act: Act): Promise<boolean> {
    return this.#driver.transaction('revokeInvitation', async tx => {
      const [row] = await tx.query(`SELECT ${COLUMNS} FROM people_links WHERE public_id = ? AND kind = 'invitation'`, [
        id,
      ])
      const link = row === undefined ? null : toLink(row)
      if (link === null || link.accountId !== accountId || !(await use(tx, link.id, atMs))) return false
      await recordAction(tx, this.#driver, act, { ...invitation(link), before: logged(link), after: null })
      return true
    })
  }

  /** Uses a link up; null = there is none that can be used. */
  use(kind: LinkKind, hash: string, atMs: number): Promise<Link | null> {
    return this.#driver.transaction('useLink', tx => useLink(tx, kind, hash, atMs))
  }

  /**
   * Throws StoreConflict when a new user's e-mail is taken, and StoreFull where there is no room for another member;
   * null = there is no such link.
   */
  acceptInvitation(
    hash: string,
    atMs: number,
    { most = Number.POSITIVE_INFINITY, ...who }: Joining & MemberBound,
    given: Act,
  ): Promise<{ userId: number } | null> {
    return inTransaction(this.#driver, 'acceptInvitation', async tx => {
      const link = await useLink(tx, 'invitation', hash, atMs)
      if (link === null) return null
      const { person, act } = await joined(tx, this.#driver, who, given)
      if (person.email !== link.email)
        throw new StoreConflict({ zh: '此邀请属于另一个邮箱', en: 'the invitation is for another e-mail' })
      if (link.operator) await makeOperator(tx, this.#driver, person, act)
      if (link.accountId !== null) {
        await checkRoom(tx, person.id, link.accountId, most)
        const member = { userId: person.id, accountId: link.accountId, role: link.role ?? 'viewer' }
        await insertMember(tx, this.#driver, member, atMs, act)
        await endInvitations(tx, link.accountId, person.email) // who is removed later would else come back by another one
      }
      return { userId: person.id }
    })
  }

  /**
   * Makes a user and an account of which it is the owner. The e-mail is that of the link; `hash` null: a provider has
   * proven it, by whose `identity` the user signs in from now on. null = there is no such link.
   */
  register(
    hash: string | null,
    atMs: number,
    user: NewUser,
    account: NewAccount,
    given: Act,
    identity?: Identified,
  ): Promise<Person | null> {
    return inTransaction(this.#driver, 'register', async tx => {
      const link = hash === null ? null : await useLink(tx, 'registration', hash, atMs)
      if (hash !== null && link === null) return null
      const { person, act } = await joined(
        tx,
        this.#driver,
        { user: { ...user, email: link?.email ?? user.email } },
        given,
      )
      const { id: accountId } = await insertAccount(tx, this.#driver, account, act)
      await insertMember(tx, this.#driver, { userId: person.id, accountId, role: 'owner' }, atMs, act)
      if (identity !== undefined) await insertIdentity(tx, this.#driver, { ...identity, userId: person.id, atMs }, act)
      return person
    })
  }

  /** Sets the password, ends all sessions, identities and personal tokens; null = there is no such link. */
  resetPassword(hash: string, atMs: number, password: string, act: Act): Promise<Link | null> {
    return this.#driver.transaction('resetPassword', async tx => {
      const link = await useLink(tx, 'reset', hash, atMs)
      if (link === null) return null
      const person = await lockUser(tx, link.userId ?? 0)
      const own: Act = { ...act, actor: { ...act.actor, kind: 'user', userId: person.id } }
      // they are the second factor, which a reset keeps: but whoever came in before may have made one, and has not the new password
      await tx.run('UPDATE passkeys SET alone = 0 WHERE user_id = ?', [person.id])
      await endIdentities(tx, this.#driver, person, own) // the same is true of these
      const kept = person.passkeys === 0 ? {} : { notice: { kind: 'passkeys_kept' as const, atMs } }
      await writeCredentials(tx, this.#driver, person, { password, endTokens: true, ...kept }, own)
      return link
    })
  }

  /** Gives the user of a link of the kind `email` its e-mail, and ends all sessions. */
  changeEmail(hash: string, atMs: number, act: Act): Promise<Link | null> {
    return inTransaction(this.#driver, 'changeEmail', async tx => {
      const link = await useLink(tx, 'email', hash, atMs)
      if (link === null || link.email === null) return null
      const person = await lockUser(tx, link.userId ?? 0)
      await tx.run('UPDATE users SET email = ? WHERE id = ?', [link.email, person.id])
      await endAllSessions(tx, person.id)
      await endLinksOf(tx, person.id) // one that was mailed to the address before would else still work
      await recordAction(tx, this.#driver, act, { ...subject(person), before: {}, after: { email: 'changed' } })
      return link
    })
  }
}
