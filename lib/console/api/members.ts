/** The calls about the members of an account and the invitations into it. */
import { z } from 'zod'
import { operation } from '../../api/operation.ts'
import * as invitations from '../../operations/people/invitations.ts'
import * as members from '../../operations/people/members.ts'
import { ROLES } from '../../base/people.ts'
import type { ConsoleDeps } from './deps.ts'
import { rowId } from './shared.ts'
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

export const invitationRecord = invitation.meta({ id: 'Invitation' })
export const newInvitationRecord = invitation.extend({ url: z.string().nullable() }).meta({ id: 'NewInvitation' })
export const listOf = <T extends z.ZodType>(row: T) =>
  z.strictObject({ data: z.array(row), next: z.string().nullable() })

const owners = { who: MAY.changeMembers, scope: null } as const

export const MEMBERS = [
  operation({
    id: 'members.list',
    call: 'GET /accounts/{account}/members',
    summary: 'Who is a member of the account.',
    who: MAY.readMembers,
    effect: 'read',
    scope: 'read',
    query: members.membersFilter,
    answer: { status: 200, body: listOf(memberRecord) },
    refuses: [400],
    run: (deps: ConsoleDeps, { account, query }) => members.listMembers(deps, account, query),
  }),
  operation({
    ...owners,
    id: 'members.show',
    call: 'GET /accounts/{account}/members/{id}',
    summary: 'A member, and the keys that it made.',
    effect: 'read',
    path: rowId,
    answer: { status: 200, body: shownMember },
    refuses: [404],
    run: (deps: ConsoleDeps, { account, path }) => members.showMember(deps, account, path.id),
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
    body: members.roleForm,
    answer: { status: 200, body: memberRecord },
    refuses: [400, 404, 409],
    run: (deps: ConsoleDeps, { caller, account, path, body }) =>
      members.changeRole(deps, caller, account, path.id, body),
  }),
  operation({
    ...owners,
    id: 'members.remove',
    call: 'DELETE /accounts/{account}/members/{id}',
    summary: 'Remove a member. Its sessions end; the keys that it made are disabled, or handed to you.',
    effect: 'danger',
    stepUp: true,
    path: rowId,
    query: members.removalForm,
    answer: { status: 204, body: null },
    refuses: [400, 404, 409],
    async run(deps: ConsoleDeps, { caller, account, path, query }) {
      await members.removeMember(deps, caller, account, path.id, query)
      return null
    },
  }),
  operation({
    id: 'members.leave',
    call: 'POST /accounts/{account}/leave',
    summary: 'Leave the account. The keys that you made are disabled.',
    who: ROLES,
    effect: 'danger',
    scope: null,
    stepUp: true,
    answer: { status: 204, body: null },
    refuses: [409],
    async run(deps: ConsoleDeps, { caller, account }) {
      await members.leave(deps, caller, account)
      return null
    },
  }),
  operation({
    ...owners,
    id: 'invitations.list',
    call: 'GET /accounts/{account}/invitations',
    summary: 'Invitations into the account that nobody has used yet.',
    effect: 'read',
    answer: { status: 200, body: listOf(invitationRecord) },
    run: (deps: ConsoleDeps, { account }) => invitations.listInvitations(deps, account),
  }),
  operation({
    ...owners,
    id: 'invitations.create',
    call: 'POST /accounts/{account}/invitations',
    summary: 'Invite somebody into the account. The link is shown once.',
    effect: 'danger',
    stepUp: true,
    limit: 'sign-in',
    body: invitations.invitationForm,
    answer: { status: 201, body: newInvitationRecord },
    refuses: [400, 409, 429],
    run: (deps: ConsoleDeps, { caller, account, body }) =>
      invitations.invite(deps, caller, body.email, { account, role: body.role, operator: false }),
  }),
  operation({
    ...owners,
    id: 'invitations.revoke',
    call: 'DELETE /accounts/{account}/invitations/{id}',
    summary: 'Withdraw an invitation.',
    effect: 'write',
    path: rowId,
    answer: { status: 204, body: null },
    refuses: [404],
    async run(deps: ConsoleDeps, { caller, account, path }) {
      await invitations.revokeInvitation(deps, caller, account, path.id)
      return null
    },
  }),
]
