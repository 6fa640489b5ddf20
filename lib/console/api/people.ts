/** The calls about people: the members of an account and the invitations into it, and how operators look after users. */
import { type ConsoleDeps, rowId } from './shared.ts'
import { z } from 'zod'
import { type Operation, operation } from '../../api/operation.ts'
import type { UserDeps } from '../../operations/people/deps.ts'
import { Invitations, invitationForm } from '../../operations/people/joining.ts'
import {
  AccountMembers,
  UserAdmin,
  inviteForm,
  membersFilter,
  removalForm,
  roleForm,
  statusForm,
  usersFilter,
} from '../../operations/people/users.ts'
import { ROLES } from '../../base/people.ts'
import { MAY } from '../../../web/shared/roles.ts'

const member = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  status: z.enum(['active', 'disabled']),
  second_factor: z.boolean(),
})

const memberRecord = member.meta({ id: 'Member' })
const shownMember = member
  .extend({
    keys: z.array(z.strictObject({ id: z.string(), name: z.string(), status: z.enum(['enabled', 'disabled']) })),
  })
  .meta({ id: 'ShownMember' })

const invitation = z.strictObject({
  id: z.string(),
  email: z.string(),
  role: z.enum(ROLES).nullable(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
})

const invitationRecord = invitation.meta({ id: 'Invitation' })
const newInvitationRecord = invitation.extend({ url: z.string().nullable() }).meta({ id: 'NewInvitation' })
export const listOf = <T extends z.ZodType>(row: T) =>
  z.strictObject({ data: z.array(row), next: z.string().nullable() })

const owners = { who: MAY.changeMembers, scope: null } as const

export const MEMBERS = [
  operation({
    id: 'members.list',
    call: 'GET /accounts/{account}/members',
    summary: 'Who is a member of the account.',
    who: MAY.readMembers,
    scope: 'read',
    query: membersFilter,
    answer: { status: 200, body: listOf(memberRecord) },
    refuses: [400],
    run: (deps: ConsoleDeps, { account, query }) => new AccountMembers(deps).list(account, query),
  }),
  operation({
    ...owners,
    id: 'members.show',
    call: 'GET /accounts/{account}/members/{id}',
    summary: 'A member, and the keys that it made.',
    path: rowId,
    answer: { status: 200, body: shownMember },
    refuses: [404],
    run: (deps: ConsoleDeps, { account, path }) => new AccountMembers(deps).show(account, path.id),
  }),
  operation({
    ...owners,
    id: 'members.change',
    call: 'PATCH /accounts/{account}/members/{id}',
    summary:
      'Give a member another role. The sessions of the member end; with a role that has no keys, those that it made are disabled, or handed to you.',
    effect: 'danger',
    stepUp: true,
    path: rowId,
    body: roleForm,
    answer: { status: 200, body: memberRecord },
    refuses: [400, 404, 409],
    run: (deps: ConsoleDeps, { caller, account, path, body }) =>
      new AccountMembers(deps).changeRole(caller, account, path.id, body),
  }),
  operation({
    ...owners,
    id: 'members.remove',
    call: 'DELETE /accounts/{account}/members/{id}',
    summary: 'Remove a member. Its sessions end; the keys that it made are disabled, or handed to you.',
    effect: 'danger',
    stepUp: true,
    path: rowId,
    query: removalForm,
    refuses: [400, 404, 409],
    run: (deps: ConsoleDeps, { caller, account, path, query }) =>
      new AccountMembers(deps).remove(caller, account, path.id, query),
  }),
  operation({
    id: 'members.leave',
    call: 'POST /accounts/{account}/leave',
    summary: 'Leave the account. The keys that you made are disabled.',
    who: ROLES,
    effect: 'danger',
    stepUp: true,
    refuses: [409],
    run: (deps: ConsoleDeps, { caller, account }) => new AccountMembers(deps).leave(caller, account),
  }),
  operation({
    ...owners,
    id: 'invitations.list',
    call: 'GET /accounts/{account}/invitations',
    summary: 'Invitations into the account that nobody has used yet.',
    answer: { status: 200, body: listOf(invitationRecord) },
    run: (deps: ConsoleDeps, { account }) => new Invitations(deps).list(account),
  }),
  operation({
    ...owners,
    id: 'invitations.create',
    call: 'POST /accounts/{account}/invitations',
    summary: 'Invite somebody into the account. The link is shown once.',
    effect: 'danger',
    stepUp: true,
    limit: 'sign-in',
    body: invitationForm,
    answer: { status: 201, body: newInvitationRecord },
    refuses: [400, 409, 429],
    run: (deps: ConsoleDeps, { caller, account, body }) =>
      new Invitations(deps).make(caller, body.email, { account, role: body.role, operator: false }),
  }),
  operation({
    ...owners,
    id: 'invitations.revoke',
    call: 'DELETE /accounts/{account}/invitations/{id}',
    summary: 'Withdraw an invitation.',
    path: rowId,
    refuses: [404],
    run: (deps: ConsoleDeps, { caller, account, path }) => new Invitations(deps).revoke(caller, account, path.id),
  }),
]

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

const shownUser = user
  .extend({
    accounts: z.array(z.strictObject({ id: z.string(), name: z.string(), role: z.enum(ROLES) })),
    sessions: z.int(),
    seen_at: time.nullable(),
  })
  .meta({ id: 'ShownUser' })

const resetLink = z.strictObject({ url: z.string(), expires_at: time }).meta({ id: 'ResetLink' })

const operators = { who: 'operator', scope: 'operator' } as const
/** Nobody else gets in by what a token does: these need a person in a session. */
const danger = { who: 'operator', scope: null, effect: 'danger', stepUp: true } as const

/** The admin API has these calls, too. */
export const USERS: Operation<UserDeps>[] = [
  operation({
    ...operators,
    id: 'users.list',
    call: 'GET /users',
    summary: 'All users.',
    query: usersFilter,
    answer: { status: 200, body: listOf(user.meta({ id: 'User' })) },
    refuses: [400],
    run: (deps: UserDeps, { query }) => new UserAdmin(deps).list(query),
  }),
  operation({
    ...operators,
    id: 'users.show',
    call: 'GET /users/{id}',
    summary: 'A user, and the accounts that it is in.',
    path: rowId,
    answer: { status: 200, body: shownUser },
    refuses: [404],
    run: async (deps: UserDeps, { path }) => new UserAdmin(deps).show(await new UserAdmin(deps).named(path.id)),
  }),
  operation({
    ...danger,
    id: 'users.invite',
    call: 'POST /users/invitations',
    summary: 'Invite somebody: among the operators, into an account, or as a user of no account yet.',
    body: inviteForm,
    answer: { status: 201, body: newInvitationRecord },
    refuses: [400, 404, 409, 429],
    run: (deps: UserDeps, { caller, body }) => new UserAdmin(deps).invite(caller, body),
  }),
  operation({
    ...operators,
    id: 'users.invitations',
    call: 'GET /users/invitations',
    summary: 'Invitations of operators that lead into no account, and that nobody has used yet.',
    answer: { status: 200, body: listOf(invitationRecord) },
    run: (deps: UserDeps) => new Invitations(deps).list(null),
  }),
  operation({
    ...operators,
    id: 'users.revoke_invitation',
    call: 'DELETE /users/invitations/{id}',
    summary: 'Withdraw such an invitation.',
    path: rowId,
    refuses: [404],
    run: (deps: UserDeps, { caller, path }) => new Invitations(deps).revoke(caller, null, path.id),
  }),
  operation({
    ...danger,
    id: 'users.change',
    call: 'PATCH /users/{id}',
    summary:
      'Disable a user, or enable one again. All sessions of the user end, and with disabling the keys that it made are disabled.',
    path: rowId,
    body: statusForm,
    answer: { status: 200, body: shownUser },
    refuses: [400, 404, 409],
    run: async (deps: UserDeps, { caller, path, body }) =>
      new UserAdmin(deps).setStatus(caller, await new UserAdmin(deps).named(path.id), body.status),
  }),
  operation({
    ...danger,
    id: 'users.end_sessions',
    call: 'DELETE /users/{id}/sessions',
    summary: 'End all sessions of a user.',
    protects: true,
    path: rowId,
    answer: { status: 200, body: z.strictObject({ ended: z.int() }) },
    refuses: [404],
    run: async (deps: UserDeps, { caller, path }) =>
      new UserAdmin(deps).endSessions(caller, await new UserAdmin(deps).named(path.id)),
  }),
  operation({
    ...danger,
    id: 'users.reset',
    call: 'POST /users/{id}/reset',
    summary: 'Make a link by which a user chooses a new password. The user is told at the next sign-in.',
    path: rowId,
    answer: { status: 201, body: resetLink },
    refuses: [404],
    run: async (deps: UserDeps, { caller, path }) =>
      new UserAdmin(deps).makeReset(caller, await new UserAdmin(deps).named(path.id)),
  }),
  operation({
    ...danger,
    id: 'users.factor_reset',
    call: 'DELETE /users/{id}/second-factor',
    summary:
      'Delete the app, the passkeys and the recovery codes of a user who lost them. All sessions end, and the user is told.',
    path: rowId,
    refuses: [404],
    run: async (deps: UserDeps, { caller, path }) =>
      new UserAdmin(deps).resetFactor(caller, await new UserAdmin(deps).named(path.id)),
  }),
]
