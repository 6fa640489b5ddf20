/**
 * Passkeys (WebAuthn): as a sign-in by themselves, as the second step of one, and as a fresh proof. The authenticator asks its person for
 * a finger, a face or a PIN each time, so a passkey is two factors in one.
 *
 * A challenge works once, for five minutes, for the purpose and in the browser or session for which it was made. The name under which
 * browsers keep passkeys is that of the console's public address; what a request says of its host counts nowhere. What checks the
 * answers is loaded with the first one that comes from a passkey that is known, or adds one.
 */
import { iso, isoOrNull } from '../../base/clock.ts'
import { isIP } from 'node:net'
import type { VerifiedAuthenticationResponse, VerifiedRegistrationResponse } from '@simplewebauthn/server'
import { z } from 'zod'
import { LANGUAGES, type Language, type Person } from '../../base/people.ts'
import { hashOf } from '../../base/secrets.ts'
import type { Config } from '../../config/config.ts'
import * as kind from '../../config/scalars.ts'
import { MOST_PASSKEYS, tooManyPasskeys } from '../../store/people/passkeys.ts'
import type { Answered, Passkey } from '../../store/people/records.ts'
import { OperationError, both } from '../error.ts'
import { type By, type PeopleDeps, actBy } from './deps.ts'
import { newRecoveryCodes, recoveryHash } from './totp.ts'

const CHALLENGE_MS = 5 * 60_000
/** ES256, EdDSA and RS256, by their numbers in COSE: the first that an authenticator has is taken. */
const ALGORITHMS = [-7, -8, -257]
const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const
type Transport = (typeof TRANSPORTS)[number]

const bytes = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\w-]+$/)
/** At most 1,023 bytes. */
const credentialId = bytes(1_364)
const clientDataJSON = bytes(4_096)

/** What a browser's `PublicKeyCredential.toJSON()` says of an answer to a challenge. Whatever else it says is left out. */
export const assertionForm = z.object({
  id: credentialId,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON,
    authenticatorData: bytes(4_096),
    signature: bytes(2_048),
    userHandle: bytes(100).nullable().optional(),
  }),
})
type Assertion = z.output<typeof assertionForm>

export const passkeyForm = z.strictObject({
  name: kind.name,
  passkey: z.object({
    id: credentialId,
    type: z.literal('public-key'),
    response: z.object({
      clientDataJSON,
      attestationObject: bytes(16_384),
      // browsers name new ones before we know them
      transports: z.array(z.string().max(20)).max(20).optional(),
    }),
  }),
})
export const renamingForm = z.strictObject({ name: kind.name })

const TOO_LATE = () =>
  new OperationError('gone', both('操作已超时，请重试', 'that took too long, or was begun elsewhere: try again'))
const REFUSED = () => new OperationError('forbidden', both('通行密钥未被接受', 'the passkey was not accepted'))
const NOT_ALONE = () =>
  new OperationError('forbidden', both('密码已重置：请先用密码登录', 'the password was reset: sign in with it first'))
const NO_PASSKEY = () => new OperationError('missing', both('没有此通行密钥', 'there is no such passkey'))

/**
 * Under which name browsers keep passkeys, and on whose pages they may be used. Browsers take names of hosts only, over https or on
 * this machine; while no address is configured, that is the demo on `localhost`.
 */
function partyOf({ main, given }: Config['public']): { id: string; origin: string } {
  const url = new URL(main)
  if (!given) return { id: 'localhost', origin: `http://localhost${url.port === '' ? '' : `:${url.port}`}` }
  const { hostname, protocol, origin } = url
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && (protocol === 'https:' || isLocal))
    return { id: hostname, origin }
  throw new OperationError(
    'conflict',
    both(
      '通行密钥需要通过域名和 https 访问控制台',
      'passkeys need a console at an https address with the name of a host',
    ),
  )
}

/** What an authenticator knows its person by. It tells nothing of the user, not even the id that is shown outside. */
const handleOf = ({ publicId }: Pick<Person, 'publicId'>): string =>
  Buffer.from(hashOf(`passkeys of ${publicId}`), 'hex').toString('base64url')

const descriptor = ({ credential, transports }: Passkey) => ({
  type: 'public-key' as const,
  id: credential,
  transports: transports.filter((one): one is Transport => TRANSPORTS.includes(one as Transport)),
})

