/** What several tables of calls share: what operations are given, the cookies of sign-in, and who sees what of an account. */
import { z } from 'zod'
import { type Jar, keepOpened, readCookie } from '../sign-in/identities.ts'
import type { Call, HandOver } from '../../api/operation.ts'
import type { Person } from '../../base/people.ts'
import type { PublicCatalogue } from '../../operations/catalogue/public-catalogue.ts'
import { type By, NO_SUCH_USER, type PeopleDeps } from '../../operations/people/deps.ts'
import { type Opened, UserSessions } from '../../operations/people/sign-in.ts'
import type { DryRun } from '../../operations/usage/requests.ts'
import type { AccountReader } from '../../operations/usage/filters.ts'
import type { PaymentService } from '../../pay/service.ts'
import { may, seesOwnOnly } from '../../../web/shared/roles.ts'

/** Makes a request of the models' API with a key, by the hash of its secret, over the connection of the call. */
export type AskByKey = (asked: { keyHash: string; url: string }) => HandOver

export interface ConsoleDeps extends PeopleDeps {
  /** One for the whole process, because it keeps what many people ask for. */
  catalogue: PublicCatalogue
  /** Tries out a key in this process, without asking an upstream. */
  dryRun: DryRun
  ask: AskByKey
  /** Whether the process is ending: event streams end first. */
  isDraining: () => boolean
  /** Orders and the ways to pay. */
  pay: () => Promise<PaymentService>
}

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
 * password stays signed in, and nobody else does. Browsers are forgotten with it, so this one is known anew. No session opens when the
 * credentials are no longer those that `work` has left, by their mark: whoever has changed them since has ended all sessions, too.
 */
export async function andSignInAgain<T extends { mark: string }>(
  deps: ConsoleDeps,
  call: Pick<Call, 'cookies' | 'caller'>,
  work: () => Promise<T>,
): Promise<Omit<T, 'mark'>> {
  const { caller } = call
  const { mark, ...done } = await work()
  if (caller.sessionId === null) return done
  const person = await personOf(deps, caller)
  const sessions = new UserSessions(deps)
  const opened: Opened = await sessions.open(caller, person, null, 'sign_in.renewed', caller.provenAtMs, mark)
  keepOpened(jarOf(deps, call), opened)
  return done
}

export async function readerOf({ store }: ConsoleDeps, { account, caller }: Call): Promise<AccountReader> {
  const keyIds = seesOwnOnly(caller.role) ? await store.keys.idsOf(account.id, caller.user!.id) : null
  return { account, keyIds }
}

/** Who is a member is for those who see all of the account. */
export const seesMembers = ({ caller: { role } }: Pick<Call, 'caller'>): boolean =>
  role === null || may(role, 'readMembers')

/** Operators see channels and costs too, in a session of their own. */
export const seesInternals = ({ caller }: Pick<Call, 'caller'>): boolean =>
  caller.user?.operator === true && caller.tokenId === null
