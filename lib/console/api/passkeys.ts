/** The calls of passkeys: those of the reader, and signing in by one. Their forms are those of `PublicKeyCredential` in browsers. */
import { z } from 'zod'
import { operation } from '../../api/operation.ts'
import { isToken, newToken } from '../../base/secrets.ts'
import { Passkeys, passkeyForm, renamingForm } from '../../operations/people/me.ts'
import { SignIn, passkeyAskForm, passkeySignInForm } from '../../operations/people/sign-in.ts'
import { keepOpened, readCookie, setCookie } from '../sign-in/identities.ts'
import { listOf } from './people.ts'
import { type ConsoleDeps, andSignInAgain, deviceOf, jarOf, personOf, rowId } from './shared.ts'
import { SIGNED_IN, signedIn } from './sign-in.ts'

/** The cookie lives as long as a challenge works. */
const BROWSER_S = 300

const time = z.iso.datetime()
const passkey = z.strictObject({
  id: z.string(),
  name: z.string(),
  /** Whether the person has it on other devices too, as the authenticator says. */
  synced: z.boolean(),
  created_at: time,
  used_at: time.nullable(),
})

const descriptor = z.strictObject({ type: z.literal('public-key'), id: z.string(), transports: z.array(z.string()) })
const toAsk = z
  .strictObject({
    challenge: z.string(),
    rpId: z.string(),
    timeout: z.int(),
    userVerification: z.literal('required'),
    allowCredentials: z.array(descriptor),
  })
  .meta({ id: 'PasskeyAsked', description: 'For `PublicKeyCredential.parseRequestOptionsFromJSON()`.' })
const toMake = z
  .strictObject({
    challenge: z.string(),
    rp: z.strictObject({ id: z.string(), name: z.string() }),
    user: z.strictObject({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.strictObject({ type: z.literal('public-key'), alg: z.int() })),
    timeout: z.int(),
    excludeCredentials: z.array(descriptor),
    authenticatorSelection: z.strictObject({
      residentKey: z.literal('required'),
      requireResidentKey: z.literal(true),
      userVerification: z.literal('required'),
    }),
    attestation: z.literal('none'),
  })
  .meta({ id: 'PasskeyToMake', description: 'For `PublicKeyCredential.parseCreationOptionsFromJSON()`.' })

const own = { who: 'user', scope: null, stepUp: true } as const

export const PASSKEYS = [
  operation({
    id: 'sign_in.ask_for_passkey',
    call: 'POST /sign-in/passkey/challenge',
    summary:
      'A challenge for a sign-in by passkey, or for the second step of a sign-in. It works once, in this browser, for five minutes.',
    who: 'anyone',
    limit: 'sign-in',
    body: passkeyAskForm,
    answer: { status: 200, body: toAsk },
    refuses: [400, 409, 410, 429],
    run(deps: ConsoleDeps, call) {
      const jar = jarOf(deps, call)
      const known = readCookie(jar, 'passkey')
      const browser = isToken(known) ? known : newToken()
      setCookie(jar, 'passkey', browser, BROWSER_S)
      return new SignIn(deps).askForPasskey(call.caller, browser, call.body)
    },
  }),
  operation({
    id: 'sign_in.passkey',
    call: 'POST /sign-in/passkey',
    summary: 'Sign in by a passkey, which is both factors.',
    who: 'anyone',
    limit: 'sign-in',
    body: passkeySignInForm,
    answer: { status: 200, body: signedIn },
    refuses: [400, 403, 409, 410, 429],
    async run(deps: ConsoleDeps, call) {
      const jar = jarOf(deps, call)
      const browser = readCookie(jar, 'passkey') ?? ''
      keepOpened(jar, await new SignIn(deps).byPasskey(call.caller, deviceOf(deps, call), browser, call.body))
      return SIGNED_IN
    },
  }),
  operation({
    id: 'sign_in.ask_for_passkey_again',
    call: 'POST /sign-in/step-up/passkey/challenge',
    summary: 'A challenge for a fresh proof by passkey.',
    who: 'user',
    protects: true,
    limit: 'sign-in',
    answer: { status: 200, body: toAsk },
    refuses: [409, 429],
    run: (deps: ConsoleDeps, { caller }) => new SignIn(deps).askForPasskeyAgain(caller),
  }),
  operation({
    id: 'passkeys.list',
    call: 'GET /me/passkeys',
    summary: 'Your passkeys.',
    who: 'user',
    answer: { status: 200, body: listOf(passkey.meta({ id: 'Passkey' })) },
    run: (deps: ConsoleDeps, { caller }) => new Passkeys(deps).list(caller),
  }),
  operation({
    ...own,
    id: 'passkeys.start',
    call: 'POST /me/passkeys/challenge',
    summary: 'Begin a passkey: what a browser needs to make one. It works once, in this session, for five minutes.',
    effect: 'danger',
    answer: { status: 200, body: toMake },
    refuses: [409],
    run: async (deps: ConsoleDeps, { caller }) => new Passkeys(deps).startAdding(caller, await personOf(deps, caller)),
  }),
  operation({
    ...own,
    id: 'passkeys.add',
    call: 'POST /me/passkeys',
    summary:
      'Sign in by the new passkey from now on. Every other session of yours ends. The first factor comes with recovery codes.',
    effect: 'danger',
    limit: 'sign-in',
    body: passkeyForm,
    answer: {
      status: 201,
      body: passkey.extend({ recovery_codes: z.array(z.string()).nullable() }).meta({ id: 'NewPasskey' }),
    },
    refuses: [400, 403, 409, 410],
    run: (deps: ConsoleDeps, call) => andSignInAgain(deps, call, () => new Passkeys(deps).add(call.caller, call.body)),
  }),
  operation({
    ...own,
    id: 'passkeys.rename',
    call: 'PATCH /me/passkeys/{id}',
    summary: 'Give a passkey another name.',
    path: rowId,
    body: renamingForm,
    refuses: [400, 404],
    run: (deps: ConsoleDeps, { caller, path, body }) => new Passkeys(deps).rename(caller, path.id, body),
  }),
  operation({
    ...own,
    id: 'passkeys.remove',
    call: 'DELETE /me/passkeys/{id}',
    summary: 'Delete a passkey. Every other session of yours ends; without another factor, so do the recovery codes.',
    effect: 'danger',
    path: rowId,
    refuses: [404, 409],
    run: (deps: ConsoleDeps, call) =>
      andSignInAgain(deps, call, () => new Passkeys(deps).remove(call.caller, call.path.id)),
  }),
]
