/**
 * The part of the store's interface that is about people. Times are given by the caller; every method that changes
 * something on behalf of somebody is given the act, and writes it into the log of actions in its transaction. Secrets
 * come in as hashes (SHA-256), except those of second factors, which the store seals.
 */
import type { Act, Member, Person, Role } from '../base/people.ts'
import type { NewAccount, PageFilter } from './account-store.ts'
import type {
  Counter,
  Credentials,
  CredentialsChange,
  Identified,
  Joining,
  Link,
  LinkKind,
  MemberBound,
  Membership,
  NewLink,
  NewPersonalToken,
  NewSession,
  NewUser,
  PersonalToken,
  RoleChange,
  Session,
  UserChange,
} from './people-records.ts'

export interface PeopleStore {
  // --- users
  byId(id: number): Promise<Person | null>
  byPublicId(id: string): Promise<Person | null>
  byEmail(email: string): Promise<Person | null>
  page(filter: PageFilter & { operators?: boolean }): Promise<Person[]>
  anyUser(): Promise<boolean>
  /** Throws StoreConflict when the e-mail is taken. */
  create(user: NewUser, act: Act): Promise<Person>
  /**
   * Ends all sessions when the status changes, and disables the keys that the user made when the user is disabled.
   * Throws StoreConflict when there is no such user.
   */
  update(id: number, change: UserChange, act: Act): Promise<Person>
  clearNotices(id: number): Promise<void>
  /** Throws StoreConflict when the user is the last owner of an account. */
  delete(id: number, act: Act): Promise<void>

  // --- credentials
  credentials(userId: number): Promise<Credentials | null>
  /** Ends all sessions, forgets the user's browsers, and uses up the links that were made for the user. */
  setCredentials(userId: number, change: CredentialsChange, act: Act): Promise<void>
  /** The same password under newer parameters. Nothing happens when it has changed meanwhile. */
  rehash(userId: number, from: string, to: string): Promise<void>
  startTotp(userId: number, secret: string): Promise<void>
  /** Uses a step up; false = a code of this step or of a later one was used before. */
  useStep(userId: number, step: number): Promise<boolean>
  /** Uses a recovery code up; false = there is no such code. */
  useRecoveryCode(userId: number, hash: string): Promise<boolean>
  /** Encrypts secrets that were encrypted under the previous secret under the present one. */
  reseal(): Promise<void>

  // --- members
  members(accountId: number, filter: PageFilter): Promise<(Member & { person: Person })[]>
  memberships(userId: number): Promise<Membership[]>
  role(userId: number, accountId: number): Promise<Role | null>
  addMember(member: Member, atMs: number, act: Act): Promise<void>
  /**
   * `role` null removes the member. Ends the member's sessions. Throws StoreConflict when it was no member, or the
   * account would be left without an owner.
   */
  setRole(member: RoleChange, act: Act): Promise<void>

  // --- links
  /** `act` null: nothing that anybody decides, such as the two halves of a sign-in. */
  createLink(link: NewLink, act: Act | null): Promise<Link>
  /** `most`: StoreFull is thrown when so many invitations into the same account, or into none, can be used. */
  createInvitation(link: NewLink, most: number, act: Act): Promise<Link>
  /** A link that can still be used. */
  link(kind: LinkKind, hash: string, atMs: number): Promise<Link | null>
  /** Invitations into an account, or (null) among operators, that can still be used. */
  invitations(accountId: number | null, atMs: number): Promise<Link[]>
  /** False when there is none that can still be used. */
  revokeInvitation(accountId: number | null, publicId: string, atMs: number, act: Act): Promise<boolean>
  /** Uses a link up; null = there is none that can be used. */
  useLink(kind: LinkKind, hash: string, atMs: number): Promise<Link | null>
  /**
   * Throws StoreConflict when a new user's e-mail is taken, and StoreFull where there is no room for another member;
   * null = there is no such link.
   */
  acceptInvitation(hash: string, atMs: number, who: Joining & MemberBound, act: Act): Promise<{ userId: number } | null>
  /**
   * Makes a user and an account of which it is the owner. The e-mail is that of the link; `hash` null: a provider has
   * proven it, by whose `identity` the user signs in from now on. null = there is no such link.
   */
  register(
    hash: string | null,
    atMs: number,
    user: NewUser,
    account: NewAccount,
    act: Act,
    identity?: Identified,
  ): Promise<Person | null>
  /** Sets the password, ends all sessions and personal tokens; null = there is no such link. */
  resetPassword(hash: string, atMs: number, password: string, act: Act): Promise<Link | null>
  /** Gives the user of a link of the kind `email` its e-mail, and ends all sessions. */
  changeEmail(hash: string, atMs: number, act: Act): Promise<Link | null>

  // --- sessions and devices
  createSession(session: NewSession, act: Act): Promise<Session>
  /** What the cookie leads to, whether or not it has ended. */
  session(hash: string): Promise<{ session: Session; person: Person } | null>
  seen(sessionId: number, atMs: number, ip: string, agent: string): Promise<void>
  /** The user has proven again who it is: the session goes on under a new secret. False = it has ended meanwhile. */
  prove(sessionId: number, hash: string, atMs: number): Promise<boolean>
  sessions(userId: number): Promise<Session[]>
  /** Ends one session of the user; false = there is no such session. */
  endSession(userId: number, publicId: string, act: Act): Promise<boolean>
  /** Ends all sessions of the user but one, and returns how many. */
  endSessions(userId: number, exceptId: number | null, act: Act): Promise<number>
  addDevice(hash: string, userId: number, atMs: number): Promise<void>
  deviceUser(hash: string): Promise<number | null>

  // --- personal tokens
  createToken(token: NewPersonalToken, act: Act): Promise<PersonalToken>
  token(hash: string): Promise<{ token: PersonalToken; person: Person } | null>
  tokens(userId: number): Promise<PersonalToken[]>
  tokenUsed(tokenId: number, atMs: number): Promise<void>
  endToken(userId: number, publicId: string, act: Act): Promise<boolean>

  // --- identities of OpenID providers
  identityUser(issuer: string, subject: string): Promise<number | null>
  /** Throws StoreConflict when the identity belongs to a user, and StoreFull when the user has many. */
  addIdentity(identity: Identified & { userId: number; atMs: number }, act: Act): Promise<void>
  identities(userId: number): Promise<{ id: string; issuer: string; createdAtMs: number }[]>
  endIdentity(userId: number, id: string, act: Act): Promise<boolean>

  // --- tries that failed
  /** Changes some counters in one transaction. `change` gets them in the order of `ids`; null = nothing is written. */
  count<T>(
    ids: readonly string[],
    change: (counters: Counter[]) => { result: T; counters: Counter[] | null },
  ): Promise<T>
  /** Deletes some rows that nobody needs any more, and returns how many: the caller repeats the call until it is 0. */
  prune(atMs: number, limit: number): Promise<number>
  /**
   * Forgets from which addresses things were done and keys were used before `beforeMs`, in about `limit` rows, and
   * returns how many: the caller repeats the call until it is 0.
   */
  forgetAddresses(beforeMs: number, limit: number): Promise<number>
}
