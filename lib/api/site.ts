/**
 * The console's own address and what follows from it: the names of its cookies, and which calls another site has made with the
 * caller's browser (CSRF). Nothing has to be put into pages for the latter: browsers say by themselves where a request comes from.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { cookieNameAt } from '../base/cookies.ts'
import { languageFor } from '../base/language.ts'
import { LANGUAGES, type Language } from '../base/people.ts'
import { ApiError } from './errors.ts'
import type { Cookies, Operation } from './operation.ts'

export interface Site {
  /** URL without a slash at the end. */
  main: string
  /** The config names it; otherwise it is made from the listener, and people may well use another one. */
  given: boolean
  /** The languages of its texts; the first is for whoever asks for none of them. Default: all. */
  languages?: readonly Language[]
}

export const isHttps = ({ main }: Site): boolean => main.startsWith('https:')

export const originOf = ({ main }: Site): string => new URL(main).origin

/** Only this machine reaches the console. */
export function isLoopbackAddress({ main }: Site): boolean {
  const { hostname } = new URL(main)
  return /^(127(\.\d{1,3}){3}|\[::1\]|localhost|.+\.localhost)$/.test(hostname)
}

export const cookieName = (site: Site, name: string): string => cookieNameAt(site.main, name)

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

/** The language that the person has chosen, or else the one that the browser asks for. */
export const languageOf = (req: IncomingMessage, { languages = LANGUAGES }: Pick<Site, 'languages'>): Language =>
  languageFor(languages, cookie(req.headers.cookie, LANGUAGE_COOKIE), req.headers['accept-language'])

const SAFE = new Set(['GET', 'HEAD'])
const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i
/** The words with which a browser marks a read that the person or our own page has asked for. */
const OWN_READS = new Set(['same-origin', 'none'])

type Asked = Pick<Operation, 'page' | 'who' | 'answer'>

/** Throws ApiError. */
export function checkOrigin(req: IncomingMessage, row: Asked, site: Site): void {
  const { headers } = req
  const fetchSite = headers['sec-fetch-site'] as string | undefined
  if (SAFE.has(req.method as string)) {
    // a read changes nothing, but its time and its effort should not be for other sites to cause
    if (fetchSite !== undefined && !OWN_READS.has(fetchSite) && row.who !== 'anyone') throw foreign(req, site)
    if (headers['sec-fetch-dest'] === 'document' && !opens(row)) throw new ApiError('not_a_page')
    return
  }
  // a browser by itself sends what a proxy in front of us has asked it for, and never a token
  const isProgram = /^bearer\b/i.test(headers.authorization ?? '') && headers.cookie === undefined
  if (!isProgram && !isOwn(req, fetchSite, site)) throw foreign(req, site)
  if (hasBody(req) && !JSON_TYPE.test(headers['content-type'] ?? '')) throw new ApiError('not_json_type')
}

const opens = ({ page, answer, who }: Asked): boolean =>
  page === true || (answer.body === 'stream' && answer.live !== true) || who === 'anyone'

function isOwn(req: IncomingMessage, fetchSite: string | undefined, site: Site): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin'
  const { origin, host } = req.headers
  if (origin === undefined) return false
  if (site.given) return origin === originOf(site)
  const from = URL.parse(origin)
  return from !== null && host !== undefined && from.host !== '' && from.host === host.toLowerCase()
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
}

const LONGEST_SHOWN = 200

/** Names both addresses, because the usual cause is a config that names another address than people use. */
function foreign(req: IncomingMessage, site: Site): ApiError {
  const { origin, host } = req.headers
  const from = origin ?? (req.headers['sec-fetch-site'] as string | undefined) ?? '?'
  return new ApiError('cross_origin', [shown(from), site.given ? originOf(site) : shown(host ?? '?')])
}

const shown = (text: string): string => text.slice(0, LONGEST_SHOWN)
