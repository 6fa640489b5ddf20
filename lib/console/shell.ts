/**
 * A page as the server sends it, with its headers: frame, navigation and heading, in the language and the theme of the reader. Who is
 * signed in changes nothing in it but the navigation, and what it shows of an account comes from the API later.
 */
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { registerHooks } from 'node:module'
import { languageFor } from '../base/language.ts'
import type { Language } from '../base/people.ts'
import type { Branding } from './branding.ts'
import type { RenderDocument, Theme } from '../../web/shared/given.ts'
import type { PageName } from '../../web/shared/sitemap.ts'
import { type ClientFiles, ICON, STYLE, UNSCRIPTED } from './assets.ts'

/** The views run in the browser as well, and their types need a browser's: so they are not imported by their name. */
const DOCUMENT = new URL('../../web/document.ts', import.meta.url).href

export interface PageReader {
  language: Language
  theme: Theme
  signedIn: boolean
  quiet: boolean
}

export type Shell = (page: PageName, reader: PageReader, brand: Branding, data: unknown) => string

/** The hash of the files that were loaded first. */
let first: string | null = null

/** Views that have changed are loaded under other addresses: theirs, with the hash of all files behind it. */
function addressFor(hash: string): string {
  if (first === null || first === hash) {
    first = hash
    return DOCUMENT
  }
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      const isOurs =
        context.parentURL?.endsWith(`?${hash}`) === true && found.url.startsWith(new URL('.', DOCUMENT).href)
      return isOurs ? { ...found, url: `${found.url}?${hash}` } : found
    },
  })
  return `${DOCUMENT}?${hash}`
}

export async function openShell(client: ClientFiles): Promise<Shell> {
  const { renderDocument } = (await import(addressFor(client.hash))) as { renderDocument: RenderDocument }
  return (page, reader, { shown, colors }, data) => {
    const [script, own] = client.scriptsOf(page)
    return renderDocument(
      { page, ...reader, site: shown, data },
      {
        style: client.addressOf(STYLE),
        unscripted: client.addressOf(UNSCRIPTED),
        colors,
        icon: shown.logo ?? client.addressOf(ICON),
        script,
        preload: [own],
      },
    )
  }
}

/** The language and the theme that the reader chose before, by cookies; else what the browser says. `languages`: those of the site. */
export function pageReaderOf(req: IncomingMessage, languages: readonly Language[]): PageReader {
  const cookie = (name: string): string | undefined =>
    new RegExp(`(?:^|;\\s*)${name}=([^;]*)`).exec(req.headers.cookie ?? '')?.[1]
  const theme = cookie('theme')
  return {
    language: languageFor(languages, cookie('language'), req.headers['accept-language']),
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    signedIn: cookie('session') !== undefined || cookie('__Host-session') !== undefined,
    quiet: cookie('put_away') !== undefined,
  }
}

/**
 * The policy of a page. It has no inline script, and nothing on it may turn text into code or markup. The playground shows pictures
 * that came as text.
 */
const policy = (page: PageName): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self'${page === 'playground' ? ' data:' : ''}`,
    "font-src 'none'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

const PERMISSIONS =
  'camera=(), microphone=(), geolocation=(), payment=(), usb=(), clipboard-write=(self), publickey-credentials-get=(self)'

/** `https`: whether browsers reach the gateway by https alone, as `public.main` says. */
export const pageHeaders = (https: boolean, page: PageName): OutgoingHttpHeaders => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy(page),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': PERMISSIONS,
  ...(https && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
  'cache-control': 'no-cache',
  vary: 'accept-language, cookie, accept-encoding',
})
