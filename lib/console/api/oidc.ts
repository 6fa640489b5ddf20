/** The calls of people who sign in by an OpenID provider. */
import { z } from 'zod'
import { operation } from '../../api/operation.ts'
import type { By } from '../../operations/people/deps.ts'
import { endIdentity, listIdentities } from '../../operations/people/identities.ts'
import { finishOidc, type Purpose, startOidc } from '../sign-in/oidc.ts'
import type { ConsoleDeps } from './deps.ts'
import { listOf } from './members.ts'
import { jarOf, rowId } from './shared.ts'

const away = z.strictObject({ url: z.string() }).meta({ id: 'ProviderAddress' })
const identity = z
  .strictObject({ id: z.string(), issuer: z.string(), created_at: z.iso.datetime() })
  .meta({ id: 'Identity' })

/** The page of the console to which the browser comes back. */
const back = z.strictObject({ next: z.string().max(1_000).optional() })

type Started = Parameters<typeof jarOf>[1] & { caller: By; body: z.output<typeof back> }

const start = (purpose: Purpose) =>
  ({
    effect: 'write',
    scope: null,
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
    effect: 'read',
    page: true,
    scope: null,
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
    effect: 'read',
    scope: null,
    answer: { status: 200, body: listOf(identity) },
    run: (deps: ConsoleDeps, { caller }) => listIdentities(deps, caller),
  }),
  operation({
    id: 'identities.end',
    call: 'DELETE /me/identities/{id}',
    summary: 'Let a provider no longer vouch for you.',
    who: 'user',
    effect: 'danger',
    scope: null,
    stepUp: true,
    path: rowId,
    answer: { status: 204, body: null },
    refuses: [404, 409],
    async run(deps: ConsoleDeps, { caller, path }) {
      await endIdentity(deps, caller, path.id)
      return null
    },
  }),
]
