/** People in the store: each method is a line that calls the function in `people/` which has the statements. */
import type { Act, Member } from '../../base/people.ts'
import type { NewAccount, PageFilter } from '../account-store.ts'
import type { Driver } from '../driver.ts'
import type {
  Counter,
  CredentialsChange,
  Identified,
  Joining,
  LinkKind,
  MemberBound,
  NewLink,
  NewPersonalToken,
  NewSession,
  NewUser,
  RoleChange,
  UserChange,
} from '../people-records.ts'
import type { Sealer } from '../secrets.ts'
import { forgetAddresses } from './people/addresses.ts'
import * as credentials from './people/credentials.ts'
import { deleteUser } from './people/deletion.ts'
import * as joining from './people/joining.ts'
import * as links from './people/links.ts'
import * as members from './people/members.ts'
import * as notices from './people/notices.ts'
import * as sessions from './people/sessions.ts'
import * as throttles from './people/throttles.ts'
import * as tokens from './people/tokens.ts'
import * as users from './people/users.ts'

export class People {
  readonly #driver: Driver
  readonly users
  readonly credentials
  readonly members
  readonly links
  readonly sessions
  readonly tokens
  readonly identities
  readonly throttles

  constructor(driver: Driver, sealer: Sealer) {
    this.#driver = driver
    this.users = {
      byId: (id: number) => users.one(driver, 'WHERE u.id = ?', id),
      byPublicId: (id: string) => users.one(driver, 'WHERE u.public_id = ?', id),
      byEmail: (email: string) => users.one(driver, 'WHERE u.email = ?', email),
      page: (filter: PageFilter & { operators?: boolean }) => users.page(driver, filter),
      any: () => users.anyUser(driver),
      create: (user: NewUser, act: Act) => users.create(driver, user, act),
      update: (id: number, change: UserChange, act: Act) => users.update(driver, id, change, act),
      clearNotices: (id: number) => notices.clearNotices(driver, id),
      delete: (id: number, act: Act) => deleteUser(driver, id, act),
    }
    this.credentials = {
      of: (userId: number) => credentials.credentials(driver, sealer, userId),
      set: (userId: number, change: CredentialsChange, act: Act) =>
        credentials.setCredentials(driver, userId, change, act),
      rehash: (userId: number, from: string, to: string) => credentials.rehash(driver, userId, from, to),
      startTotp: (userId: number, secret: string) => credentials.startTotp(driver, sealer, userId, secret),
      useStep: (userId: number, step: number) => credentials.useStep(driver, userId, step),
      useRecoveryCode: (userId: number, hash: string) => credentials.useRecoveryCode(driver, userId, hash),
      reseal: () => credentials.reseal(driver, sealer),
    }
    this.members = {
      page: (accountId: number, filter: PageFilter) => members.members(driver, accountId, filter),
      ofUser: (userId: number) => members.memberships(driver, userId),
      role: (userId: number, accountId: number) => members.role(driver, userId, accountId),
      add: (member: Member, atMs: number, act: Act) => members.addMember(driver, member, atMs, act),
      setRole: (member: RoleChange, act: Act) => members.setRole(driver, member, act),
    }
    this.links = {
      create: (link: NewLink, act: Act | null) => links.createLink(driver, link, act),
      createInvitation: (link: NewLink, most: number, act: Act) => links.createInvitation(driver, link, most, act),
      read: (kind: LinkKind, hash: string, atMs: number) => links.readLink(driver, kind, hash, atMs),
      invitations: (accountId: number | null, atMs: number) => links.invitations(driver, accountId, atMs),
      revokeInvitation: (accountId: number | null, publicId: string, atMs: number, act: Act) =>
        links.revokeInvitation(driver, accountId, publicId, atMs, act),
      use: (kind: LinkKind, hash: string, atMs: number) =>
        driver.transaction('useLink', tx => links.useLink(tx, kind, hash, atMs)),
      acceptInvitation: (hash: string, atMs: number, who: Joining & MemberBound, act: Act) =>
        joining.acceptInvitation(driver, hash, atMs, who, act),
      register: (
        hash: string | null,
        atMs: number,
        user: NewUser,
        account: NewAccount,
        act: Act,
        identity?: Identified,
      ) => joining.register(driver, hash, atMs, user, account, act, identity),
      resetPassword: (hash: string, atMs: number, password: string, act: Act) =>
        joining.resetPassword(driver, hash, atMs, password, act),
      changeEmail: (hash: string, atMs: number, act: Act) => joining.changeEmail(driver, hash, atMs, act),
    }
    this.sessions = {
      create: (session: NewSession, act: Act) => sessions.createSession(driver, session, act),
      read: (hash: string) => sessions.session(driver, hash),
      seen: (sessionId: number, atMs: number, ip: string, agent: string) =>
        sessions.seen(driver, sessionId, atMs, ip, agent),
      prove: (sessionId: number, hash: string, atMs: number) => sessions.prove(driver, sessionId, hash, atMs),
      list: (userId: number) => sessions.sessions(driver, userId),
      end: (userId: number, publicId: string, act: Act) => sessions.endSession(driver, userId, publicId, act),
      endAll: (userId: number, exceptId: number | null, act: Act) =>
        sessions.endSessions(driver, userId, exceptId, act),
      addDevice: (hash: string, userId: number, atMs: number) => sessions.addDevice(driver, hash, userId, atMs),
      deviceUser: (hash: string) => sessions.deviceUser(driver, hash),
    }
    this.tokens = {
      create: (token: NewPersonalToken, act: Act) => tokens.createToken(driver, token, act),
      read: (hash: string) => tokens.token(driver, hash),
      list: (userId: number) => tokens.tokens(driver, userId),
      used: (tokenId: number, atMs: number) => tokens.tokenUsed(driver, tokenId, atMs),
      end: (userId: number, publicId: string, act: Act) => tokens.endToken(driver, userId, publicId, act),
    }
    this.identities = {
      userOf: (issuer: string, subject: string) => tokens.identityUser(driver, issuer, subject),
      add: (identity: Identified & { userId: number; atMs: number }, act: Act) =>
        tokens.addIdentity(driver, identity, act),
      list: (userId: number) => tokens.identities(driver, userId),
      end: (userId: number, id: string, act: Act) => tokens.endIdentity(driver, userId, id, act),
    }
    this.throttles = {
      count: <T>(ids: readonly string[], change: (counters: Counter[]) => { result: T; counters: Counter[] | null }) =>
        throttles.count(driver, ids, change),
    }
  }

  prune = (atMs: number, limit: number) => throttles.prune(this.#driver, atMs, limit)
  forgetAddresses = (beforeMs: number, limit: number) => forgetAddresses(this.#driver, beforeMs, limit)
}
