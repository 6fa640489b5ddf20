/** What the calls answer, taken from the operations that make the answers. Types only: nothing of them reaches a browser. */
import type { actionPage } from '../../operations/own-actions.ts'
import type { testOwnKey } from '../../operations/own-key-test.ts'
import type { createOwnKey, ownGroups, ownKeyPage, rollOwnKey } from '../../operations/own-keys.ts'
import type { listIdentities } from '../../operations/people/identities.ts'
import type { invite, listInvitations, lookAt } from '../../operations/people/invitations.ts'
import type { listMembers, showMember } from '../../operations/people/members.ts'
import type { listSessions } from '../../operations/people/sessions.ts'
import type { createToken, listTokens } from '../../operations/people/tokens.ts'
import type { GroupCatalogue } from '../../operations/public-catalogue.ts'

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
