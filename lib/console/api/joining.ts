/** The calls of people who come in by a link, or ask for one: invitations, registration, new passwords. */
import { z } from 'zod'
import { operation } from '../../api/operation.ts'
import * as invitations from '../../operations/people/invitations.ts'
import { secretForm } from '../../operations/people/profile.ts'
import * as registration from '../../operations/people/registration.ts'
import * as resets from '../../operations/people/resets.ts'
import { openSession } from '../../operations/people/sessions.ts'
import { ROLES } from '../../base/people.ts'
import { keepOpened } from '../sign-in/cookies.ts'
import type { ConsoleDeps } from './deps.ts'
import { jarOf } from './shared.ts'

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
    run: (deps: ConsoleDeps, { caller, body }) => invitations.lookAt(deps, caller, body.token),
  }),
  operation({
    ...open,
    id: 'invitations.accept',
    call: 'POST /invitations/accept',
    summary: 'Accept an invitation. Who has no user yet gets one, and is signed in.',
    body: invitations.acceptForm,
    answer: { status: 204, body: null },
    refuses: [400, 403, 409, 410, 429],
    async run(deps: ConsoleDeps, call) {
      const { userId, isNew } = await invitations.acceptInvitation(deps, call.caller, call.body)
      const person = await deps.store.people.users.byId(userId)
      // who is new has just chosen a password; of others a link proves nothing
      const proven = isNew ? deps.clock.now() : call.caller.provenAtMs
      // an operator's session ended with the new privilege, and somebody new has none yet
      if (person !== null && (isNew || person.operator !== call.caller.user?.operator))
        keepOpened(jarOf(deps, call), await openSession(deps, call.caller, person, null, 'sign_in.invited', proven))
      return null
    },
  }),
  operation({
    ...open,
    id: 'registration.ask',
    call: 'POST /registration',
    summary: 'Ask to register: a letter with a link goes to the address.',
    body: registration.registrationForm,
    answer: { status: 202, body: null },
    refuses: [400, 403, 429],
    async run(deps: ConsoleDeps, { caller, body }) {
      await registration.askToRegister(deps, caller, body)
      return null
    },
  }),
  operation({
    ...open,
    id: 'registration.register',
    call: 'POST /registration/confirm',
    summary: 'Become a user with the link of the letter, and be signed in.',
    body: registration.registerForm,
    answer: { status: 204, body: null },
    refuses: [400, 403, 409, 410, 429],
    async run(deps: ConsoleDeps, call) {
      const person = await registration.register(deps, call.caller, call.body)
      keepOpened(jarOf(deps, call), await openSession(deps, call.caller, person, null, 'sign_in.registered'))
      return null
    },
  }),
  operation({
    ...open,
    id: 'resets.ask',
    call: 'POST /resets',
    summary: 'Ask for a new password: a letter with a link goes to the address, if it is known.',
    body: resets.resetRequestForm,
    answer: { status: 202, body: null },
    refuses: [400, 409, 429],
    async run(deps: ConsoleDeps, { caller, body }) {
      await resets.askForReset(deps, caller, body)
      return null
    },
  }),
  operation({
    ...open,
    id: 'resets.reset',
    call: 'POST /resets/confirm',
    summary: 'Choose a new password with the link. Then sign in; a second factor stays in force.',
    body: resets.resetForm,
    answer: { status: 204, body: null },
    refuses: [400, 410, 429],
    async run(deps: ConsoleDeps, { caller, body }) {
      await resets.reset(deps, caller, body)
      return null
    },
  }),
]
