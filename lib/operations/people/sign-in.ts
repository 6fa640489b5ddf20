/**
 * Sign-in by password, and then by a second factor where there is one. An unknown e-mail, a wrong password and a
 * disabled user get the same answer after the same time.
 */
import { z } from 'zod'
import { canonicalEmail, type Person } from '../../base/people.ts'
import { hashOf, isToken, newToken } from '../../base/secrets.ts'
import { OperationError, both } from '../error.ts'
import { type By, type PeopleDeps, LINK_GONE, NO_SUCH_USER } from './deps.ts'
import { useCode } from './factors.ts'
import { typedPassword } from './passwords.ts'
import { isProven, type Opened, openSession, PROOF_MS } from './sessions.ts'
import { networkOf, type Try, tryCode, trySignIn, tryStepUp, tryUnknown } from './throttle.ts'

/** How long the second half of a sign-in may take. */
const CHALLENGE_MS = 10 * 60_000
const MOST_CODE = 64

export const signInForm = z.strictObject({ email: z.string().max(400), password: typedPassword })
export const factorForm = z.strictObject({ challenge: z.string().max(100), code: z.string().max(MOST_CODE) })
export const stepUpForm = z.union([
  z.strictObject({ password: typedPassword }),
  z.strictObject({ code: z.string().max(MOST_CODE) }),
])

const WRONG = () => new OperationError('forbidden', both('邮箱或密码不正确', 'the e-mail or the password is not right'))

/** The hash of this browser's device token, when it belongs to the person. */
async function knownDevice({ store }: PeopleDeps, device: string | null, person: Person | null) {
  const hash = hashOf(isToken(device) ? device : '')
  const owner = await store.people.sessions.deviceUser(hash)
  return owner !== null && owner === person?.id ? hash : null
}

export type SignedIn = { state: 'signed_in'; opened: Opened } | { state: 'second_factor'; challenge: string }

/** `device`: the secret of the cookie that this browser has, if any. */
export async function signIn(
  deps: PeopleDeps,
  by: By,
  device: string | null,
  form: z.output<typeof signInForm>,
): Promise<SignedIn> {
  const { store, passwords } = deps
  const email = canonicalEmail(form.email) ?? form.email.trim().toLowerCase()
  const person = await store.people.users.byEmail(email)
  const known = await knownDevice(deps, device, person)
  const counted = await trySignIn(deps, email, by.ip, known)
  const credentials = await store.people.credentials.of(person?.id ?? 0)
  const phc = credentials?.password ?? null
  const seat = { network: known ?? networkOf(by.ip), known: known !== null }
  const { right, stale } = await passwords.verify(form.password, phc, seat)
  if (!right || person === null || person.status !== 'active') {
    deps.log.info({ ip: by.ip }, 'a sign-in failed')
    throw WRONG()
  }
  await counted.succeeded()
  if (stale && phc !== null)
    await store.people.credentials.rehash(person.id, phc, await passwords.hash(form.password, seat))
  return signedIn(deps, by, person, known, 'sign_in.password')
}

/** Goes on with the second factor, or opens the session where there is none. `provenAtMs`: as for `openSession`. */
export async function signedIn(
  deps: PeopleDeps,
  by: By,
  person: Person,
  device: string | null,
  operation: string,
  provenAtMs?: number | null,
): Promise<SignedIn> {
  if (!person.secondFactor)
    return { state: 'signed_in', opened: await openSession(deps, by, person, device, operation, provenAtMs) }
  const challenge = newToken()
  const createdAtMs = deps.clock.now()
  await deps.store.people.links.create(
    {
      kind: 'factor',
      hash: hashOf(challenge),
      email: null,
      userId: person.id,
      accountId: null,
      role: null,
      operator: false,
      doc: null,
      createdAtMs,
      expiresAtMs: createdAtMs + CHALLENGE_MS,
    },
    null,
  )
  return { state: 'second_factor', challenge }
}

export async function signInFactor(
  deps: PeopleDeps,
  by: By,
  device: string | null,
  form: z.output<typeof factorForm>,
): Promise<Opened> {
  const { store, clock } = deps
  const hash = hashOf(form.challenge)
  const asked = await tryUnknown(deps, by.ip)
  const link = await store.people.links.read('factor', hash, clock.now())
  const person = link?.userId == null ? null : await store.people.users.byId(link.userId)
  if (person === null || person.status !== 'active') throw LINK_GONE()
  const known = await knownDevice(deps, device, person)
  const counted = await tryCode(deps, person.id, known)
  await useCode(deps, person.id, form.code)
  if ((await store.people.links.use('factor', hash, clock.now())) === null) throw LINK_GONE()
  await Promise.all([counted.succeeded(), asked.succeeded()])
  return openSession(deps, by, person, known, 'sign_in.second_factor')
}

/** The caller proves again who it is. The session goes on under the secret that is returned. */
export async function stepUp(
  deps: PeopleDeps,
  by: By,
  form: z.output<typeof stepUpForm>,
): Promise<{ session: string; validUntilMs: number }> {
  const { store, clock, passwords } = deps
  const [userId, sessionId] = [by.user!.id, by.sessionId!]
  const counted: Try = await tryStepUp(deps, sessionId)
  if ('code' in form) await useCode(deps, userId, form.code)
  else {
    const credentials = await store.people.credentials.of(userId)
    const seat = { network: `session ${sessionId}`, known: true }
    const { right } = await passwords.verify(form.password, credentials?.password ?? null, seat)
    if (!right) throw new OperationError('forbidden', both('密码不正确', 'the password is not right'))
  }
  await counted.succeeded()
  return renewProof(deps, sessionId, clock.now())
}

export async function renewProof({ store }: PeopleDeps, sessionId: number, atMs: number) {
  const session = newToken()
  if (!(await store.people.sessions.prove(sessionId, hashOf(session), atMs))) throw NO_SUCH_USER()
  return { session, validUntilMs: atMs + PROOF_MS }
}

export { isProven }
