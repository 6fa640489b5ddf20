/** Rows of secrets that work once: invitations, resets, proofs of an e-mail, and the halves of a sign-in. */
import { iso } from '../../base/clock.ts'
import { publicId } from '../../base/ids.ts'
import type { Act, Role } from '../../base/people.ts'
import type { Driver, Param, Row, Transaction } from '../base/driver.ts'
import type { Link, LinkKind, NewLink } from './records.ts'
import { checkActor, recordAction } from '../base/actions.ts'
import { insertStatement, integer, integerOrNull, jsonOrNull, text, textOrNull, toJson } from '../base/text.ts'
import { addNotice, lockUser, subject } from './person.ts'

export const COLUMNS =
  'id, public_id, kind, email, user_id, account_id, role, operator, doc, created_at_ms, expires_at_ms, used_at_ms'

export const toLink = (row: Row): Link => ({
  id: integer(row, 'id'),
  publicId: text(row, 'public_id'),
  kind: text(row, 'kind') as LinkKind,
  email: textOrNull(row, 'email'),
  userId: integerOrNull(row, 'user_id'),
  accountId: integerOrNull(row, 'account_id'),
  role: textOrNull(row, 'role') as Role | null,
  operator: integer(row, 'operator') === 1,
  doc: jsonOrNull(row, 'doc'),
  createdAtMs: integer(row, 'created_at_ms'),
  expiresAtMs: integer(row, 'expires_at_ms'),
})

/** What the log of actions keeps of a link: neither its secret nor an e-mail. */
export const logged = ({ role, operator, expiresAtMs }: Link) => ({
  ...(operator ? { operator } : { role }),
  expires_at: iso(expiresAtMs),
})

export const invitation = (link: Link) => ({
  subject: { kind: 'invitation' as const, id: link.publicId },
  accountId: link.accountId,
})

export async function insertLink(tx: Transaction, driver: Driver, link: NewLink, act: Act | null): Promise<Link> {
  const [insert, values] = insertStatement('people_links', {
    public_id: publicId(),
    kind: link.kind,
    hash: link.hash,
    email: link.email,
    user_id: link.userId,
    account_id: link.accountId,
    role: link.role,
    operator: link.operator ? 1 : 0,
    doc: toJson(link.doc),
    created_at_ms: link.createdAtMs,
    expires_at_ms: link.expiresAtMs,
  })
  const { insertId } = await tx.run(insert, values)
  const made = toLink((await tx.query(`SELECT ${COLUMNS} FROM people_links WHERE id = ?`, [insertId]))[0]!)
  if (act !== null) await recordLink(tx, driver, made, act)
  return made
}

/** A reset is told to the person whom it is for; who asked for it by mail is that person. */
async function recordLink(tx: Transaction, driver: Driver, link: Link, act: Act): Promise<void> {
  const person = link.userId === null ? null : await lockUser(tx, link.userId)
  await checkActor(tx, act)
  if (person === null) return recordAction(tx, driver, act, { ...invitation(link), before: null, after: logged(link) })
  if (link.kind === 'reset' && act.actor.userId !== person.id)
    await addNotice(tx, person, { kind: 'reset_link', atMs: link.createdAtMs })
  const expires_at = iso(link.expiresAtMs)
  await recordAction(tx, driver, act, { ...subject(person), before: null, after: { link: link.kind, expires_at } })
}

export const USABLE = 'used_at_ms IS NULL AND expires_at_ms > ?'

export const MOST_INVITATIONS = 500

export function invitationsSql(accountId: number | null, atMs: number, limit: number): [sql: string, params: Param[]] {
  const account = accountId === null ? 'account_id IS NULL' : 'account_id = ?'
  const sql = `SELECT ${COLUMNS} FROM people_links WHERE kind = 'invitation' AND ${account} AND ${USABLE} ORDER BY id DESC LIMIT ?`
  return [sql, [...(accountId === null ? [] : [accountId]), atMs, limit]]
}

/** One of several that try at once gets true. */
export const use = async (tx: Pick<Transaction, 'run'>, id: number, atMs: number): Promise<boolean> =>
  (await tx.run(`UPDATE people_links SET used_at_ms = ? WHERE id = ? AND ${USABLE}`, [atMs, id, atMs])).changes > 0

/** Part of every change after which no link that was made for a user may work any more. */
export const endLinksOf = async (tx: Transaction, userId: number): Promise<void> => {
  await tx.run('DELETE FROM people_links WHERE user_id = ? AND used_at_ms IS NULL', [userId])
}

/** Part of every change after which no other invitation may bring somebody into an account. */
export const endInvitations = async (tx: Transaction, accountId: number, email: string): Promise<void> => {
  const of = "kind = 'invitation' AND account_id = ? AND email = ?"
  await tx.run(`DELETE FROM people_links WHERE ${of} AND used_at_ms IS NULL`, [accountId, email])
}

/** Part of every transaction for which a link is a permission. */
export async function useLink(tx: Transaction, kind: LinkKind, hash: string, atMs: number): Promise<Link | null> {
  const sql = `SELECT ${COLUMNS} FROM people_links WHERE hash = ? AND kind = ?`
  const [row] = await tx.query(sql, [hash, kind])
  if (row === undefined) return null
  const link = toLink(row)
  return (await use(tx, link.id, atMs)) ? link : null
}
