/** The cookies of a call. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { prefersEnglish } from '../base/language.ts'
import { LANGUAGES, type Language } from '../base/people.ts'
import type { Cookies } from './operation.ts'
import { isHttps, type Site } from './site.ts'

/**
 * The name of a cookie of ours. Browsers take the first form from the host itself only, over https, so that no neighbour
 * on a subdomain can set it; a console without https has to do without that.
 */
export const cookieName = (site: Site, name: string): string => (isHttps(site) ? `__Host-${name}` : name)

export const sessionCookie = (site: Site): string => cookieName(site, 'session')

const LANGUAGE_COOKIE = 'language'

export const cookiesOf = (req: IncomingMessage, res: ServerResponse): Cookies => ({
  get: name => cookie(req.headers.cookie, name),
  set: line => void res.appendHeader('set-cookie', line),
})

/**
 * null = there is none with this name. Somebody on a neighbouring port or subdomain may have set another one of the
 * same name, and nothing tells which is which: then there is none either.
 */
export function cookie(header: string | undefined, name: string): string | null {
  const found = new Set<string>()
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=')
    if (at > 0 && part.slice(0, at).trim() === name) found.add(part.slice(at + 1).trim())
  }
  const [value] = found
  return found.size === 1 && value !== '' ? (value as string) : null
}

/** What the person has chosen, or else what the browser asks for. */
export function languageOf(req: IncomingMessage): Language {
  const chosen = cookie(req.headers.cookie, LANGUAGE_COOKIE)
  const known = LANGUAGES.find(language => language === chosen)
  return known ?? (prefersEnglish(req.headers['accept-language']) ? 'en' : 'zh')
}
