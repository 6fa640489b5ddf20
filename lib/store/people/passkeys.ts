/**
 * Passkeys: the public keys by which users sign in. A challenge is a sealed text, which says until when it may be answered and what it
 * was made for: one that nobody answers leaves nothing in the store, and any gateway of the store knows one of another. Its answer is
 * written down, in the transaction in which it counts, so that there is no second one.
 */
import { hashOf } from '../../base/secrets.ts'
import { publicId } from '../../base/ids.ts'
import type { Act, Person } from '../../base/people.ts'
import { asConflict, type Driver, type Row, type Transaction } from '../base/driver.ts'
import { StoreFull } from '../base/errors.ts'
import type { Answered, NewPasskey, Passkey } from './records.ts'
import type { Sealer } from '../catalogue/sealer.ts'
import { recordAction } from '../base/actions.ts'
import { integer, integerOrNull, json, text, toJson } from '../base/text.ts'
import { writeCredentials } from './credentials.ts'
import { checkWayIn, lockUser, PERSON_COLUMNS, subject, toPerson } from './person.ts'

const COLUMNS =
  'k.id, k.public_id, k.user_id AS owner, k.credential, k.public_key, k.counter, k.transports, k.name, k.synced, k.alone, ' +
  'k.created_at_ms, k.used_at_ms'

const toPasskey = (row: Row): Passkey => ({
  id: integer(row, 'id'),
  publicId: text(row, 'public_id'),
  userId: integer(row, 'owner'),
  credential: text(row, 'credential'),
  publicKey: text(row, 'public_key'),
  counter: integer(row, 'counter'),
  transports: json(row, 'transports'),
  name: text(row, 'name'),
  synced: integer(row, 'synced') === 1,
  alone: integer(row, 'alone') === 1,
  createdAtMs: integer(row, 'created_at_ms'),
  usedAtMs: integerOrNull(row, 'used_at_ms'),
})

export const MOST_PASSKEYS = 20

export const tooManyPasskeys = () =>
  new StoreFull({
    zh: `您已有 ${MOST_PASSKEYS} 个通行密钥：请先删除一些`,
    en: `you have ${MOST_PASSKEYS} passkeys: delete some first`,
  })

/** False = the challenge was answered before. One of several that try at once gets true. */
async function answer(tx: Transaction, { dialect }: Driver, { hash, untilMs }: Answered, atMs: number) {
  const insert =
    `INSERT ${dialect.ignore} INTO people_links (public_id, kind, hash, operator, created_at_ms, expires_at_ms, used_at_ms) ` +
    "VALUES (?, 'passkey', ?, 0, ?, ?, ?)"
  return (await tx.run(insert, [publicId(), hash, atMs, untilMs, atMs])).changes > 0
}

async function insertPasskey(tx: Transaction, userId: number, passkey: NewPasskey): Promise<Passkey> {
  const { credential, publicKey, counter, transports, name, synced, atMs } = passkey
  const insert =
    'INSERT INTO passkeys (public_id, user_id, hash, credential, public_key, counter, transports, name, synced, alone, created_at_ms) ' +
    'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)'
  const known = [publicId(), userId, hashOf(credential), credential, publicKey, counter]
  const { insertId } = await tx.run(insert, [...known, toJson(transports), name, synced ? 1 : 0, atMs])
  return toPasskey((await tx.query(`SELECT ${COLUMNS} FROM passkeys k WHERE k.id = ?`, [insertId]))[0]!)
}

/** How an answer was taken. `counter`: the authenticator counts less than it did before, so there may be a copy of it. */
type PasskeyUse = 'used' | 'answered before' | 'counter' | 'gone'

export class PasskeyRows {
  readonly #driver: Driver
  readonly #sealer: Sealer

  constructor(driver: Driver, sealer: Sealer) {
    this.#driver = driver
    this.#sealer = sealer
  }

