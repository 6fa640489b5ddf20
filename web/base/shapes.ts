/** What the calls answer, taken from the operations that make the answers. Types only: nothing of them reaches a browser. */
import type { Actions } from '../../lib/operations/accounts/actions.ts'
import type { testKey } from '../../lib/operations/usage/requests.ts'
import type { KeyList } from '../../lib/operations/accounts/key-list.ts'
import type { OwnKeys } from '../../lib/operations/accounts/own-keys.ts'
import type { Invitations, WaysIn } from '../../lib/operations/people/joining.ts'
import type { OwnUser, Passkeys } from '../../lib/operations/people/me.ts'
import type { UserSessions } from '../../lib/operations/people/sign-in.ts'
import type { AccountMembers } from '../../lib/operations/people/users.ts'
import type { GroupCatalogue } from '../../lib/operations/catalogue/public-catalogue.ts'

type Answer<F extends (...given: never[]) => Promise<unknown>> = Awaited<ReturnType<F>>
type Row<F extends (...given: never[]) => Promise<{ data: unknown[] }>> = Answer<F>['data'][number]

export type Invitation = Row<Invitations['list']>
export type NewInvitation = Answer<Invitations['make']>
export type Invited = Answer<WaysIn['lookAt']>
export type Identity = Row<OwnUser['identities']>
export type Member = Row<AccountMembers['list']>
export type ShownMember = Answer<AccountMembers['show']>
export type Passkey = Row<Passkeys['list']>
export type NewPasskey = Answer<Passkeys['add']>
export type Session = Row<UserSessions['list']>
export type Token = Row<OwnUser['tokens']>
export type NewToken = Answer<OwnUser['createToken']>
export type Action = Row<Actions['shown']>
export type KeyPage = Answer<KeyList['page']>
export type Key = KeyPage['data'][number]
export type NewKey = Answer<OwnKeys['create']>
export type RolledKey = Answer<OwnKeys['roll']>
export type KeyTest = Answer<typeof testKey>
export type AccountGroup = Row<OwnKeys['groups']>
export type OwnModels = GroupCatalogue
