/** What the calls answer, taken from the operations that make the answers. Types only: nothing of them reaches a browser. */
import type { Actions } from '../../lib/operations/accounts/actions.ts'
import type { testKey } from '../../lib/operations/usage/key-test.ts'
import type { OwnKeys } from '../../lib/operations/accounts/own-keys.ts'
import type { listIdentities } from '../../lib/operations/people/identities.ts'
import type { invite, listInvitations, lookAt } from '../../lib/operations/people/invitations.ts'
import type { listMembers, showMember } from '../../lib/operations/people/members.ts'
import type { listSessions } from '../../lib/operations/people/sessions.ts'
import type { createToken, listTokens } from '../../lib/operations/people/tokens.ts'
import type { GroupCatalogue } from '../../lib/operations/catalogue/public-catalogue.ts'

type Answer<F extends (...given: never[]) => Promise<unknown>> = Awaited<ReturnType<F>>
type Row<F extends (...given: never[]) => Promise<{ data: unknown[] }>> = Answer<F>['data'][number]

export type Invitation = Row<typeof listInvitations>
export type NewInvitation = Answer<typeof invite>
export type Invited = Answer<typeof lookAt>
export type Identity = Row<typeof listIdentities>
export type Member = Row<typeof listMembers>
export type ShownMember = Answer<typeof showMember>
export type Session = Row<typeof listSessions>
export type Token = Row<typeof listTokens>
export type NewToken = Answer<typeof createToken>
export type Action = Row<Actions['shown']>
export type Key = Row<OwnKeys['list']>
export type NewKey = Answer<OwnKeys['create']>
export type RolledKey = Answer<OwnKeys['roll']>
export type KeyTest = Answer<typeof testKey>
export type AccountGroup = Row<OwnKeys['groups']>
export type OwnModels = GroupCatalogue