  /** In base64url, as browsers take it. `boundTo`: what may be done with the answer, and where. */
  challenge(boundTo: string, untilMs: number): string {
    return Buffer.from(this.#sealer.seal(String(untilMs), `passkey:${boundTo}`), 'utf8').toString('base64url')
  }

  /** null = the challenge is none that was made for this, or its time is over. */
  answered(challenge: string, boundTo: string, atMs: number): Answered | null {
    const sealed = Buffer.from(challenge, 'base64url').toString('utf8')
    const untilMs = Number(this.#sealer.open(sealed, `passkey:${boundTo}`)?.plain ?? 0)
    return untilMs > atMs ? { hash: hashOf(sealed), untilMs } : null
  }

  async list(userId: number): Promise<Passkey[]> {
    const sql = `SELECT ${COLUMNS} FROM passkeys k WHERE k.user_id = ? ORDER BY k.id`
    return (await this.#driver.query('passkey', sql, [userId])).map(toPasskey)
  }

  async byCredential(credential: string): Promise<{ passkey: Passkey; person: Person } | null> {
    const sql = `SELECT ${COLUMNS}, ${PERSON_COLUMNS} FROM passkeys k JOIN users u ON u.id = k.user_id WHERE k.hash = ?`
    const [row] = await this.#driver.query('passkey', sql, [hashOf(credential)])
    return row === undefined ? null : { passkey: toPasskey(row), person: toPerson(row) }
  }

  /**
   * Ends all sessions, as every change of factors does; `mark`: as of `CredentialRows.set`. `recoveryCodes` count where this is the user's first factor, as `isFirst` says.
   * null = the challenge was answered before. Throws StoreConflict when somebody has this passkey, and StoreFull when the user has many.
   */
  async add(
    userId: number,
    passkey: NewPasskey,
    answered: Answered,
    recoveryCodes: readonly string[],
    act: Act,
  ): Promise<{ passkey: Passkey; isFirst: boolean; mark: string } | null> {
    const added = this.#driver.transaction('addPasskey', async tx => {
      const person = await lockUser(tx, userId)
      if (!(await answer(tx, this.#driver, answered, passkey.atMs))) return null
      if (person.passkeys >= MOST_PASSKEYS) throw tooManyPasskeys()
      const made = await insertPasskey(tx, userId, passkey)
      const isFirst = !person.secondFactor
      const change = { passkey: { after: passkey.name }, ...(isFirst ? { recoveryCodes } : {}) }
      const mark = await writeCredentials(tx, this.#driver, person, change, act)
      return { passkey: made, isFirst, mark }
    })
    return added.catch(asConflict({ zh: '此通行密钥已添加过', en: 'this passkey was added before' }))
  }

  /** Takes an answer whose signature is right. From then on the passkey signs in alone, unless the password was reset since the passkey was read. */
  use(
    { id, alone }: Pick<Passkey, 'id' | 'alone'>,
    now: Pick<Passkey, 'counter' | 'synced'>,
    answered: Answered,
    atMs: number,
  ): Promise<PasskeyUse> {
    return this.#driver.transaction('usePasskey', async tx => {
      if (!(await answer(tx, this.#driver, answered, atMs))) return 'answered before'
      await tx.run('UPDATE passkeys SET name = name WHERE id = ?', [id])
      const [row] = await tx.query('SELECT counter, alone FROM passkeys WHERE id = ?', [id])
      if (row === undefined || (integer(row, 'alone') === 1) !== alone) return 'gone'
      const before = integer(row, 'counter')
      // authenticators that do not count say 0 each time
      if (now.counter <= before && (now.counter > 0 || before > 0)) return 'counter'
      const update = 'UPDATE passkeys SET counter = ?, synced = ?, alone = 1, used_at_ms = ? WHERE id = ?'
      await tx.run(update, [now.counter, now.synced ? 1 : 0, atMs, id])
      return 'used'
    })
  }

  /** False = the user has no such passkey. */
  async rename(userId: number, id: string, name: string, act: Act): Promise<boolean> {
    const renamed = await this.#change('renamePasskey', userId, id, async (tx, person, passkey) => {
      await tx.run('UPDATE passkeys SET name = ? WHERE id = ?', [name, passkey.id])
      const [before, after] = [{ passkey: passkey.name }, { passkey: name }]
      await recordAction(tx, this.#driver, act, { ...subject(person), before, after })
    })
    return renamed !== null
  }

  /** Ends all sessions, and returns what `CredentialRows.set` does; null = there is no such passkey. Throws StoreConflict when it is the only way in. */
  remove(userId: number, id: string, act: Act): Promise<string | null> {
    return this.#change('removePasskey', userId, id, async (tx, person, passkey) => {
      await tx.run('DELETE FROM passkeys WHERE id = ?', [passkey.id])
      await checkWayIn(tx, userId)
      return writeCredentials(tx, this.#driver, person, { passkey: { before: passkey.name } }, act)
    })
  }

  #change<T>(
    op: string,
    userId: number,
    id: string,
    change: (tx: Transaction, person: Person, passkey: Passkey) => Promise<T>,
  ): Promise<T | null> {
    return this.#driver.transaction(op, async tx => {
      const person = await lockUser(tx, userId)
      const sql = `SELECT ${COLUMNS} FROM passkeys k WHERE k.user_id = ? AND k.public_id = ?`
      const [row] = await tx.query(sql, [userId, id])
      return row === undefined ? null : change(tx, person, toPasskey(row))
    })
  }
}
