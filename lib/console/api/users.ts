/** The calls by which operators look after users. */
import { z } from 'zod'
import { operation } from '../../api/operation.ts'
import * as invitations from '../../operations/people/invitations.ts'
import { makeReset } from '../../operations/people/resets.ts'
import * as users from '../../operations/people/users.ts'
import { ROLES } from '../../base/people.ts'
import type { ConsoleDeps } from './deps.ts'
import { invitationRecord, listOf, newInvitationRecord } from './members.ts'
import { rowId } from './shared.ts'

const time = z.iso.datetime()

export const user = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  status: z.enum(['active', 'disabled']),
  operator: z.boolean(),
  second_factor: z.boolean(),
  created_at: time,
})

export const shownUser = user
  .extend({
    accounts: z.array(z.strictObject({ id: z.string(), name: z.string(), role: z.enum(ROLES) })),
    sessions: z.int(),
    seen_at: time.nullable(),
  })
  .meta({ id: 'ShownUser' })

export const resetLink = z.strictObject({ url: z.string(), expires_at: time }).meta({ id: 'ResetLink' })

const operators = { who: 'operator', scope: 'operator' } as const
/** Nobody else gets in by what a token does: these need a person in a session. */
const danger = { who: 'operator', scope: null, effect: 'danger', stepUp: true } as const

export const USERS = [
  operation({
    ...operators,
    id: 'users.list',
    call: 'GET /users',
    summary: 'All users.',
    effect: 'read',
    query: users.usersFilter,
    answer: { status: 200, body: listOf(user.meta({ id: 'User' })) },
    refuses: [400],
    run: (deps: ConsoleDeps, { query }) => users.listUsers(deps, query),
  }),
  operation({
    ...operators,
    id: 'users.show',
    call: 'GET /users/{id}',
    summary: 'A user, and the accounts that it is in.',
    effect: 'read',
    path: rowId,
    answer: { status: 200, body: shownUser },
    refuses: [404],
    run: async (deps: ConsoleDeps, { path }) => users.showUser(deps, await users.userNamed(deps, path.id)),
  }),
  operation({
    ...danger,
    id: 'users.invite',
    call: 'POST /users/invitations',
    summary: 'Invite somebody: among the operators, into an account, or as a user of no account yet.',
    body: users.inviteForm,
    answer: { status: 201, body: newInvitationRecord },
    refuses: [400, 404, 409, 429],
    run: (deps: ConsoleDeps, { caller, body }) => users.inviteUser(deps, caller, body),
  }),
  operation({
    ...operators,
    id: 'users.invitations',
    call: 'GET /users/invitations',
    summary: 'Invitations of operators that lead into no account, and that nobody has used yet.',
    effect: 'read',
    answer: { status: 200, body: listOf(invitationRecord) },
    run: (deps: ConsoleDeps) => invitations.listInvitations(deps, null),
  }),
  operation({
    ...operators,
    id: 'users.revoke_invitation',
    call: 'DELETE /users/invitations/{id}',
    summary: 'Withdraw such an invitation.',
    effect: 'write',
    path: rowId,
    answer: { status: 204, body: null },
    refuses: [404],
    async run(deps: ConsoleDeps, { caller, path }) {
      await invitations.revokeInvitation(deps, caller, null, path.id)
      return null
    },
  }),
  operation({
    ...danger,
    id: 'users.change',
    call: 'PATCH /users/{id}',
    summary:
      'Disable a user, or enable one again. All sessions of the user end, and with disabling the keys that it made are disabled.',
    path: rowId,
    body: users.statusForm,
    answer: { status: 200, body: shownUser },
    refuses: [400, 404, 409],
    run: async (deps: ConsoleDeps, { caller, path, body }) =>
      users.setStatus(deps, caller, await users.userNamed(deps, path.id), body.status),
  }),
  operation({
    ...danger,
    id: 'users.end_sessions',
    call: 'DELETE /users/{id}/sessions',
    summary: 'End all sessions of a user.',
    path: rowId,
    answer: { status: 200, body: z.strictObject({ ended: z.int() }) },
    refuses: [404],
    run: async (deps: ConsoleDeps, { caller, path }) =>
      users.endUserSessions(deps, caller, await users.userNamed(deps, path.id)),
  }),
  operation({
    ...danger,
    id: 'users.reset',
    call: 'POST /users/{id}/reset',
    summary: 'Make a link by which a user chooses a new password. The user is told at the next sign-in.',
    path: rowId,
    answer: { status: 201, body: resetLink },
    refuses: [404],
    run: async (deps: ConsoleDeps, { caller, path }) => makeReset(deps, caller, await users.userNamed(deps, path.id)),
  }),
  operation({
    ...danger,
    id: 'users.factor_reset',
    call: 'DELETE /users/{id}/second-factor',
    summary: 'Switch off the second factor of a user who lost it. All sessions end, and the user is told.',
    path: rowId,
    answer: { status: 204, body: null },
    refuses: [404],
    async run(deps: ConsoleDeps, { caller, path }) {
      await users.resetFactor(deps, caller, await users.userNamed(deps, path.id))
      return null
    },
  }),
]
