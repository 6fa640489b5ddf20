/**
 * Signing in: by password and then by a second factor where there is one, by a passkey, by an OpenID provider, or by a link that
 * `npm start` prints; and the sessions that are opened so. An unknown e-mail, a wrong password and a disabled user get the same answer
 * after the same time.
 *
 * The secret of a session stands in a cookie and is new with every sign-in and every step-up; the store has its SHA-256. A
 * session ends when nobody uses it for a while, some time after the sign-in in any case, and whenever its user's password,
 * factors, role or status change.
 */
import { HOUR_MS, iso } from '../../base/clock.ts'
import { BlockList, isIPv6 } from 'node:net'
import { z } from 'zod'
import { type Words, type Act, GATEWAY, type Person, canonicalEmail } from '../../base/people.ts'
import { hashOf, isToken, newToken } from '../../base/secrets.ts'
import { asName } from '../../config/scalars.ts'
import type { Session } from '../../store/people/records.ts'
import type { Account } from '../../terms/records.ts'
import { OperationError, both } from '../error.ts'
import { type By, LINK_GONE, NO_SUCH_USER, type PeopleDeps, WRONG_CODE, actAs, actBy } from './deps.ts'
import { networkOf } from '../../base/network.ts'
import { newLink } from './links.ts'
import { assertionForm, PasskeyProofs } from './passkeys.ts'
import { typedPassword } from './passwords.ts'
import { type Try, tryCode, trySignIn, tryStepUp, tryUnknown } from './throttle.ts'
import { isRecoveryCode, recoveryHash, stepOf } from './totp.ts'
import { WaysIn } from './joining.ts'
import { SignedOut } from '../../store/base/errors.ts'

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

const NO_SESSION = () => new OperationError('missing', both('没有此会话', 'there is no such session'))

const showSession = (session: Session, person: Person, current: number | null) => ({
  id: session.publicId,
  current: session.id === current,
  created_at: iso(session.createdAtMs),
  seen_at: iso(session.seenAtMs),
  ends_at: iso(endOf(session, person)),
  ip: session.ip,
  agent: session.agent,
})

/** How long the second half of a sign-in may take. */
const CHALLENGE_MS = 10 * 60_000
const MOST_CODE = 64

export const signInForm = z.strictObject({ email: z.string().max(400), password: typedPassword })
const challenge = z.string().max(100)
const code = z.string().max(MOST_CODE)
export const factorForm = z.union([
  z.strictObject({ challenge, code }),
  z.strictObject({ challenge, passkey: assertionForm }),
])
export const stepUpForm = z.union([
  z.strictObject({ password: typedPassword }),
  z.strictObject({ code }),
  z.strictObject({ passkey: assertionForm }),
])
/** `challenge`: of the sign-in whose second step is to come. */
export const passkeyAskForm = z.strictObject({ challenge: challenge.optional() })
export const passkeySignInForm = z.strictObject({ passkey: assertionForm })

/** What challenges of passkeys are bound to. `browser`: the secret of the cookie that belongs to a sign-in. */
const BOUND = {
  signIn: (browser: string) => `sign in ${hashOf(browser)}`,
  secondFactor: (hash: string) => `second factor ${hash}`,
  stepUp: (sessionId: number) => `step up ${sessionId}`,
}

const WRONG = () => new OperationError('forbidden', both('邮箱或密码不正确', 'the e-mail or the password is not right'))

export type SignedIn =
  | { state: 'signed_in'; opened: Opened }
  | { state: 'second_factor'; challenge: string; passkey: boolean }

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether a host or an address is this machine. */
export const isThisMachine = (host: string): boolean =>
  host === 'localhost' || LOOPBACK.check(host, isIPv6(host) ? 'ipv6' : 'ipv4')

const ACT: Act = { actor: GATEWAY, operation: 'sign_in.make_link' }

interface FirstPerson {
  email: string
  operator: boolean
  /** The account of which the person is the owner. */
  account: Account | null
}

/** Makes the user where there is none yet. */
export async function firstSignInLink(
  { store, clock, config }: Pick<PeopleDeps, 'store' | 'clock' | 'config'>,
  { email, operator, account }: FirstPerson,
): Promise<string> {
  const atMs = clock.now()
  const name = email.slice(0, email.indexOf('@'))
  const known = await store.people.users.byEmail(email)
  const person =
    known ?? (await store.people.users.create({ email, name, password: null, operator, language: null, atMs }, ACT))
  if (account !== null && (await store.people.members.role(person.id, account.id)) === null)
    await store.people.members.add({ userId: person.id, accountId: account.id, role: 'owner' }, atMs, ACT)
  const { row, url } = newLink(config(), 'sign-in', atMs, { userId: person.id })
  await store.people.links.create(row, ACT)
  return url
}

