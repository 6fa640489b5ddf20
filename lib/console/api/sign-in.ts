/** The calls by which people sign in, register, accept invitations and get new passwords, by themselves or through an OpenID provider. */
import { iso } from '../../base/clock.ts'
import { type ConsoleDeps, deviceOf, jarOf, rowId } from './shared.ts'
import { listOf } from './people.ts'
import { z } from 'zod'
import { dropCookie, keepOpened, keepSession, readCookie } from '../sign-in/identities.ts'
import { type Purpose, finishOidc, startOidc } from '../sign-in/oidc.ts'
import { operation } from '../../api/operation.ts'
import { REGISTRATION_MODES, ROLES } from '../../base/people.ts'
import { type By, secretForm } from '../../operations/people/deps.ts'
import {
  WaysIn,
  acceptForm,
  registerForm,
  registrationForm,
  resetForm,
  resetRequestForm,
} from '../../operations/people/joining.ts'
import { OwnUser } from '../../operations/people/me.ts'
import {
  type Opened,
  UserSessions,
  SignIn,
  factorForm,
  signInForm,
  stepUpForm,
} from '../../operations/people/sign-in.ts'

export const signedIn = z
  .strictObject({
    state: z.enum(['signed_in', 'second_factor']),
    /** Goes into the call with the code; null when the person is signed in. */
    challenge: z.string().nullable(),
    /** Whether the second step can be a passkey. */
    passkey: z.boolean(),
  })
  .meta({ id: 'SignedIn' })

export const SIGNED_IN = { state: 'signed_in', challenge: null, passkey: false } as const

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
    limit: 'sign-in',
    body: signInForm,
    answer: { status: 200, body: signedIn },
    refuses: [400, 403, 429],
    async run(deps: ConsoleDeps, call) {
      const done = await new SignIn(deps).byPassword(call.caller, deviceOf(deps, call), call.body)
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
    limit: 'sign-in',
    body: secretForm,
    answer: { status: 200, body: signedIn },
    refuses: [400, 410, 429],
    async run(deps: ConsoleDeps, call) {
      const done = await new SignIn(deps).byLink(call.caller, call.body.token)
      if (done.state === 'second_factor') return done
      keepOpened(jarOf(deps, call), done.opened)
      return SIGNED_IN
    },
  }),
  operation({
    id: 'sign_in.second_factor',
    call: 'POST /sign-in/second-factor',
    summary: 'Finish a sign-in with a code of the app, with a recovery code, or with a passkey.',
    who: 'anyone',
    limit: 'sign-in',
    body: factorForm,
    answer: { status: 200, body: signedIn },
    refuses: [400, 403, 409, 410, 429],
    async run(deps: ConsoleDeps, call) {
      const opened: Opened = await new SignIn(deps).bySecondFactor(call.caller, deviceOf(deps, call), call.body)
      keepOpened(jarOf(deps, call), opened)
      return SIGNED_IN
    },
  }),
  operation({
    id: 'sign_in.step_up',
    call: 'POST /sign-in/step-up',
    summary: 'Prove again who you are, with the password, a code or a passkey, for what is dangerous.',
    who: 'user',
    protects: true,
    limit: 'sign-in',
    body: stepUpForm,
    answer: { status: 200, body: proven },
    refuses: [400, 403, 409, 410, 429],
    async run(deps: ConsoleDeps, call) {
      const { session, validUntilMs } = await new SignIn(deps).stepUp(call.caller, call.body)
      keepSession(jarOf(deps, call), session)
      return { proven_until: iso(validUntilMs) }
    },
  }),
  operation({
    id: 'sign_in.sign_out',
    call: 'POST /sign-out',
    summary: 'End this session.',
    who: 'anyone',
    async run(deps: ConsoleDeps, call) {
      const jar = jarOf(deps, call)
      await new UserSessions(deps).signOut(call.caller, readCookie(jar, 'session'))
      dropCookie(jar, 'session')
    },
  }),
]

const away = z.strictObject({ url: z.string() }).meta({ id: 'ProviderAddress' })
const identity = z
  .strictObject({ id: z.string(), issuer: z.string(), created_at: z.iso.datetime() })
  .meta({ id: 'Identity' })

/** The page of the console to which the browser comes back. */
const back = z.strictObject({ next: z.string().max(1_000).optional() })

type Started = Parameters<typeof jarOf>[1] & { caller: By; body: z.output<typeof back> }

const start = (purpose: Purpose) =>
  ({
    limit: 'sign-in',
    body: back,
    answer: { status: 200, body: away },
    refuses: [400, 409, 429],
    run: (deps: ConsoleDeps, call: Started) =>
      startOidc(deps, jarOf(deps, call), call.caller, purpose, call.body.next ?? null),
  }) as const

