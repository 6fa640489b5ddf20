/** The calls by which people sign in and out, and prove once more who they are. */
import { z } from 'zod'
import { operation } from '../../api/operation.ts'
import { signInByLink } from '../../operations/people/first-sign-in.ts'
import { secretForm } from '../../operations/people/profile.ts'
import { type Opened, signOut } from '../../operations/people/sessions.ts'
import * as signIn from '../../operations/people/sign-in.ts'
import { REGISTRATION_MODES } from '../../base/people.ts'
import { dropCookie, keepOpened, keepSession, readCookie } from '../sign-in/cookies.ts'
import type { ConsoleDeps } from './deps.ts'
import { deviceOf, jarOf } from './shared.ts'

const signedIn = z
  .strictObject({
    state: z.enum(['signed_in', 'second_factor']),
    /** Goes into the call with the code; null when the person is signed in. */
    challenge: z.string().nullable(),
  })
  .meta({ id: 'SignedIn' })

const SIGNED_IN = { state: 'signed_in', challenge: null } as const

const proven = z.strictObject({ proven_until: z.iso.datetime() })

const ways = z
  .strictObject({
    registration: z.enum(REGISTRATION_MODES),
    mail: z.boolean(),
    /** What the button for the OpenID provider says; null = there is none. */
    oidc: z.string().nullable(),
  })
  .meta({ id: 'WaysIn' })

export const SIGN_IN = [
  operation({
    id: 'sign_in.ways',
    call: 'GET /sign-in',
    summary: 'By which ways people come in here.',
    who: 'anyone',
    effect: 'read',
    scope: null,
    answer: { status: 200, body: ways },
    run: async ({ config, mail }: ConsoleDeps) => ({
      registration: config().registration.mode,
      mail: mail.configured,
      oidc: config().oidc?.name ?? null,
    }),
  }),
  operation({
    id: 'sign_in.password',
    call: 'POST /sign-in',
    summary: 'Sign in with e-mail and password.',
    who: 'anyone',
    effect: 'write',
    scope: null,
    limit: 'sign-in',
    body: signIn.signInForm,
    answer: { status: 200, body: signedIn },
    refuses: [400, 403, 429],
    async run(deps: ConsoleDeps, call) {
      const done = await signIn.signIn(deps, call.caller, deviceOf(deps, call), call.body)
      if (done.state === 'second_factor') return done
      keepOpened(jarOf(deps, call), done.opened)
      return SIGNED_IN
    },
  }),
  operation({
    id: 'sign_in.link',
    call: 'POST /sign-in/link',
    summary: 'Sign in with a link that `npm start` has printed on this machine.',
    who: 'anyone',
    effect: 'write',
    scope: null,
    limit: 'sign-in',
    body: secretForm,
    answer: { status: 200, body: signedIn },
    refuses: [400, 410, 429],
    async run(deps: ConsoleDeps, call) {
      const done = await signInByLink(deps, call.caller, call.body.token)
      if (done.state === 'second_factor') return done
      keepOpened(jarOf(deps, call), done.opened)
      return SIGNED_IN
    },
  }),
  operation({
    id: 'sign_in.second_factor',
    call: 'POST /sign-in/second-factor',
    summary: 'Finish a sign-in with a code of the app, or with a recovery code.',
    who: 'anyone',
    effect: 'write',
    scope: null,
    limit: 'sign-in',
    body: signIn.factorForm,
    answer: { status: 200, body: signedIn },
    refuses: [400, 403, 410, 429],
    async run(deps: ConsoleDeps, call) {
      const opened: Opened = await signIn.signInFactor(deps, call.caller, deviceOf(deps, call), call.body)
      keepOpened(jarOf(deps, call), opened)
      return SIGNED_IN
    },
  }),
  operation({
    id: 'sign_in.step_up',
    call: 'POST /sign-in/step-up',
    summary: 'Prove again who you are, with the password or a code, for what is dangerous.',
    who: 'user',
    effect: 'write',
    scope: null,
    limit: 'sign-in',
    body: signIn.stepUpForm,
    answer: { status: 200, body: proven },
    refuses: [400, 403, 429],
    async run(deps: ConsoleDeps, call) {
      const { session, validUntilMs } = await signIn.stepUp(deps, call.caller, call.body)
      keepSession(jarOf(deps, call), session)
      return { proven_until: new Date(validUntilMs).toISOString() }
    },
  }),
  operation({
    id: 'sign_in.sign_out',
    call: 'POST /sign-out',
    summary: 'End this session.',
    who: 'anyone',
    effect: 'write',
    scope: null,
    answer: { status: 204, body: null },
    async run(deps: ConsoleDeps, call) {
      const jar = jarOf(deps, call)
      await signOut(deps, call.caller, readCookie(jar, 'session'))
      dropCookie(jar, 'session')
      return null
    },
  }),
]
