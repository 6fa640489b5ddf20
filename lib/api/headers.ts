/**
 * The headers of every answer of the API. Its bytes come from people (names, notes, references), and it shares its
 * origin with the pages: no browser may take an answer for a page, a script or a style, nor keep it, nor show it inside
 * another site.
 */
import type { ServerResponse } from 'node:http'
import { isHttps, type Site } from './site.ts'

const HEADERS: Record<string, string> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

const A_YEAR_S = 31_536_000

export function setApiHeaders(res: ServerResponse, requestId: string, site: Site): void {
  for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value)
  res.setHeader('x-request-id', requestId)
  res.setHeader('request-id', requestId)
  if (isHttps(site)) res.setHeader('strict-transport-security', `max-age=${A_YEAR_S}; includeSubDomains`)
}

/** The browser saves the answer under this name, and would run nothing in it if it were opened. */
export function setDownload(res: ServerResponse, file: string): void {
  const plain = file.replaceAll(/[^\w.-]/g, '_')
  const coded = encodeURIComponent(file).replaceAll(/['()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  res.setHeader('content-disposition', `attachment; filename="${plain}"; filename*=UTF-8''${coded}`)
  res.setHeader('content-security-policy', "default-src 'none'; sandbox; frame-ancestors 'none'")
}