export const OIDC = [
  operation({
    ...start('sign_in'),
    id: 'sign_in.oidc',
    call: 'POST /sign-in/oidc',
    summary: 'Begin a sign-in by the OpenID provider: the browser goes to the address.',
    who: 'anyone',
  }),
  operation({
    ...start('step_up'),
    id: 'sign_in.oidc_step_up',
    call: 'POST /sign-in/step-up/oidc',
    summary: 'Prove again who you are, by the OpenID provider.',
    who: 'user',
    protects: true,
  }),
  operation({
    ...start('link'),
    id: 'identities.link',
    call: 'POST /me/identities',
    summary: 'Let the OpenID provider vouch for you from now on.',
    who: 'user',
    stepUp: true,
  }),
  operation({
    id: 'sign_in.oidc_callback',
    call: 'GET /sign-in/oidc/callback',
    summary: 'Where the OpenID provider sends the browser back to.',
    who: 'anyone',
    page: true,
    limit: 'sign-in',
    // providers add parameters of their own
    query: z.looseObject({ code: z.string().max(4_000).optional(), state: z.string().max(400).optional() }),
    answer: { status: 303, body: null },
    run: async (deps: ConsoleDeps, call) => ({
      location: await finishOidc(deps, jarOf(deps, call), call.caller, call.query),
    }),
  }),
  operation({
    id: 'identities.list',
    call: 'GET /me/identities',
    summary: 'The OpenID providers that vouch for you.',
    who: 'user',
    answer: { status: 200, body: listOf(identity) },
    run: (deps: ConsoleDeps, { caller }) => new OwnUser(deps).identities(caller),
  }),
  operation({
    id: 'identities.end',
    call: 'DELETE /me/identities/{id}',
    summary: 'Let a provider no longer vouch for you.',
    who: 'user',
    effect: 'danger',
    stepUp: true,
    path: rowId,
    refuses: [404, 409],
    run: (deps: ConsoleDeps, { caller, path }) => new OwnUser(deps).endIdentity(caller, path.id),
  }),
]

const looked = z
  .strictObject({
    email: z.string(),
    account: z.string().nullable(),
    role: z.enum(ROLES).nullable(),
    operator: z.boolean(),
    expires_at: z.iso.datetime(),
    signed_in: z.boolean(),
  })
  .meta({ id: 'InvitationLookedAt' })

const open = { who: 'anyone', effect: 'write', scope: null, limit: 'sign-in' } as const

export const JOINING = [
  operation({
    ...open,
    id: 'invitations.look',
    call: 'POST /invitations/look',
    summary: 'What an invitation is for. It uses nothing up.',
    body: secretForm,
    answer: { status: 200, body: looked },
    refuses: [400, 410, 429],
    run: (deps: ConsoleDeps, { caller, body }) => new WaysIn(deps).lookAt(caller, body.token),
  }),
  operation({
    ...open,
    id: 'invitations.accept',
    call: 'POST /invitations/accept',
    summary: 'Accept an invitation. Who has no user yet gets one, and is signed in.',
    body: acceptForm,
    refuses: [400, 403, 409, 410, 429],
    async run(deps: ConsoleDeps, call) {
      const { userId, isNew } = await new WaysIn(deps).accept(call.caller, call.body)
      const person = await deps.store.people.users.byId(userId)
      // who is new has just chosen a password; of others a link proves nothing
      const proven = isNew ? deps.clock.now() : call.caller.provenAtMs
      // an operator's session ended with the new privilege, and somebody new has none yet
      if (person !== null && (isNew || person.operator !== call.caller.user?.operator))
        keepOpened(
          jarOf(deps, call),
          await new UserSessions(deps).open(call.caller, person, null, 'sign_in.invited', proven),
        )
    },
  }),
  operation({
    ...open,
    id: 'registration.ask',
    call: 'POST /registration',
    summary: 'Ask to register: a letter with a link goes to the address.',
    body: registrationForm,
    answer: { status: 202, body: null },
    refuses: [400, 403, 429],
    run: (deps: ConsoleDeps, { caller, body }) => new WaysIn(deps).askToRegister(caller, body),
  }),
  operation({
    ...open,
    id: 'registration.register',
    call: 'POST /registration/confirm',
    summary: 'Become a user with the link of the letter, and be signed in.',
    body: registerForm,
    refuses: [400, 403, 409, 410, 429],
    async run(deps: ConsoleDeps, call) {
      const person = await new WaysIn(deps).register(call.caller, call.body)
      keepOpened(jarOf(deps, call), await new UserSessions(deps).open(call.caller, person, null, 'sign_in.registered'))
    },
  }),
  operation({
    ...open,
    id: 'resets.ask',
    call: 'POST /resets',
    summary: 'Ask for a new password: a letter with a link goes to the address, if it is known.',
    body: resetRequestForm,
    answer: { status: 202, body: null },
    refuses: [400, 409, 429],
    run: (deps: ConsoleDeps, { caller, body }) => new WaysIn(deps).askForReset(caller, body),
  }),
  operation({
    ...open,
    id: 'resets.reset',
    call: 'POST /resets/confirm',
    summary: 'Choose a new password with the link. Then sign in; a second factor stays in force.',
    body: resetForm,
    refuses: [400, 410, 429],
    run: (deps: ConsoleDeps, { caller, body }) => new WaysIn(deps).reset(caller, body),
  }),
]
