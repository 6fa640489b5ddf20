/**
 * Refuses calls that another site makes with the caller's browser (CSRF). Nothing has to be put into pages for that:
 * browsers say by themselves where a request comes from.
 */
import type { IncomingMessage } from 'node:http'
import { ApiError } from './errors.ts'
import type { Operation } from './operation.ts'
import { originOf, type Site } from './site.ts'

const SAFE = new Set(['GET', 'HEAD'])
const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i
/** What a browser says of a read that the person or our own page has asked for. */
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

const opens = ({ page, answer, who }: Asked): boolean => page === true || answer.body === 'stream' || who === 'anyone'

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
