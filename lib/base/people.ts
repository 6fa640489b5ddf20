/**
 * The records of people: users, what they are in an account, how they are signed in. They know nothing of SQL or HTTP.
 *
 * A user is a person with an e-mail. An account has the money and the keys. A user is a member of any number of accounts,
 * with one role in each. An operator looks after the whole gateway; that is no role in an account.
 */

/**
 * `owner`: everything in the account. `member`: makes and manages own keys, sees the balance, own keys and own requests.
 * `billing`: top-ups, statements, totals by key, no keys. `viewer`: reads everything, changes nothing.
 */
export const ROLES = ['owner', 'member', 'billing', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/** Whoever gets another role loses the keys that they made. */
export const MAKES_KEYS: readonly Role[] = ['owner', 'member']

/**
 * What a personal token may do. `read`: read what its user may read. `keys`: that, and manage keys. `operator`: those,
 * and what operators may do, where its user is one.
 */
export const SCOPES = ['read', 'keys', 'operator'] as const
export type Scope = (typeof SCOPES)[number]

export const LANGUAGES = ['zh', 'en'] as const
export type Language = (typeof LANGUAGES)[number]

/** A text in every language that people may choose. */
export type Words = Record<Language, string>

export interface User {
  id: number
  /** Random; the id that is shown outside. */
  publicId: string
  email: string
  name: string
  status: 'active' | 'disabled'
  operator: boolean
  createdAtMs: number
}

export const THEMES = ['light', 'dark', 'system'] as const
export type Theme = (typeof THEMES)[number]

/** What others have done to a user's ways in, or a reset has left as it was; the user is told at the next sign-in. */
export interface UserNotice {
  kind: 'reset_link' | 'factor_reset' | 'passkeys_kept'
  atMs: number
}

/** A user, with what only the user's own pages and those of operators show. */
export interface Person extends User {
  /** null = as the browser asks for. */
  language: Language | null
  theme: Theme | null
  hasPassword: boolean
  /** True = the user has an authenticator or a passkey. */
  secondFactor: boolean
  /** True = the user has an app that shows one-time codes (TOTP). */
  authenticator: boolean
  passkeys: number
  notices: UserNotice[]
}

export interface Member {
  userId: number
  accountId: number
  role: Role
}

/** Who makes a change, as the log of actions keeps it. */
export interface Actor {
  /**
   * `user`: a signed-in person, or a personal token of one. `token`: the admin token. `cli`: a command on the machine.
   * `file`: an applied catalogue file. `gateway`: the program by itself.
   */
  kind: 'user' | 'token' | 'cli' | 'file' | 'gateway'
  /** The user's id; null for the other kinds. */
  userId: number | null
  /** What people know the actor by: an e-mail, or the kind. The log keeps no e-mail, it looks it up in the user's row. */
  name: string
  /** The address that the change came from; null = from no connection. */
  ip: string | null
  /** The rows by which a person was recognised; absent = the person has just proven who it is. They are no part of the log. */
  by?: { sessionId: number | null; tokenId: number | null }
}

/** A command on the machine, an applied catalogue file, and the program by itself. */
export const COMMAND: Actor = { kind: 'cli', userId: null, name: 'cli', ip: null }
export const FILE: Actor = { kind: 'file', userId: null, name: 'file', ip: null }
export const GATEWAY: Actor = { kind: 'gateway', userId: null, name: 'gateway', ip: null }
export const adminToken = (ip: string | null): Actor => ({ kind: 'token', userId: null, name: 'token', ip })

/** A change that somebody makes: what the log of actions says of it beside what changed. */
export interface Act {
  actor: Actor
  /** Name of the operation, such as `keys.create`. */
  operation: string
}

/** The pattern is that of forms in browsers: one @, and a name of a host behind it. */
const EMAIL =
  /^[\w.!#$%&'*+/=?^`{|}~\p{L}\p{N}-]+@[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?\.[\p{L}\p{N}-]*\p{L}[\p{L}\p{N}-]*$/u
/** The longest that mail servers take is 254; the store's columns hold 190. */
const MOST = 190

/** In lower case and in one Unicode form, so that one person cannot be two; undefined = it is no e-mail. */
export function canonicalEmail(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MOST * 2) return undefined
  const email = value.trim().normalize('NFKC').toLowerCase()
  return email.length <= MOST && EMAIL.test(email) && !email.includes('..') ? email : undefined
}

/** Who can become a user: those whom an operator invites, also those whom an owner invites, or everybody who proves an e-mail. */
export const REGISTRATION_MODES = ['closed', 'invite', 'open'] as const
