/**
 * What the store keeps about people beside the users themselves (`base/people.ts`), and the forms in which it is given new rows
 * and changes. Times are in ms since 1970.
 */
import type { Language, Member, UserNotice, Person, Role, Scope, Theme } from '../../base/people.ts'
import type { Account } from '../../terms/records.ts'

export interface NewUser {
  email: string
  name: string
  /** A PHC string. */
  password: string | null
  operator: boolean
  language: Language | null
  atMs: number
}

/** A field that is absent stays as it is. */
export interface UserChange {
  name?: string
  status?: Person['status']
  language?: Language | null
  theme?: Theme | null
}

/** How a user proves who it is. */
export interface Credentials {
  password: string | null
  /** The secret of the second factor; null = none is in force, or it cannot be opened with this secret. */
  totp: string | null
  /** The secret of one that is not confirmed yet. */
  totpNext: string | null
  recoveryCodes: number
}

export interface CredentialsChange {
  password?: string
  /** `confirmed`: the factor that `startTotp` began is in force, and the code of this step is used. null = none. */
  totp?: { confirmedStep: number } | null
  /** null = all are deleted. */
  passkeys?: null
  /** Hashes that take the place of those there are. Without a factor there are none. */
  recoveryCodes?: readonly string[]
  notice?: UserNotice
  /** Ends the personal tokens too: somebody may have made some who got in as this user. */
  endTokens?: true
}

/**
 * `invitation` into an account or among operators; `registration` and `email` prove an address; `reset` sets a new
 * password; `sign-in` opens a first session; `factor` is a sign-in whose second factor is still to come; `oidc` one that
 * a provider is asked about; `passkey` a challenge that was answered.
 */
export type LinkKind = 'invitation' | 'registration' | 'reset' | 'email' | 'sign-in' | 'factor' | 'oidc' | 'passkey'

export interface NewLink {
  kind: LinkKind
  hash: string
  email: string | null
  userId: number | null
  accountId: number | null
  role: Role | null
  operator: boolean
  /** What else belongs to it. */
  doc: Record<string, unknown> | null
  createdAtMs: number
  expiresAtMs: number
}

export interface Link extends Omit<NewLink, 'hash'> {
  id: number
  publicId: string
}

export interface Session {
  id: number
  publicId: string
  userId: number
  createdAtMs: number
  seenAtMs: number
  provenAtMs: number | null
  ip: string
  agent: string
}

export interface NewSession {
  hash: string
  userId: number
  atMs: number
  /** What `CredentialRows.mark` said before the user proved who it is: when it says something else, none is opened. null = any may be in force. */
  mark: string | null
  /** When the user has proven who it is; null = not lately enough to count. */
  provenAtMs: number | null
  ip: string
  agent: string
}

export interface PersonalToken {
  id: number
  publicId: string
  userId: number
  name: string
  hint: string
  scope: Scope
  allowIps: string[] | null
  createdAtMs: number
  expiresAtMs: number
  usedAtMs: number | null
}

export type NewPersonalToken = Omit<PersonalToken, 'id' | 'publicId' | 'usedAtMs'> & { hash: string }

export interface Passkey {
  id: number
  publicId: string
  userId: number
  /** The id that the authenticator gave it, and the public key in the form of COSE: in base64url. */
  credential: string
  publicKey: string
  /** How often the authenticator says that it was used; 0 = it does not count. */
  counter: number
  /** How browsers reach the authenticator. */
  transports: string[]
  name: string
  /** Whether the person has it on other devices too. */
  synced: boolean
  /** Whether it is a sign-in by itself: after a reset of the password it is not, until it was the second step of one. */
  alone: boolean
  createdAtMs: number
  usedAtMs: number | null
}

export type NewPasskey = Omit<Passkey, 'id' | 'publicId' | 'userId' | 'alone' | 'createdAtMs' | 'usedAtMs'> & {
  atMs: number
}

/** A challenge that may be answered until then. */
export interface Answered {
  hash: string
  untilMs: number
}

export interface Membership {
  account: Account
  role: Role
}

/** A count of tries that failed. A row that does not exist has `lastMs: 0`. */
export interface Counter {
  failures: number
  lastMs: number
  untilMs: number
}

/**
 * `role` null: the member leaves. With that, and with a role that makes no keys, the keys that the member made go to the
 * user `keysTo`, or are disabled.
 */
export type RoleChange = Omit<Member, 'role'> & { role: Role | null; keysTo?: number | null }

/** What an OpenID provider calls somebody. */
export interface Identified {
  issuer: string
  subject: string
}

/** How a link is used up by somebody who has a user already, or by somebody who gets one. */
export type Joining = { userId: number } | { user: NewUser }

/** The most members of an account, and the most accounts of a user. Absent = no bound. */
export interface MemberBound {
  most?: number
}
