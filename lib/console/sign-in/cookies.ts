/** The cookies of sign-in: that of a session, and one by which a browser is known that has signed in before. */
import { cookieName, isHttps, type Site } from '../../api/site.ts'
import type { Cookies } from '../../api/operation.ts'
import type { Opened } from '../../operations/people/sessions.ts'

const DAY_S = 86_400
/** The store ends sessions by itself; this only makes the cookie outlive the browser. */
const SESSION_S = 30 * DAY_S
const DEVICE_S = 400 * DAY_S

export type CookieName = 'session' | 'device' | 'oidc'

/** Where cookies are read and set. Whether they are for https says the config, not a header. */
export interface Jar {
  cookies: Cookies
  site: Site
}

export function setCookie({ cookies, site }: Jar, name: CookieName, value: string, seconds: number): void {
  const secure = isHttps(site) ? '; Secure' : ''
  cookies.set(`${cookieName(site, name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`)
}

export const readCookie = ({ cookies, site }: Jar, name: CookieName): string | null =>
  cookies.get(cookieName(site, name))

export const dropCookie = (jar: Jar, name: CookieName): void => setCookie(jar, name, '', 0)

export const keepSession = (jar: Jar, secret: string): void => setCookie(jar, 'session', secret, SESSION_S)

export function keepOpened(jar: Jar, { session, device }: Opened): void {
  keepSession(jar, session)
  if (device !== null) setCookie(jar, 'device', device, DEVICE_S)
}
