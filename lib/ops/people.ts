/** The calls of the admin API about users and invitations. */
import { z } from 'zod'
import { invitationRecord, listOf, newInvitationRecord } from '../console/api/members.ts'
import { resetLink, shownUser, user } from '../console/api/users.ts'
import { listInvitations, revokeInvitation } from '../operations/people/invitations.ts'
import { makeReset } from '../operations/people/resets.ts'
import * as users from '../operations/people/users.ts'
import { adminCall, made } from './call.ts'

export const PEOPLE = [
  adminCall({
    id: 'users.list',
    call: 'GET /users',
    summary: 'All users.',
    query: users.usersFilter,
    answer: listOf(user),
    run: ({ deps }, { query }) => users.listUsers(deps, query),
  }),
  adminCall({
    id: 'users.show',
    call: 'GET /users/{id}',
    summary: 'A user, and the accounts that it is in.',
    answer: shownUser,
    run: async ({ deps }, { path }) => users.showUser(deps, await users.userNamed(deps, path.id)),
  }),
  adminCall({
    id: 'users.change',
    call: 'PATCH /users/{id}',
    summary: 'Disables a user, or enables one again.',
    body: users.statusForm,
    answer: shownUser,
    refuses: [409],
    run: async ({ deps }, { path, body, caller }) =>
      users.setStatus(deps, caller, await users.userNamed(deps, path.id), body.status),
  }),
  adminCall({
    id: 'users.end_sessions',
    call: 'DELETE /users/{id}/sessions',
    summary: 'Ends all sessions of a user.',
    answer: z.strictObject({ ended: z.int() }),
    run: async ({ deps }, { path, caller }) =>
      users.endUserSessions(deps, caller, await users.userNamed(deps, path.id)),
  }),
  adminCall({
    id: 'users.reset',
    call: 'POST /users/{id}/reset',
    summary: 'Makes a link by which a user chooses a new password.',
    answer: made(resetLink),
    run: async ({ deps }, { path, caller }) => makeReset(deps, caller, await users.userNamed(deps, path.id)),
  }),
  adminCall({
    id: 'users.factor_reset',
    call: 'DELETE /users/{id}/second-factor',
    summary: 'Switches off the second factor of a user who lost it.',
    answer: null,
    async run({ deps }, { path, caller }) {
      await users.resetFactor(deps, caller, await users.userNamed(deps, path.id))
      return null
    },
  }),
  adminCall({
    id: 'invitations.list',
    call: 'GET /invitations',
    summary: 'Invitations into no account that nobody has used yet.',
    answer: listOf(invitationRecord),
    run: ({ deps }) => listInvitations(deps, null),
  }),
  adminCall({
    id: 'invitations.create',
    call: 'POST /invitations',
    summary: 'Invites somebody: among the operators, into an account, or as a user of no account yet.',
    body: users.inviteForm,
    answer: made(newInvitationRecord),
    refuses: [404, 409, 429],
    run: ({ deps }, { body, caller }) => users.inviteUser(deps, caller, body),
  }),
  adminCall({
    id: 'invitations.revoke',
    call: 'DELETE /invitations/{id}',
    summary: 'Withdraws such an invitation.',
    answer: null,
    async run({ deps }, { path, caller }) {
      await revokeInvitation(deps, caller, null, path.id)
      return null
    },
  }),
]
