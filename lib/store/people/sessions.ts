/** Sessions, and the browsers from which users have signed in. */
import { publicId } from '../../base/ids.ts'
import type { Act, Person } from '../../base/people.ts'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import type { NewSession, Session } from './records.ts'
import { recordAction } from '../base/actions.ts'
import { integer, integerOrNull, text } from '../base/text.ts'
import { lockUser, markOf, PERSON_COLUMNS, personById, subject as user, toPerson } from './person.ts'
import { SignedOut } from '../base/errors.ts'

const COLUMNS = 's.id, s.public_id, s.user_id AS owner, s.created_at_ms, s.seen_at_ms, s.proven_at_ms, s.ip, s.agent'

const toSession = (row: Row): Session => ({
  id: integer(row, 'id'),
  publicId: text(row, 'public_id'),
  userId: integer(row, 'owner'),
  createdAtMs: integer(row, 'created_at_ms'),
  seenAtMs: integer(row, 'seen_at_ms'),
  provenAtMs: integerOrNull(row, 'proven_at_ms'),
  ip: text(row, 'ip'),
  agent: text(row, 'agent'),
})

/** What the log of actions says a session is: it names no secret, and the user by the actor or the operation. */
const subject = (id: string) => ({ subject: { kind: 'session' as const, id }, accountId: null })

/** Nobody is signed in at so many places; a program that signs in for every call may not fill the store. */
const MOST_SESSIONS = 200

async function endOldest(tx: Transaction, userId: number): Promise<void> {
  const newest = 'SELECT id FROM sessions WHERE user_id = ? ORDER BY id DESC LIMIT ? OFFSET ?'
  const old = await tx.query(newest, [userId, MOST_SESSIONS, MOST_SESSIONS])
  for (const row of old) await tx.run('DELETE FROM sessions WHERE id = ?', [integer(row, 'id')])
}

/** Part of every change after which whoever is signed in must sign in again. */
export const endAllSessions = async (tx: Transaction, userId: number): Promise<void> => {
  await tx.run('DELETE FROM sessions WHERE user_id = ?', [userId])
}

const MOST_DEVICES = 20

/** Sessions, and the browsers from which users have signed in. */
export class Sessions {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** Throws SignedOut when the user is disabled, or the credentials have another mark than the session is to be opened by. */
  create(session: NewSession, act: Act): Promise<Session> {
    return this.#driver.transaction('createSession', async tx => {
      const { hash, userId, atMs, provenAtMs, mark, ip, agent } = session
      const { status } = await lockUser(tx, userId)
      if (status !== 'active' || (mark !== null && mark !== (await markOf(tx, userId)))) throw new SignedOut()
      const id = publicId()
      const insert =
        'INSERT INTO sessions (public_id, hash, user_id, created_at_ms, seen_at_ms, proven_at_ms, ip, agent) ' +
        'VALUES (?, ?, ?, ?, ?, ?, ?, ?)'
      const { insertId } = await tx.run(insert, [id, hash, userId, atMs, atMs, provenAtMs, ip, agent])
      await endOldest(tx, userId)
      await recordAction(tx, this.#driver, act, { ...subject(id), before: null, after: {} })
      const [row] = await tx.query(`SELECT ${COLUMNS} FROM sessions s WHERE s.id = ?`, [insertId])
      return toSession(row!)
    })
  }

  /** What the cookie leads to, whether or not it has ended. */
  async read(hash: string): Promise<{ session: Session; person: Person } | null> {
    const sql = `SELECT ${COLUMNS}, ${PERSON_COLUMNS} FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.hash = ?`
    const [row] = await this.#driver.query('session', sql, [hash])
    return row === undefined ? null : { session: toSession(row), person: toPerson(row) }
  }

  async seen(id: number, atMs: number, ip: string, agent: string): Promise<void> {
    const update = 'UPDATE sessions SET seen_at_ms = ?, ip = ?, agent = ? WHERE id = ? AND seen_at_ms < ?'
    await this.#driver.run('seen', update, [atMs, ip, agent, id, atMs])
  }

  /** The user has proven again who it is: the session goes on under a new secret. False = it has ended meanwhile. */
  async prove(id: number, hash: string, atMs: number): Promise<boolean> {
    return (
      (await this.#driver.run('prove', 'UPDATE sessions SET hash = ?, proven_at_ms = ? WHERE id = ?', [hash, atMs, id]))
        .changes > 0
    )
  }

  async list(userId: number): Promise<Session[]> {
    return (
      await this.#driver.query(
        'session',
        `SELECT ${COLUMNS} FROM sessions s WHERE s.user_id = ? ORDER BY s.id DESC LIMIT ?`,
        [userId, MOST_SESSIONS],
      )
    ).map(toSession)
  }

  /** Ends one session of the user; false = there is no such session. */
  end(userId: number, id: string, act: Act): Promise<boolean> {
    return this.#driver.transaction('endSession', async tx => {
      const { changes } = await tx.run('DELETE FROM sessions WHERE user_id = ? AND public_id = ?', [userId, id])
      if (changes > 0) await recordAction(tx, this.#driver, act, { ...subject(id), before: {}, after: null })
      return changes > 0
    })
  }

  /** Ends all sessions of the user but one, and returns how many. */
  endAll(userId: number, exceptId: number | null, act: Act): Promise<number> {
    return this.#driver.transaction('endSession', async tx => {
      const { changes } = await tx.run('DELETE FROM sessions WHERE user_id = ? AND id <> ?', [userId, exceptId ?? 0])
      if (changes > 0) {
        const after = { ended_sessions: changes }
        await recordAction(tx, this.#driver, act, { ...user(await personById(tx, userId)), before: null, after })
      }
      return changes
    })
  }

  addDevice(hash: string, userId: number, atMs: number): Promise<void> {
    return this.#driver.transaction('addDevice', async tx => {
      await tx.run('INSERT INTO devices (hash, user_id, seen_at_ms) VALUES (?, ?, ?)', [hash, userId, atMs])
      const newest = 'SELECT hash FROM devices WHERE user_id = ? ORDER BY seen_at_ms DESC, hash'
      const old = (await tx.query(newest, [userId])).slice(MOST_DEVICES)
      for (const row of old) await tx.run('DELETE FROM devices WHERE hash = ?', [text(row, 'hash')])
    })
  }

  async deviceUser(hash: string): Promise<number | null> {
    const [row] = await this.#driver.query('device', 'SELECT user_id FROM devices WHERE hash = ?', [hash])
    return row === undefined ? null : integer(row, 'user_id')
  }
}