const show = ({ publicId, name, synced, createdAtMs, usedAtMs }: Passkey) => ({
  id: publicId,
  name,
  synced,
  created_at: iso(createdAtMs),
  used_at: isoOrNull(usedAtMs),
})

/** The challenge that the browser says it has signed; what it says is believed once the signature is right. */
function challengeIn(data: string): string {
  try {
    const { challenge } = JSON.parse(Buffer.from(data, 'base64url').toString('utf8')) as { challenge?: unknown }
    return typeof challenge === 'string' ? challenge : ''
  } catch {
    return ''
  }
}

/** Whoever sends an answer chooses what the reason names: a bounded line of it goes into the log. */
const said = (error: unknown): string =>
  String((error as Error).message)
    .replaceAll(/[^ -~]/g, ' ')
    .slice(0, 200)

export class PasskeyProofs {
  readonly #deps: PeopleDeps

  constructor(deps: PeopleDeps) {
    this.#deps = deps
  }

  /** What a browser is given to ask its person for a passkey. `userId` null: any that it has for this console. */
  async ask(boundTo: string, userId: number | null) {
    const { store, clock, config } = this.#deps
    const { id } = partyOf(config().public)
    const passkeys = userId === null ? [] : await store.people.passkeys.list(userId)
    return {
      challenge: store.people.passkeys.challenge(boundTo, clock.now() + CHALLENGE_MS),
      rpId: id,
      timeout: CHALLENGE_MS,
      userVerification: 'required' as const,
      allowCredentials: passkeys.map(descriptor),
    }
  }

  /** What was asked for, in the answer. Throws OperationError `gone`. */
  answered({ response }: { response: { clientDataJSON: string } }, boundTo: string): Answered & { challenge: string } {
    const { store, clock } = this.#deps
    const challenge = challengeIn(response.clientDataJSON)
    const answered = store.people.passkeys.answered(challenge, boundTo, clock.now())
    if (answered === null) throw TOO_LATE()
    return { ...answered, challenge }
  }

  /** An answer names the passkey and its user; nothing of it is proven yet. */
  named({ id }: Assertion) {
    return this.#deps.store.people.passkeys.byCredential(id)
  }

  /** Takes the answer, once. `userId`: of the one who must have given it; null = of anybody, whom the answer names itself. Throws OperationError. */
  async prove(by: By, boundTo: string, userId: number | null, assertion: Assertion): Promise<Person> {
    const { store, clock, log } = this.#deps
    const answered = this.answered(assertion, boundTo)
    const found = await this.named(assertion)
    const refuse = (why: string): never => {
      log.info({ ip: by.ip, user: found?.person.publicId, why }, 'a passkey was not accepted')
      throw REFUSED()
    }
    if (found === null) return refuse('it is unknown')
    const { passkey, person } = found
    if (person.status !== 'active') return refuse('its user is disabled')
    if (userId !== null && userId !== person.id) return refuse('it is of somebody else')
    const handle = assertion.response.userHandle ?? null
    if (handle === null ? userId === null : handle !== handleOf(person)) return refuse('it names somebody else')
    const verified = await this.#verify(assertion, answered.challenge, passkey).catch(error => refuse(said(error)))
    if (!verified.verified) return refuse('the signature is wrong')
    if (userId === null && !passkey.alone) throw NOT_ALONE()
    const { newCounter: counter, credentialBackedUp: synced } = verified.authenticationInfo
    const use = await store.people.passkeys.use(passkey, { counter, synced }, answered, clock.now())
    if (use === 'answered before') throw TOO_LATE()
    if (use === 'counter')
      log.warn(
        { user: person.publicId, passkey: passkey.publicId, counter, before: passkey.counter },
        'a passkey counts less than before: somebody may have copied it',
      )
    return use === 'used' ? person : refuse(use)
  }

  async #verify(
    { id, type, response }: Assertion,
    expectedChallenge: string,
    { credential, publicKey }: Passkey,
  ): Promise<VerifiedAuthenticationResponse> {
    const party = partyOf(this.#deps.config().public)
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
    const { userHandle, ...rest } = response
    return verifyAuthenticationResponse({
      response: { id, rawId: id, type, response: rest, clientExtensionResults: {} },
      expectedChallenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      // the store compares what it counts, because it also sees two at once
      credential: { id: credential, publicKey: Buffer.from(publicKey, 'base64url'), counter: 0 },
    })
  }
}

