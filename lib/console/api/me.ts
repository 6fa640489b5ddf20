/** The calls of people about themselves: profile, password, second factor, sessions, personal tokens. */
import { emailForm, secretForm } from '../../operations/people/deps.ts'
import { OwnUser, codeForm, passwordForm, profileForm, tokenForm } from '../../operations/people/me.ts'
import { UserSessions } from '../../operations/people/sign-in.ts'
import { dropCookie } from '../sign-in/identities.ts'
import { type ConsoleDeps, andSignInAgain, jarOf, personOf, rowId } from './shared.ts'
import { listOf } from './people.ts'
import { z } from 'zod'
import { operation } from '../../api/operation.ts'
import { LANGUAGES, ROLES, SCOPES, THEMES } from '../../base/people.ts'

const time = z.iso.datetime()

const meRecord = z
  .strictObject({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    operator: z.boolean(),
    has_password: z.boolean(),
    /** An app that shows codes, or a passkey. */
    second_factor: z.boolean(),
    authenticator: z.boolean(),
    passkeys: z.int(),
    language: z.enum(LANGUAGES).nullable(),
    theme: z.enum(THEMES).nullable(),
    proven_until: time.nullable(),
    accounts: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        status: z.enum(['active', 'banned']),
        role: z.enum(ROLES),
      }),
    ),
    announcements: z
      .array(
        z.strictObject({
          id: z.string(),
          text: z.record(z.enum(LANGUAGES), z.string()),
          level: z.enum(['info', 'warning']),
        }),
      )
      .meta({ description: 'What the operator tells the groups of your accounts.' }),
    notices: z.array(z.strictObject({ kind: z.enum(['reset_link', 'factor_reset', 'passkeys_kept']), at: time })),
  })
  .meta({ id: 'Me' })

export type Me = z.infer<typeof meRecord>

const sessionRecord = z
  .strictObject({
    id: z.string(),
    current: z.boolean(),
    created_at: time,
    seen_at: time,
    ends_at: time,
    ip: z.string(),
    agent: z.string(),
  })
  .meta({ id: 'Session' })

const recoveryCodes = z.strictObject({ recovery_codes: z.array(z.string()) }).meta({ id: 'RecoveryCodes' })

