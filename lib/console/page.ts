/** Serves the console: one static page at `/console` on the main address, to which `/` redirects. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type PublicUrls, renderDocument } from './document.ts'
import { SCRIPT } from './script.ts'
import { STYLE } from './style.ts'

const HOME = '/console'

const hashed = (text: string): string => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`

/** Only the page's own script and style may run, and the script may send requests only to this address. */
const POLICY = [
  "default-src 'none'",
  `script-src ${hashed(SCRIPT)}`,
  `style-src ${hashed(STYLE)}`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS: OutgoingHttpHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
}

/** The body and headers of the page. */
export function consolePage(urls: PublicUrls): { html: Buffer; headers: OutgoingHttpHeaders } {
  const html = Buffer.from(renderDocument(urls), 'utf8')
  return { html, headers: { ...HEADERS, 'content-length': html.length } }
}

/**
 * Answers requests for the console and returns true; false = the request is for the API. `urls` is called at every
 * visit, because a reload of the config may change the addresses.
 */
export function consolePages(urls: () => PublicUrls): (req: IncomingMessage, res: ServerResponse) => boolean {
  return (req, res) => {
    const url = req.url as string
    if (url !== '/' && !url.startsWith(HOME) && !url.startsWith('/?')) return false
    if (req.method !== 'GET' && req.method !== 'HEAD') return false
    const [path] = url.split('?', 1)
    if (path === '/' && req.method === 'HEAD') return false // a coding tool sends this to see whether the API is here
    if (path === '/') res.writeHead(302, { location: HOME, 'content-length': 0 }).end()
    else if (path === HOME || path === `${HOME}/`) {
      const { html, headers } = consolePage(urls())
      res.writeHead(200, headers).end(html)
    } else return false
    return true
  }
}