/** The word of a provider, checked. */
export interface Vouched {
  issuer: string
  subject: string
  email: string | null
  emailVerified: boolean
  name: string | null
  /** When the person has proven to the provider who it is; null = it does not say. */
  authAtMs: number | null
}

/** A provider may know somebody from hours ago: its word proves what it says, and no clock of it reaches into the future. */
const provenBy = ({ authAtMs }: Vouched, nowMs: number): number | null =>
  authAtMs === null ? null : Math.min(authAtMs, nowMs)

export class UserSessions {
  readonly #deps: PeopleDeps

  constructor(deps: PeopleDeps) {
    this.#deps = deps
  }

  /**
   * Opens a session. `device`: the hash of this browser's token, if known. `provenAtMs`: when the person has proven who it
   * is, which is now unless somebody else vouches for it. `mark`: of the credentials as they were before the person proved them.
   */
  async open(
    by: By,
    person: Person,
    device: string | null,
    operation: string,
    provenAtMs: number | null = this.#deps.clock.now(),
    mark: string | null = null,
  ): Promise<Opened> {
    const { store, clock } = this.#deps
    const secret = newToken()
    const atMs = clock.now()
    const { ip, agent } = by
    const session = { hash: hashOf(secret), userId: person.id, atMs, provenAtMs, mark, ip, agent }
    await store.people.sessions.create(session, actAs(person, by, operation)).catch(error => {
      throw error instanceof SignedOut ? new OperationError('forbidden', error.words as Words) : error
    })
    if (device !== null) return { person, session: secret, device: null }
    const token = newToken()
    await store.people.sessions.addDevice(hashOf(token), person.id, atMs)
    return { person, session: secret, device: token }
  }

  async list(by: By, person: Person) {
    const { store, clock } = this.#deps
    const nowMs = clock.now()
    const sessions = (await store.people.sessions.list(person.id)).filter(session => endOf(session, person) > nowMs)
    return { data: sessions.map(session => showSession(session, person, by.sessionId)), next: null }
  }

  async end(by: By, id: string): Promise<void> {
    const { store } = this.#deps
    const ended = await store.people.sessions.end(by.user!.id, id, actBy(by, 'sessions.end'))
    if (!ended) throw NO_SESSION()
  }

  async endOthers(by: By): Promise<{ ended: number }> {
    const { store } = this.#deps
    return { ended: await store.people.sessions.endAll(by.user!.id, by.sessionId, actBy(by, 'sessions.end_others')) }
  }

  /** Ends the session of the caller; without one it does nothing, because a second click is no error. */
  async signOut(by: By, secret: string | null): Promise<void> {
    const { store } = this.#deps
    const found = secret === null ? null : await store.people.sessions.read(hashOf(secret))
    if (found === null) return
    const { session, person } = found
    await store.people.sessions.end(person.id, session.publicId, actAs(person, by, 'sign_in.sign_out'))
  }
}

export class SignIn {
  readonly #deps: PeopleDeps

  constructor(deps: PeopleDeps) {
    this.#deps = deps
  }

