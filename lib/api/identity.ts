/** How a caller is recognised: by the cookie of a session, or by a personal token. lib/console/sign-in has the sessions. */
import type { Role, Scope, User } from '../base/people.ts'
import type { Account } from '../terms/records.ts'

export interface Identity {
  user: User
  sessionId: number | null
  tokenId: number | null
  /** What a personal token may do; null = a session, which may do all that its user may. */
  scope: Scope | null
  /** When the caller last gave the password or a second factor; ms since 1970, null = never in this session. */
  provenAtMs: number | null
  /** Whether this user has a second factor in force. */
  secondFactor: boolean
}

export interface Identities {
  /** `secret`: the value of the cookie. null = there is no such session, or it has ended. */
  bySession(secret: string, ip: string, agent: string): Promise<Identity | null>
  /** `secret`: a personal token. null = there is no such token, it has ended, or it may not come from this address. */
  byToken(secret: string, ip: string): Promise<Identity | null>
  /** The same caller now; null = the session or the token has ended. It keeps no session alive. */
  again(identity: Identity, ip: string): Promise<Identity | null>
  /** The account with this public id, and the user's role in it; null = there is none. */
  roleIn(userId: number, accountPublicId: string): Promise<{ account: Account; role: Role | null } | null>
}
