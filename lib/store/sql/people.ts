/** People in the store: each method is a line that calls the function in `people/` which has the statements. */
import type { Act, Member } from '../../base/people.ts'
import type { PageFilter } from '../account-store.ts'
import type { Driver } from '../driver.ts'
import type {
  Counter,
  CredentialsChange,
  LinkKind,
  NewLink,
  NewPersonalToken,
  NewSession,
  NewUser,
  UserChange,
} from '../people-records.ts'
import type { PeopleStore } from '../people-store.ts'
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

export class People implements PeopleStore {
  readonly #driver: Driver
  readonly #sealer: Sealer

  constructor(driver: Driver, sealer: Sealer) {
    this.#driver = driver
    this.#sealer = sealer
  }

  byId = (id: number) => users.one(this.#driver, 'WHERE u.id = ?', id)
  byPublicId = (id: string) => users.one(this.#driver, 'WHERE u.public_id = ?', id)
  byEmail = (email: string) => users.one(this.#driver, 'WHERE u.email = ?', email)
  page = (filter: PageFilter & { operators?: boolean }) => users.page(this.#driver, filter)
  anyUser = () => users.anyUser(this.#driver)
  create = (user: NewUser, act: Act) => users.create(this.#driver, user, act)
  update = (id: number, change: UserChange, act: Act) => users.update(this.#driver, id, change, act)
  clearNotices = (id: number) => notices.clearNotices(this.#driver, id)
  delete = (id: number, act: Act) => deleteUser(this.#driver, id, act)

  credentials = (userId: number) => credentials.credentials(this.#driver, this.#sealer, userId)
  setCredentials = (userId: number, change: CredentialsChange, act: Act) =>
    credentials.setCredentials(this.#driver, userId, change, act)
  rehash = (userId: number, from: string, to: string) => credentials.rehash(this.#driver, userId, from, to)
  startTotp = (userId: number, secret: string) => credentials.startTotp(this.#driver, this.#sealer, userId, secret)
  useStep = (userId: number, step: number) => credentials.useStep(this.#driver, userId, step)
  useRecoveryCode = (userId: number, hash: string) => credentials.useRecoveryCode(this.#driver, userId, hash)
  reseal = () => credentials.reseal(this.#driver, this.#sealer)

  members = (accountId: number, filter: PageFilter) => members.members(this.#driver, accountId, filter)
  memberships = (userId: number) => members.memberships(this.#driver, userId)
  role = (userId: number, accountId: number) => members.role(this.#driver, userId, accountId)
  addMember = (member: Member, atMs: number, act: Act) => members.addMember(this.#driver, member, atMs, act)
  setRole = (member: Parameters<PeopleStore['setRole']>[0], act: Act) => members.setRole(this.#driver, member, act)

  createLink = (link: NewLink, act: Act | null) => links.createLink(this.#driver, link, act)
  createInvitation: PeopleStore['createInvitation'] = (...asked) => links.createInvitation(this.#driver, ...asked)
  link = (kind: LinkKind, hash: string, atMs: number) => links.readLink(this.#driver, kind, hash, atMs)
  invitations = (accountId: number | null, atMs: number) => links.invitations(this.#driver, accountId, atMs)
  revokeInvitation = (accountId: number | null, publicId: string, atMs: number, act: Act) =>
    links.revokeInvitation(this.#driver, accountId, publicId, atMs, act)
  useLink = (kind: LinkKind, hash: string, atMs: number) =>
    this.#driver.transaction('useLink', tx => links.useLink(tx, kind, hash, atMs))
  acceptInvitation: PeopleStore['acceptInvitation'] = (...asked) => joining.acceptInvitation(this.#driver, ...asked)
  register = (...asked: Parameters<PeopleStore['register']>) => joining.register(this.#driver, ...asked)
  resetPassword = (hash: string, atMs: number, password: string, act: Act) =>
    joining.resetPassword(this.#driver, hash, atMs, password, act)
  changeEmail = (hash: string, atMs: number, act: Act) => joining.changeEmail(this.#driver, hash, atMs, act)

  createSession = (session: NewSession, act: Act) => sessions.createSession(this.#driver, session, act)
  session = (hash: string) => sessions.session(this.#driver, hash)
  seen = (sessionId: number, atMs: number, ip: string, agent: string) =>
    sessions.seen(this.#driver, sessionId, atMs, ip, agent)
  prove = (sessionId: number, hash: string, atMs: number) => sessions.prove(this.#driver, sessionId, hash, atMs)
  sessions = (userId: number) => sessions.sessions(this.#driver, userId)
  endSession = (userId: number, publicId: string, act: Act) => sessions.endSession(this.#driver, userId, publicId, act)
  endSessions = (userId: number, exceptId: number | null, act: Act) =>
    sessions.endSessions(this.#driver, userId, exceptId, act)
  addDevice = (hash: string, userId: number, atMs: number) => sessions.addDevice(this.#driver, hash, userId, atMs)
  deviceUser = (hash: string) => sessions.deviceUser(this.#driver, hash)

  createToken = (token: NewPersonalToken, act: Act) => tokens.createToken(this.#driver, token, act)
  token = (hash: string) => tokens.token(this.#driver, hash)
  tokens = (userId: number) => tokens.tokens(this.#driver, userId)
  tokenUsed = (tokenId: number, atMs: number) => tokens.tokenUsed(this.#driver, tokenId, atMs)
  endToken = (userId: number, publicId: string, act: Act) => tokens.endToken(this.#driver, userId, publicId, act)

  identityUser = (issuer: string, subject: string) => tokens.identityUser(this.#driver, issuer, subject)
  addIdentity = (identity: Parameters<PeopleStore['addIdentity']>[0], act: Act) =>
    tokens.addIdentity(this.#driver, identity, act)
  identities = (userId: number) => tokens.identities(this.#driver, userId)
  endIdentity = (userId: number, id: string, act: Act) => tokens.endIdentity(this.#driver, userId, id, act)

  count = <T>(ids: readonly string[], change: (counters: Counter[]) => { result: T; counters: Counter[] | null }) =>
    throttles.count(this.#driver, ids, change)
  prune = (atMs: number, limit: number) => throttles.prune(this.#driver, atMs, limit)
  forgetAddresses = (beforeMs: number, limit: number) => forgetAddresses(this.#driver, beforeMs, limit)
}
