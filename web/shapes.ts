/** What the calls answer, taken from the operations that make the answers. Types only: nothing of them reaches a browser. */
import type { actionPage } from '../lib/operations/accounts/own-actions.ts'
import type { testOwnKey } from '../lib/operations/usage/own-key-test.ts'
import type { createOwnKey, ownGroups, ownKeyPage, rollOwnKey } from '../lib/operations/accounts/own-keys.ts'
import type { listIdentities } from '../lib/operations/people/identities.ts'
import type { invite, listInvitations, lookAt } from '../lib/operations/people/invitations.ts'
import type { listMembers, showMember } from '../lib/operations/people/members.ts'
import type { listSessions } from '../lib/operations/people/sessions.ts'
import type { createToken, listTokens } from '../lib/operations/people/tokens.ts'
import type { GroupCatalogue } from '../lib/operations/catalogue/public-catalogue.ts'

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
export type Action = Row<typeof actionPage>
export type Key = Row<typeof ownKeyPage>
export type NewKey = Answer<typeof createOwnKey>
export type RolledKey = Answer<typeof rollOwnKey>
export type KeyTest = Answer<typeof testOwnKey>
export type AccountGroup = Row<typeof ownGroups>
export type OwnModels = GroupCatalogue
