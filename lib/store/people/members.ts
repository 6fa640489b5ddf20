/** Who is a member of which account. The account's row is locked first, so that its last owner cannot leave unseen. */
import { type Act, MAKES_KEYS, type Member, type Person, type Role } from '../../base/people.ts'
import { ACCOUNT_COLUMNS, type PageFilter, accountOf } from '../accounts/accounts.ts'
import { asConflict, type Driver, type Transaction } from '../base/driver.ts'
import type { Membership, RoleChange } from './records.ts'
import { StoreConflict, StoreFull } from '../base/errors.ts'
import { checkActor, recordAction } from '../base/actions.ts'
import { contains, integer, pattern, text } from '../base/text.ts'
import { PERSON_COLUMNS, leaveKeys, personById, toPerson } from './person.ts'
import { endInvitations } from './link-rows.ts'
import { endAllSessions } from './sessions.ts'

const roleOf = (row: Record<string, unknown>) => text(row, 'role') as Role

/** Throws StoreFull where there is no room for another member. The account's row is locked until the transaction ends. */
export async function checkRoom(tx: Transaction, userId: number, accountId: number, most: number): Promise<void> {
  await tx.run('UPDATE accounts SET name = name WHERE id = ?', [accountId])
  const count = async (column: string, id: number) =>
    integer((await tx.query(`SELECT COUNT(*) AS there FROM members WHERE ${column} = ?`, [id]))[0]!, 'there')
  if ((await count('account_id', accountId)) >= most)
    throw new StoreFull({
      zh: `账户已有 ${most} 名成员：请先移出一些成员，或请运营方提高上限`,
      en: `the account has ${most} members: remove some first, or ask an operator for more`,
    })
  if ((await count('user_id', userId)) >= most)
    throw new StoreFull({
      zh: `您已加入 ${most} 个账户：请先退出一些账户`,
      en: `you are in ${most} accounts: leave some first`,
    })
}

/** Throws StoreConflict when the user is a member already. */
export async function insertMember(
  tx: Transaction,
  driver: Driver,
  member: Member,
  atMs: number,
  act: Act,
): Promise<void> {
  const { userId, accountId } = member
  const insert = 'INSERT INTO members (user_id, account_id, role, created_at_ms) VALUES (?, ?, ?, ?)'
  await tx
    .run(insert, [userId, accountId, member.role, atMs])
    .catch(asConflict({ zh: '该用户已是此账户的成员', en: 'the user is a member of the account already' }))
  const { publicId: id } = await personById(tx, userId)
  const after = { role: member.role }
  await recordAction(tx, driver, act, { subject: { kind: 'member', id }, accountId, before: null, after })
}

const OWNERS = "SELECT user_id FROM members WHERE account_id = ? AND role = 'owner'"

async function checkOwners(tx: Transaction, accountId: number): Promise<void> {
  if ((await tx.query(OWNERS, [accountId])).length === 0)
    throw new StoreConflict({
      zh: '账户至少需要一名所有者，请先指定其他所有者',
      en: 'an account keeps at least one owner: make somebody else an owner first',
    })
}

/** Part of the deletion of a user. */
export async function leaveAll(tx: Transaction, userId: number): Promise<void> {
  const rows = await tx.query('SELECT account_id FROM members WHERE user_id = ? ORDER BY account_id', [userId])
  for (const accountId of rows.map(row => integer(row, 'account_id'))) {
    await tx.run('UPDATE accounts SET name = name WHERE id = ?', [accountId])
    const owned = await tx.query(OWNERS, [accountId])
    await tx.run('DELETE FROM members WHERE user_id = ? AND account_id = ?', [userId, accountId])
    if (owned.some(row => integer(row, 'user_id') === userId)) await checkOwners(tx, accountId)
  }
}

export class Members {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  async page(accountId: number, { q = '', afterId = 0, limit }: PageFilter): Promise<(Member & { person: Person })[]> {
    const sql =
      `SELECT m.role, ${PERSON_COLUMNS} FROM members m JOIN users u ON u.id = m.user_id WHERE m.account_id = ? ` +
      `AND m.user_id > ? AND (${contains('u.email')} OR ${contains('u.name')}) ORDER BY m.user_id LIMIT ?`
    const rows = await this.#driver.query('members', sql, [accountId, afterId, pattern(q), pattern(q), limit])
    return rows.map(row => ({ userId: integer(row, 'user_id'), accountId, role: roleOf(row), person: toPerson(row) }))
  }

  async ofUser(userId: number): Promise<Membership[]> {
    const sql =
      `SELECT m.role, ${ACCOUNT_COLUMNS} FROM members m JOIN accounts a ON a.id = m.account_id ` +
      'WHERE m.user_id = ? ORDER BY a.name'
    return (await this.#driver.query('members', sql, [userId])).map(row => ({
      account: accountOf(row),
      role: roleOf(row),
    }))
  }

  async role(userId: number, accountId: number): Promise<Role | null> {
    const sql = 'SELECT role FROM members WHERE user_id = ? AND account_id = ?'
    const [row] = await this.#driver.query('members', sql, [userId, accountId])
    return row === undefined ? null : roleOf(row)
  }

  add(member: Member, atMs: number, act: Act): Promise<void> {
    return this.#driver.transaction('addMember', tx => insertMember(tx, this.#driver, member, atMs, act))
  }

  /**
   * `role` null removes the member. Ends the member's sessions. Throws StoreConflict when it was no member, or the
   * account would be left without an owner.
   */
  setRole({ userId, accountId, role: next, keysTo = null }: RoleChange, act: Act): Promise<void> {
    return this.#driver.transaction('setRole', async tx => {
      await tx.run('UPDATE accounts SET name = name WHERE id = ?', [accountId])
      await checkActor(tx, act)
      const own = [userId, accountId]
      const [row] = await tx.query('SELECT role FROM members WHERE user_id = ? AND account_id = ?', own)
      if (row === undefined)
        throw new StoreConflict({ zh: '该用户不是此账户的成员', en: 'the user is no member of the account' })
      const before = roleOf(row)
      if (before === next) return
      if (next === null) await tx.run('DELETE FROM members WHERE user_id = ? AND account_id = ?', own)
      else await tx.run('UPDATE members SET role = ? WHERE user_id = ? AND account_id = ?', [next, ...own])
      if (before === 'owner') await checkOwners(tx, accountId)
      await endAllSessions(tx, userId)
      const { publicId: id, email } = await personById(tx, userId)
      if (next === null) await endInvitations(tx, accountId, email)
      await recordAction(tx, this.#driver, act, {
        subject: { kind: 'member', id },
        accountId,
        before: { role: before },
        after: next === null ? null : { role: next },
      })
      if (next === null || !MAKES_KEYS.includes(next))
        await leaveKeys(tx, this.#driver, { userId, accountId }, keysTo, act)
    })
  }
}