  /** The hash of this browser's device token, when it belongs to the person. */
  async #knownDevice(device: string | null, person: Person | null) {
    const { store } = this.#deps
    const hash = hashOf(isToken(device) ? device : '')
    const owner = await store.people.sessions.deviceUser(hash)
    return owner !== null && owner === person?.id ? hash : null
  }

  /** `device`: the secret of the cookie that this browser has, if any. */
  async byPassword(by: By, device: string | null, form: z.output<typeof signInForm>): Promise<SignedIn> {
    const { store, passwords } = this.#deps
    const email = canonicalEmail(form.email) ?? form.email.trim().toLowerCase()
    const person = await store.people.users.byEmail(email)
    const known = await this.#knownDevice(device, person)
    const counted = await trySignIn(this.#deps, email, by.ip, known)
    // a hash takes long, and whoever changes a password meanwhile ends all sessions: also the one that begins here
    let mark = await store.people.credentials.mark(person?.id ?? 0)
    const credentials = await store.people.credentials.of(person?.id ?? 0)
    const phc = credentials?.password ?? null
    const seat = { network: known ?? networkOf(by.ip), known: known !== null }
    const { right, stale } = await passwords.verify(form.password, phc, seat)
    if (!right || person === null || person.status !== 'active') {
      this.#deps.log.info({ ip: by.ip }, 'a sign-in failed')
      throw WRONG()
    }
    await counted.succeeded()
    if (stale && phc !== null)
      mark = await store.people.credentials.rehash(person.id, phc, await passwords.hash(form.password, seat), mark)
    return this.#signedIn(by, person.id, known, 'sign_in.password', mark)
  }

  /** Goes on with the second factor, or opens the session where there is none. `mark` and `provenAtMs`: as for `open`. */
  async #signedIn(
    by: By,
    userId: number,
    device: string | null,
    operation: string,
    mark: string,
    provenAtMs?: number | null,
  ): Promise<SignedIn> {
    const person = await this.#deps.store.people.users.byId(userId)
    if (person === null || person.status !== 'active') throw WRONG()
    if (!person.secondFactor)
      return {
        state: 'signed_in',
        opened: await new UserSessions(this.#deps).open(by, person, device, operation, provenAtMs, mark),
      }
    const challenge = newToken()
    const createdAtMs = this.#deps.clock.now()
    await this.#deps.store.people.links.create(
      {
        kind: 'factor',
        hash: hashOf(challenge),
        email: null,
        userId: person.id,
        accountId: null,
        role: null,
        operator: false,
        doc: { mark },
        createdAtMs,
        expiresAtMs: createdAtMs + CHALLENGE_MS,
      },
      null,
    )
    return { state: 'second_factor', challenge, passkey: person.passkeys > 0 }
  }

  async bySecondFactor(by: By, device: string | null, form: z.output<typeof factorForm>): Promise<Opened> {
    const { store, clock } = this.#deps
    const hash = hashOf(form.challenge)
    const asked = await tryUnknown(this.#deps, by.ip)
    const link = await store.people.links.read('factor', hash, clock.now())
    const person = link?.userId == null ? null : await store.people.users.byId(link.userId)
    if (person === null || person.status !== 'active') throw LINK_GONE()
    const known = await this.#knownDevice(device, person)
    const counted = await tryCode(this.#deps, person.id, known)
    if ('code' in form) await this.#useCode(person.id, form.code)
    else await new PasskeyProofs(this.#deps).prove(by, BOUND.secondFactor(hash), person.id, form.passkey)
    if ((await store.people.links.use('factor', hash, clock.now())) === null) throw LINK_GONE()
    await Promise.all([counted.succeeded(), asked.succeeded()])
    const mark = String(link?.doc?.['mark'])
    return new UserSessions(this.#deps).open(by, person, known, 'sign_in.second_factor', clock.now(), mark)
  }

  /**
   * What a browser needs to ask its person for a passkey: for a sign-in, in a browser with this secret, or for the second step of
   * one that began with a password.
   */
  async askForPasskey(by: By, browser: string, form: z.output<typeof passkeyAskForm>) {
    const { store, clock } = this.#deps
    const passkeys = new PasskeyProofs(this.#deps)
    if (form.challenge === undefined) return passkeys.ask(BOUND.signIn(browser), null)
    const asked = await tryUnknown(this.#deps, by.ip)
    const hash = hashOf(form.challenge)
    const link = await store.people.links.read('factor', hash, clock.now())
    if (link?.userId == null) throw LINK_GONE()
    await asked.succeeded()
    return passkeys.ask(BOUND.secondFactor(hash), link.userId)
  }

  /** Asks for a passkey of somebody who is signed in, as a fresh proof (`stepUp`). */
  askForPasskeyAgain(by: By) {
    return new PasskeyProofs(this.#deps).ask(BOUND.stepUp(by.sessionId!), by.user!.id)
  }

  /** No second factor is asked for: who has the passkey has proven to it who it is. */
  async byPasskey(by: By, device: string | null, browser: string, { passkey }: z.output<typeof passkeySignInForm>) {
    const passkeys = new PasskeyProofs(this.#deps)
    passkeys.answered(passkey, BOUND.signIn(browser))
    const person = (await passkeys.named(passkey))?.person ?? null
    const known = await this.#knownDevice(device, person)
    const counted = await (person === null
      ? tryUnknown(this.#deps, by.ip)
      : trySignIn(this.#deps, person.email, by.ip, known))
    const mark = await this.#deps.store.people.credentials.mark(person?.id ?? 0)
    const proven = await passkeys.prove(by, BOUND.signIn(browser), null, passkey)
    await counted.succeeded()
    return new UserSessions(this.#deps).open(by, proven, known, 'sign_in.passkey', this.#deps.clock.now(), mark)
  }

  /** The caller proves again who it is. The session goes on under the secret that is returned. */
  async stepUp(by: By, form: z.output<typeof stepUpForm>): Promise<{ session: string; validUntilMs: number }> {
    const { store, clock, passwords } = this.#deps
    const [userId, sessionId] = [by.user!.id, by.sessionId!]
    const counted: Try = await tryStepUp(this.#deps, sessionId)
    if ('code' in form) await this.#useCode(userId, form.code)
    else if ('passkey' in form)
      await new PasskeyProofs(this.#deps).prove(by, BOUND.stepUp(sessionId), userId, form.passkey)
    else {
      const credentials = await store.people.credentials.of(userId)
      const seat = { network: `session ${sessionId}`, known: true }
      const { right } = await passwords.verify(form.password, credentials?.password ?? null, seat)
      if (!right) throw new OperationError('forbidden', both('密码不正确', 'the password is not right'))
    }
    await counted.succeeded()
    return this.#renewProof(sessionId, clock.now())
  }

  async #renewProof(sessionId: number, atMs: number) {
    const { store } = this.#deps
    const session = newToken()
    if (!(await store.people.sessions.prove(sessionId, hashOf(session), atMs))) throw NO_SUCH_USER()
    return { session, validUntilMs: atMs + PROOF_MS }
  }

  /** A second factor is asked for all the same. */
  async byLink(by: By, token: string): Promise<SignedIn> {
    const { store, clock } = this.#deps
    const counted = await tryUnknown(this.#deps, by.ip)
    const link = isThisMachine(by.ip) ? await store.people.links.use('sign-in', hashOf(token), clock.now()) : null
    const person = link?.userId == null ? null : await store.people.users.byId(link.userId)
    if (person === null || person.status !== 'active') throw LINK_GONE()
    await counted.succeeded()
    return this.#signedIn(by, person.id, null, 'sign_in.link', await store.people.credentials.mark(person.id))
  }

  /** Uses up a code of the factor in force, or a recovery code. Throws OperationError `forbidden`. */
  async #useCode(userId: number, code: string): Promise<void> {
    const { store, clock } = this.#deps
    const credentials = await store.people.credentials.of(userId)
    if (isRecoveryCode(code)) {
      if (await store.people.credentials.useRecoveryCode(userId, recoveryHash(code))) return
      throw WRONG_CODE()
    }
    const secret = credentials?.totp ?? null
    const step = secret === null ? null : stepOf(secret, code.replace(/\s/g, ''), clock.now())
    if (step === null || !(await store.people.credentials.useStep(userId, step))) throw WRONG_CODE()
  }

  /** Counts a call of somebody unknown that costs something, or throws OperationError `throttled`. */
  async countUnknown(by: By): Promise<void> {
    await tryUnknown(this.#deps, by.ip)
  }

  /** null = the provider's person is nobody here, and cannot become somebody. */
  async byProvider(by: By, vouched: Vouched): Promise<SignedIn | null> {
    const { store, config, clock } = this.#deps
    const { issuer, subject } = vouched
    const signIn = async ({ id }: Person) => {
      const mark = await store.people.credentials.mark(id)
      return this.#signedIn(by, id, null, 'sign_in.oidc', mark, provenBy(vouched, clock.now()))
    }
    const userId = await store.people.identities.userOf(issuer, subject)
    if (userId !== null) {
      const person = await store.people.users.byId(userId)
      return person?.status === 'active' ? signIn(person) : null
    }
    const email = canonicalEmail(vouched.email)
    if (config().registration.mode !== 'open' || email === undefined || !vouched.emailVerified) return null
    if ((await store.people.users.byEmail(email)) !== null) return null
    const person = await new WaysIn(this.#deps).registerVouched(by, {
      issuer,
      subject,
      email,
      name: asName(vouched.name) ?? email,
    })
    return person === null ? null : signIn(person)
  }

  /** The new secret of the session; null = the provider vouches for somebody else. */
  async proveByProvider(by: By, vouched: Vouched): Promise<string | null> {
    const userId = await this.#deps.store.people.identities.userOf(vouched.issuer, vouched.subject)
    if (userId === null || userId !== by.user?.id || by.sessionId === null) return null
    return (await this.#renewProof(by.sessionId, this.#deps.clock.now())).session
  }
}
