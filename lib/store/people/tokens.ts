/** Personal tokens, and what users are called by OpenID providers. */
import { iso } from '../../base/clock.ts'
import { createHash } from 'node:crypto'
import { publicId } from '../../base/ids.ts'
import type { Act, Person, Scope } from '../../base/people.ts'
import { asConflict, type Driver, type Row, type Transaction } from '../base/driver.ts'
import type { Identified, NewPersonalToken, PersonalToken } from './records.ts'
import { StoreFull } from '../base/errors.ts'
import { checkActor, recordAction } from '../base/actions.ts'
import { integer, integerOrNull, jsonOrNull, text, toJson } from '../base/text.ts'
import { PERSON_COLUMNS, checkWayIn, lockUser, subject, toPerson } from './person.ts'

const TOKEN_COLUMNS =
  't.id, t.public_id, t.user_id AS owner, t.name, t.hint, t.scope, t.allow_ips, t.created_at_ms, t.expires_at_ms, t.used_at_ms'

const toToken = (row: Row): PersonalToken => ({
  id: integer(row, 'id'),
  publicId: text(row, 'public_id'),
  userId: integer(row, 'owner'),
  name: text(row, 'name'),
  hint: text(row, 'hint'),
  scope: text(row, 'scope') as Scope,
  allowIps: jsonOrNull(row, 'allow_ips'),
  createdAtMs: integer(row, 'created_at_ms'),
  expiresAtMs: integer(row, 'expires_at_ms'),
  usedAtMs: integerOrNull(row, 'used_at_ms'),
})

const MOST_TOKENS = 100

const identityId = (issuer: string, subject: string): string =>
  createHash('sha256').update(`${issuer}\0${subject}`, 'utf8').digest('hex')

type NewIdentity = Identified & { userId: number; atMs: number }

const MOST_IDENTITIES = 20

/** Throws DuplicateKey when the identity belongs to a user. */
export async function insertIdentity(
  tx: Transaction,
  driver: Driver,
  { issuer, subject: sub, userId, atMs }: NewIdentity,
  act: Act,
): Promise<void> {
  const person = await lockUser(tx, userId)
  await checkActor(tx, act)
  const there = await tx.query('SELECT id FROM identities WHERE user_id = ?', [userId])
  if (there.length >= MOST_IDENTITIES)
    throw new StoreFull({
      zh: `您已关联 ${MOST_IDENTITIES} 个身份：请先解除一些`,
      en: `${MOST_IDENTITIES} identities are linked with you: end some first`,
    })
  const insert = 'INSERT INTO identities (id, issuer, user_id, created_at_ms) VALUES (?, ?, ?, ?)'
  await tx.run(insert, [identityId(issuer, sub), issuer, userId, atMs])
  await recordAction(tx, driver, act, { ...subject(person), before: null, after: { identity_of: issuer } })
}

