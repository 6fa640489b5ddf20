/** How callers are recognised: the cookies of sign-in, and the sessions and personal tokens that the store has. */
import { AddressList } from '../../access/ip.ts'
import type { Cookies, Identities, Identity } from '../../api/operation.ts'
import { cookieLine } from '../../base/cookies.ts'
import { type Site, cookieName } from '../../api/site.ts'
import type { Clock } from '../../base/clock.ts'
import type { Person } from '../../base/people.ts'
import { TOKEN_PREFIX, hashOf, isToken } from '../../base/secrets.ts'
import { type Opened, endOf } from '../../operations/people/sign-in.ts'
import type { Store } from '../../store/store.ts'
import type { PersonalToken } from '../../store/people/records.ts'

const DAY_S = 86_400
/** No session is longer, and many are shorter (`endOf`): this only makes the cookie outlive the browser. */
const SESSION_S = 30 * DAY_S
const DEVICE_S = 400 * DAY_S

type CookieName = 'session' | 'device' | 'oidc' | 'passkey'

/** Where cookies are read and set. Whether they are for https says the config, not a header. */
export interface Jar {
  cookies: Cookies
  site: Site
}

export function setCookie({ cookies, site }: Jar, name: CookieName, value: string, seconds: number): void {
  cookies.set(cookieLine(site.main, name, value, seconds))
}

export const readCookie = ({ cookies, site }: Jar, name: CookieName): string | null =>
  cookies.get(cookieName(site, name))

export const dropCookie = (jar: Jar, name: CookieName): void => setCookie(jar, name, '', 0)

export const keepSession = (jar: Jar, secret: string): void => setCookie(jar, 'session', secret, SESSION_S)

export function keepOpened(jar: Jar, { session, device }: Opened): void {
  keepSession(jar, session)
  if (device !== null) setCookie(jar, 'device', device, DEVICE_S)
}

/** How often the time at which a session or a token was last used is written. */
const SEEN_EVERY_MS = 60_000

function mayUse({ expiresAtMs, allowIps, scope }: PersonalToken, person: Person, ip: string, nowMs: number): boolean {
  if (expiresAtMs <= nowMs) return false
  if (allowIps !== null && !new AddressList(allowIps).has(ip)) return false
  return scope !== 'operator' || (person.operator && person.secondFactor)
}

export class StoredIdentities implements Identities {
  readonly #store: Store
  readonly #people: Store['people']
  readonly #clock: Pick<Clock, 'now'>

  constructor(store: Store, clock: Pick<Clock, 'now'>) {
    this.#store = store
    this.#people = store.people
    this.#clock = clock
  }

  async bySession(secret: string, ip: string, agent: string): Promise<Identity | null> {
    const found = isToken(secret) ? await this.#people.sessions.read(hashOf(secret)) : null
    if (found === null) return null
    const { session, person } = found
    const nowMs = this.#clock.now()
    if (person.status !== 'active' || endOf(session, person) <= nowMs) return null
    if (nowMs - session.seenAtMs >= SEEN_EVERY_MS) await this.#people.sessions.seen(session.id, nowMs, ip, agent)
    return {
      user: person,
      sessionId: session.id,
      tokenId: null,
      scope: null,
      provenAtMs: session.provenAtMs,
      secondFactor: person.secondFactor,
    }
  }

  async byToken(secret: string, ip: string): Promise<Identity | null> {
    const isOurs = secret.startsWith(TOKEN_PREFIX) && isToken(secret.slice(TOKEN_PREFIX.length))
    const found = isOurs ? await this.#people.tokens.read(hashOf(secret)) : null
    if (found === null) return null
    const { token, person } = found
    const nowMs = this.#clock.now()
    if (person.status !== 'active' || !mayUse(token, person, ip, nowMs)) return null
    if (nowMs - (token.usedAtMs ?? 0) >= SEEN_EVERY_MS) await this.#people.tokens.used(token.id, nowMs)
    return {
      user: person,
      sessionId: null,
      tokenId: token.id,
      scope: token.scope,
      provenAtMs: null,
      secondFactor: person.secondFactor,
    }
  }

  /** By the row, because the secret of a session changes while it goes on. */
  async again(identity: Identity, ip: string): Promise<Identity | null> {
    const { user, sessionId, tokenId } = identity
    const person = await this.#people.users.byId(user.id)
    if (person === null || person.status !== 'active') return null
    const nowMs = this.#clock.now()
    if (sessionId !== null) {
      const session = (await this.#people.sessions.list(user.id)).find(({ id }) => id === sessionId)
      return session === undefined || endOf(session, person) <= nowMs ? null : { ...identity, user: person }
    }
    const token = (await this.#people.tokens.list(user.id)).find(({ id }) => id === tokenId)
    return token === undefined || !mayUse(token, person, ip, nowMs) ? null : { ...identity, user: person }
  }

  async roleIn(userId: number, accountPublicId: string): ReturnType<Identities['roleIn']> {
    const account = await this.#store.accounts.byPublicId(accountPublicId)
    return account === null ? null : { account, role: await this.#people.members.role(userId, account.id) }
  }
}
