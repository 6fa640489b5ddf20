/**
 * Sessions. The secret of a session stands in a cookie and is new with every sign-in and every step-up; the store has
 * its SHA-256. A session ends when nobody uses it for a while, some time after the sign-in in any case, and whenever
 * its user's password, factors, role or status change.
 */
import type { Session } from '../../store/people/records.ts'
import { hashOf, newToken } from '../../base/secrets.ts'
import type { Person } from '../../base/people.ts'
import { OperationError, both } from '../error.ts'
import { actAs, actBy, type By, type PeopleDeps } from './deps.ts'

const HOUR_MS = 3_600_000
const LIMITS = {
  user: { idleMs: 7 * 24 * HOUR_MS, absoluteMs: 30 * 24 * HOUR_MS },
  operator: { idleMs: 12 * HOUR_MS, absoluteMs: 24 * HOUR_MS },
}

/** How long the proof of a password or a code counts as fresh. */
export const PROOF_MS = 10 * 60_000

const limitsOf = ({ operator }: Pick<Person, 'operator'>) => (operator ? LIMITS.operator : LIMITS.user)

/** The moment at which a session ends if nobody uses it any more. */
export function endOf(session: Pick<Session, 'createdAtMs' | 'seenAtMs'>, person: Pick<Person, 'operator'>): number {
  const { idleMs, absoluteMs } = limitsOf(person)
  return Math.min(session.seenAtMs + idleMs, session.createdAtMs + absoluteMs)
}

export const isProven = (provenAtMs: number | null, nowMs: number): boolean =>
  provenAtMs !== null && nowMs - provenAtMs < PROOF_MS

/** A session that has just been opened: the secrets that go into cookies. */
export interface Opened {
  person: Person
  session: string
  /** A token by which this browser is known from now on; null = it has one already. */
  device: string | null
}

/**
 * Opens a session. `device`: the hash of this browser's token, if known. `provenAtMs`: when the person has proven who it
 * is, which is now unless somebody else vouches for it.
 */
export async function openSession(
  deps: PeopleDeps,
  by: By,
  person: Person,
  device: string | null,
  operation: string,
  provenAtMs: number | null = deps.clock.now(),
): Promise<Opened> {
  const { store, clock } = deps
  const secret = newToken()
  const atMs = clock.now()
  const { ip, agent } = by
  const session = { hash: hashOf(secret), userId: person.id, atMs, provenAtMs, ip, agent }
  await store.people.sessions.create(session, actAs(person, by, operation))
  if (device !== null) return { person, session: secret, device: null }
  const token = newToken()
  await store.people.sessions.addDevice(hashOf(token), person.id, atMs)
  return { person, session: secret, device: token }
}

const NO_SESSION = () => new OperationError('missing', both('没有此会话', 'there is no such session'))

export async function listSessions({ store, clock }: PeopleDeps, by: By, person: Person) {
  const nowMs = clock.now()
  const sessions = (await store.people.sessions.list(person.id)).filter(session => endOf(session, person) > nowMs)
  return { data: sessions.map(session => showSession(session, person, by.sessionId)), next: null }
}

const showSession = (session: Session, person: Person, current: number | null) => ({
  id: session.publicId,
  current: session.id === current,
  created_at: new Date(session.createdAtMs).toISOString(),
  seen_at: new Date(session.seenAtMs).toISOString(),
  ends_at: new Date(endOf(session, person)).toISOString(),
  ip: session.ip,
  agent: session.agent,
})

export async function endSession({ store }: PeopleDeps, by: By, id: string): Promise<void> {
  const ended = await store.people.sessions.end(by.user!.id, id, actBy(by, 'sessions.end'))
  if (!ended) throw NO_SESSION()
}

export async function endOtherSessions({ store }: PeopleDeps, by: By): Promise<{ ended: number }> {
  return { ended: await store.people.sessions.endAll(by.user!.id, by.sessionId, actBy(by, 'sessions.end_others')) }
}

/** Ends the session of the caller; without one it does nothing, because a second click is no error. */
export async function signOut({ store }: PeopleDeps, by: By, secret: string | null): Promise<void> {
  const found = secret === null ? null : await store.people.sessions.read(hashOf(secret))
  if (found === null) return
  const { session, person } = found
  await store.people.sessions.end(person.id, session.publicId, actAs(person, by, 'sign_in.sign_out'))
}