export class Tokens {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  create(token: NewPersonalToken, act: Act): Promise<PersonalToken> {
    return this.#driver.transaction('createToken', async tx => {
      const { userId, name, hash, hint, scope, allowIps, createdAtMs, expiresAtMs } = token
      await lockUser(tx, userId)
      await checkActor(tx, act)
      const there = await tx.query('SELECT id FROM personal_tokens WHERE user_id = ?', [userId])
      if (there.length >= MOST_TOKENS)
        throw new StoreFull({
          zh: `您已有 ${MOST_TOKENS} 个访问令牌：请先删除不用的令牌`,
          en: `you have ${MOST_TOKENS} tokens: end some that you do not use`,
        })
      const id = publicId()
      const insert =
        'INSERT INTO personal_tokens (public_id, hash, hint, user_id, name, scope, allow_ips, created_at_ms, expires_at_ms) ' +
        'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'
      const values = [id, hash, hint, userId, name, scope, toJson(allowIps), createdAtMs, expiresAtMs]
      const { insertId } = await tx.run(insert, values)
      const made = toToken(
        (await tx.query(`SELECT ${TOKEN_COLUMNS} FROM personal_tokens t WHERE t.id = ?`, [insertId]))[0]!,
      )
      const after = { name, scope, allow_ips: allowIps, expires_at: iso(expiresAtMs) }
      await recordAction(tx, this.#driver, act, {
        subject: { kind: 'token', id },
        accountId: null,
        before: null,
        after,
      })
      return made
    })
  }

  async read(hash: string): Promise<{ token: PersonalToken; person: Person } | null> {
    const sql = `SELECT ${TOKEN_COLUMNS}, ${PERSON_COLUMNS} FROM personal_tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = ?`
    const [row] = await this.#driver.query('token', sql, [hash])
    return row === undefined ? null : { token: toToken(row), person: toPerson(row) }
  }

  async list(userId: number): Promise<PersonalToken[]> {
    return (
      await this.#driver.query(
        'token',
        `SELECT ${TOKEN_COLUMNS} FROM personal_tokens t WHERE t.user_id = ? ORDER BY t.id DESC`,
        [userId],
      )
    ).map(toToken)
  }

  async used(id: number, atMs: number): Promise<void> {
    await this.#driver.run('token', 'UPDATE personal_tokens SET used_at_ms = ? WHERE id = ?', [atMs, id])
  }

  end(userId: number, id: string, act: Act): Promise<boolean> {
    return this.#driver.transaction('endToken', async tx => {
      const own = [userId, id]
      const { changes } = await tx.run('DELETE FROM personal_tokens WHERE user_id = ? AND public_id = ?', own)
      if (changes > 0)
        await recordAction(tx, this.#driver, act, {
          subject: { kind: 'token', id },
          accountId: null,
          before: {},
          after: null,
        })
      return changes > 0
    })
  }
}

/** Ends all of a user, whose row is locked. */
export async function endIdentities(tx: Transaction, driver: Driver, person: Person, act: Act): Promise<void> {
  const rows = await tx.query('SELECT issuer FROM identities WHERE user_id = ? ORDER BY id', [person.id])
  await tx.run('DELETE FROM identities WHERE user_id = ?', [person.id])
  for (const row of rows)
    await recordAction(tx, driver, act, {
      ...subject(person),
      before: { identity_of: text(row, 'issuer') },
      after: null,
    })
}

/** What users are called by OpenID providers. */
export class IdentityRows {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  async userOf(issuer: string, sub: string): Promise<number | null> {
    const [row] = await this.#driver.query('identity', 'SELECT user_id FROM identities WHERE id = ?', [
      identityId(issuer, sub),
    ])
    return row === undefined ? null : integer(row, 'user_id')
  }

  /** Throws StoreConflict when the identity belongs to a user, and StoreFull when the user has many. */
  async add(identity: NewIdentity, act: Act): Promise<void> {
    const added = this.#driver.transaction('identity', tx => insertIdentity(tx, this.#driver, identity, act))
    await added.catch(asConflict({ zh: '此身份已属于一个用户', en: 'this identity belongs to a user already' }))
  }

  async list(userId: number) {
    return (
      await this.#driver.query(
        'identity',
        'SELECT id, issuer, created_at_ms FROM identities WHERE user_id = ? ORDER BY id',
        [userId],
      )
    ).map(row => ({ id: text(row, 'id'), issuer: text(row, 'issuer'), createdAtMs: integer(row, 'created_at_ms') }))
  }

  /** Throws StoreConflict when it is the user's only way in. */
  end(userId: number, id: string, act: Act): Promise<boolean> {
    return this.#driver.transaction('identity', async tx => {
      const person = await lockUser(tx, userId)
      const [row] = await tx.query('SELECT issuer FROM identities WHERE user_id = ? AND id = ?', [userId, id])
      if (row === undefined) return false
      await tx.run('DELETE FROM identities WHERE user_id = ? AND id = ?', [userId, id])
      await checkWayIn(tx, userId)
      const before = { identity_of: text(row, 'issuer') }
      await recordAction(tx, this.#driver, act, { ...subject(person), before, after: null })
      return true
    })
  }
}
