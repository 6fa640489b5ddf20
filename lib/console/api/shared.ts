/** What several tables of calls share. */
import { z } from 'zod'
import type { Call } from '../../api/operation.ts'
import { type By, NO_SUCH_USER } from '../../operations/people/deps.ts'
import { type Opened, openSession } from '../../operations/people/sessions.ts'
import type { Person } from '../../base/people.ts'
import { type Jar, keepOpened, readCookie } from '../sign-in/cookies.ts'
import type { ConsoleDeps } from './deps.ts'

/** The part of a path that names a row. */
export const rowId = z.strictObject({ id: z.string().max(200) })

export const jarOf = (deps: ConsoleDeps, { cookies }: Pick<Call, 'cookies'>): Jar => ({
  cookies,
  site: deps.config().public,
})

export const deviceOf = (deps: ConsoleDeps, call: Pick<Call, 'cookies'>): string | null =>
  readCookie(jarOf(deps, call), 'device')

export async function personOf({ store }: ConsoleDeps, { user }: By): Promise<Person> {
  const person = user === null ? null : await store.people.users.byId(user.id)
  if (person === null) throw NO_SUCH_USER()
  return person
}

/**
 * Does what ends all sessions of the caller, and opens a new one for the session that the caller had: who changes a
 * password stays signed in, and nobody else does. Browsers are forgotten with it, so this one is known anew.
 */
export async function andSignInAgain<T>(
  deps: ConsoleDeps,
  call: Pick<Call, 'cookies' | 'caller'>,
  work: () => Promise<T>,
): Promise<T> {
  const { caller } = call
  const done = await work()
  if (caller.sessionId === null) return done
  const person = await personOf(deps, caller)
  const opened: Opened = await openSession(deps, caller, person, null, 'sign_in.renewed', caller.provenAtMs)
  keepOpened(jarOf(deps, call), opened)
  return done
}