export const ME = [
  operation({
    id: 'me.show',
    call: 'GET /me',
    summary: 'Who you are, and the accounts that you are in.',
    who: 'user',
    scope: 'read',
    answer: { status: 200, body: meRecord },
    run: async (deps: ConsoleDeps, { caller }) =>
      new OwnUser(deps).show(await personOf(deps, caller), caller.provenAtMs),
  }),
  operation({
    id: 'me.change',
    call: 'PATCH /me',
    summary: 'Change your name, language or theme.',
    who: 'user',
    body: profileForm,
    answer: { status: 200, body: meRecord },
    refuses: [400],
    run: async (deps: ConsoleDeps, { caller, body }) =>
      new OwnUser(deps).show(await new OwnUser(deps).change(caller, body), caller.provenAtMs),
  }),
  operation({
    id: 'me.delete',
    call: 'DELETE /me',
    summary: 'Delete your user. The log of actions keeps what you did, and not who you were.',
    who: 'user',
    effect: 'danger',
    stepUp: true,
    refuses: [409],
    async run(deps: ConsoleDeps, call) {
      await new OwnUser(deps).delete(call.caller)
      for (const name of ['session', 'device'] as const) dropCookie(jarOf(deps, call), name)
    },
  }),
  operation({
    id: 'me.clear_notices',
    call: 'DELETE /me/notices',
    summary: 'Dismiss the notices of what others have changed in how you sign in.',
    who: 'user',
    run: (deps: ConsoleDeps, { caller }) => new OwnUser(deps).clearNotices(caller),
  }),
  operation({
    id: 'me.password',
    call: 'POST /me/password',
    summary: 'Change your password. Every other session of yours ends.',
    who: 'user',
    protects: true,
    effect: 'danger',
    stepUp: true,
    limit: 'sign-in',
    body: passwordForm,
    refuses: [400, 403, 429],
    run: (deps: ConsoleDeps, call) =>
      andSignInAgain(deps, call, () => new OwnUser(deps).changePassword(call.caller, call.body)),
  }),
  operation({
    id: 'me.email',
    call: 'POST /me/email',
    summary: 'Ask for another e-mail: a letter with a link goes there.',
    who: 'user',
    effect: 'danger',
    stepUp: true,
    limit: 'sign-in',
    body: emailForm,
    answer: { status: 202, body: null },
    refuses: [400, 409, 429],
    run: (deps: ConsoleDeps, { caller, body }) => new OwnUser(deps).askForEmail(caller, body),
  }),
  operation({
    id: 'me.email_confirmed',
    call: 'POST /email',
    summary: 'Use the e-mail to which the letter went from now on. All sessions of its user end.',
    who: 'anyone',
    limit: 'sign-in',
    body: secretForm,
    refuses: [400, 409, 410, 429],
    run: (deps: ConsoleDeps, { caller, body }) => new OwnUser(deps).confirmEmail(caller, body),
  }),
  operation({
    id: 'factor.start',
    call: 'POST /me/second-factor',
    summary: 'Begin a second factor: a secret for an app, which counts after one confirmed code.',
    who: 'user',
    effect: 'danger',
    stepUp: true,
    answer: {
      status: 201,
      body: z.strictObject({ secret: z.string(), uri: z.string(), qr: z.string() }).meta({ id: 'NewFactor' }),
    },
    run: async (deps: ConsoleDeps, { caller }) => new OwnUser(deps).startFactor(await personOf(deps, caller)),
  }),
  operation({
    id: 'factor.confirm',
    call: 'POST /me/second-factor/confirm',
    summary: 'Put the second factor in force with a code of the app. Every other session of yours ends.',
    who: 'user',
    effect: 'danger',
    stepUp: true,
    limit: 'sign-in',
    body: codeForm,
    answer: { status: 200, body: recoveryCodes },
    refuses: [400, 403, 409],
    run: (deps: ConsoleDeps, call) =>
      andSignInAgain(deps, call, () => new OwnUser(deps).confirmFactor(call.caller, call.body)),
  }),
  operation({
    id: 'factor.remove',
    call: 'DELETE /me/second-factor',
    summary: 'Sign in without a second factor from now on. Every other session of yours ends.',
    who: 'user',
    effect: 'danger',
    stepUp: true,
    run: (deps: ConsoleDeps, call) => andSignInAgain(deps, call, () => new OwnUser(deps).removeFactor(call.caller)),
  }),
  operation({
    id: 'factor.recovery_codes',
    call: 'POST /me/recovery-codes',
    summary: 'Make new recovery codes; the old ones end, and so does every other session of yours.',
    who: 'user',
    effect: 'danger',
    stepUp: true,
    answer: { status: 201, body: recoveryCodes },
    refuses: [409],
    run: (deps: ConsoleDeps, call) =>
      andSignInAgain(deps, call, () => new OwnUser(deps).renewRecoveryCodes(call.caller)),
  }),
  operation({
    id: 'sessions.list',
    call: 'GET /me/sessions',
    summary: 'Where you are signed in.',
    who: 'user',
    answer: { status: 200, body: z.strictObject({ data: z.array(sessionRecord), next: z.null() }) },
    run: async (deps: ConsoleDeps, { caller }) => new UserSessions(deps).list(caller, await personOf(deps, caller)),
  }),
  operation({
    id: 'sessions.end',
    call: 'DELETE /me/sessions/{id}',
    summary: 'End one of your sessions.',
    who: 'user',
    protects: true,
    path: rowId,
    refuses: [404],
    run: (deps: ConsoleDeps, { caller, path }) => new UserSessions(deps).end(caller, path.id),
  }),
  operation({
    id: 'sessions.end_others',
    call: 'DELETE /me/sessions',
    summary: 'End all your sessions but this one.',
    who: 'user',
    protects: true,
    answer: { status: 200, body: z.strictObject({ ended: z.int() }) },
    run: (deps: ConsoleDeps, { caller }) => new UserSessions(deps).endOthers(caller),
  }),
]

const token = z.strictObject({
  id: z.string(),
  name: z.string(),
  hint: z.string(),
  scope: z.enum(SCOPES),
  allow_ips: z.array(z.string()).nullable(),
  created_at: time,
  expires_at: time,
  used_at: time.nullable(),
})

export const TOKENS = [
  operation({
    id: 'tokens.list',
    call: 'GET /me/tokens',
    summary: 'Your personal tokens.',
    who: 'user',
    answer: { status: 200, body: listOf(token.meta({ id: 'Token' })) },
    run: (deps: ConsoleDeps, { caller }) => new OwnUser(deps).tokens(caller),
  }),
  operation({
    id: 'tokens.create',
    call: 'POST /me/tokens',
    summary: 'Make a personal token. Its secret is shown once.',
    who: 'user',
    effect: 'danger',
    stepUp: true,
    body: tokenForm,
    answer: { status: 201, body: token.extend({ secret: z.string() }).meta({ id: 'NewToken' }) },
    refuses: [400, 403, 409],
    run: (deps: ConsoleDeps, { caller, body }) => new OwnUser(deps).createToken(caller, body),
  }),
  operation({
    id: 'tokens.end',
    call: 'DELETE /me/tokens/{id}',
    summary: 'End a personal token.',
    who: 'user',
    protects: true,
    path: rowId,
    refuses: [404],
    run: (deps: ConsoleDeps, { caller, path }) => new OwnUser(deps).endToken(caller, path.id),
  }),
]