const adding = (by: By): string => `add ${by.sessionId}`

export class Passkeys {
  readonly #deps: PeopleDeps

  constructor(deps: PeopleDeps) {
    this.#deps = deps
  }

  async list(by: By) {
    const { store } = this.#deps
    return { data: (await store.people.passkeys.list(by.user!.id)).map(show), next: null }
  }

  /** What a browser is given to make a passkey. Those that there are keep their authenticator from making a second one. */
  async startAdding(by: By, person: Person) {
    const { store, clock, config } = this.#deps
    const { public: address, site } = config()
    const { id } = partyOf(address)
    const passkeys = await store.people.passkeys.list(person.id)
    if (passkeys.length >= MOST_PASSKEYS) throw tooManyPasskeys()
    return {
      challenge: store.people.passkeys.challenge(adding(by), clock.now() + CHALLENGE_MS),
      rp: { id, name: site.name[person.language ?? (site.languages[0] as Language) ?? LANGUAGES[0]] },
      user: { id: handleOf(person), name: person.email, displayName: person.name },
      pubKeyCredParams: ALGORITHMS.map(alg => ({ type: 'public-key' as const, alg })),
      timeout: CHALLENGE_MS,
      excludeCredentials: passkeys.map(descriptor),
      authenticatorSelection: {
        residentKey: 'required' as const,
        requireResidentKey: true,
        userVerification: 'required' as const,
      },
      attestation: 'none' as const,
    }
  }

  /** Ends all sessions; `mark`: of the credentials in force then. Returns recovery codes, which are never shown again, where this is the first factor. */
  async add(by: By, { name, passkey }: z.output<typeof passkeyForm>) {
    const { store, clock, log } = this.#deps
    const { challenge, ...answered } = new PasskeyProofs(this.#deps).answered(passkey, adding(by))
    const made = await this.#verify(passkey, challenge).catch(error => {
      log.info({ ip: by.ip, user: by.user?.publicId, why: said(error) }, 'a passkey was not added')
      return null
    })
    if (made?.registrationInfo === undefined) throw REFUSED()
    const { credential, credentialBackedUp: synced } = made.registrationInfo
    const row = {
      credential: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      transports: TRANSPORTS.filter(one => passkey.response.transports?.includes(one)),
      name,
      synced,
      atMs: clock.now(),
    }
    const codes = newRecoveryCodes()
    const act = actBy(by, 'passkeys.add')
    const added = await store.people.passkeys.add(by.user!.id, row, answered, codes.map(recoveryHash), act)
    if (added === null) throw TOO_LATE()
    return { ...show(added.passkey), recovery_codes: added.isFirst ? codes : null, mark: added.mark }
  }

  async #verify(
    { id, type, response }: z.output<typeof passkeyForm>['passkey'],
    expectedChallenge: string,
  ): Promise<VerifiedRegistrationResponse> {
    const party = partyOf(this.#deps.config().public)
    const [{ verifyRegistrationResponse }, { decodeAttestationObject }] = await Promise.all([
      import('@simplewebauthn/server'),
      import('@simplewebauthn/server/helpers'),
    ])
    const { clientDataJSON, attestationObject } = response
    // no certificates were asked for, so none are read: they name addresses, which whoever sends them chooses
    const attestation = decodeAttestationObject(Buffer.from(attestationObject, 'base64url'))
    const format = attestation.get('fmt')
    if (format !== 'none' && !(format === 'packed' && attestation.get('attStmt').get('x5c') === undefined))
      throw new Error(`the attestation has the format ${format}`)
    return verifyRegistrationResponse({
      response: { id, rawId: id, type, response: { clientDataJSON, attestationObject }, clientExtensionResults: {} },
      expectedChallenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    })
  }

  async rename(by: By, id: string, { name }: z.output<typeof renamingForm>): Promise<void> {
    const { store } = this.#deps
    if (!(await store.people.passkeys.rename(by.user!.id, id, name, actBy(by, 'passkeys.rename')))) throw NO_PASSKEY()
  }

  /** Ends all sessions. Who has no password keeps one way in. */
  async remove(by: By, id: string) {
    const mark = await this.#deps.store.people.passkeys.remove(by.user!.id, id, actBy(by, 'passkeys.remove'))
    if (mark === null) throw NO_PASSKEY()
    return { mark }
  }
}
