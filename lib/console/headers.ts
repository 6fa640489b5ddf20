/** The headers of everything that a browser loads as part of the console: pages and what pages consist of. */
import { createHash } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'

/**
 * What a page may do. The one inline script is the import map, which is named by its hash; nothing on a page may turn
 * text into code or markup.
 */
const policy = (importMap: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' '${sha256(importMap)}'`,
    "style-src 'self'",
    "img-src 'self'",
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

const sha256 = (text: string): string => `sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}`

/** `https`: whether browsers reach the gateway by https alone, as `public.main` says. */
export const pageHeaders = (importMap: string, https: boolean): OutgoingHttpHeaders => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy(importMap),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': PERMISSIONS,
  ...(https && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
  'cache-control': 'no-cache',
  vary: 'accept-language, cookie',
})

export const assetHeaders = (type: string): OutgoingHttpHeaders => ({
  'content-type': type,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'public, max-age=31536000, immutable',
  vary: 'accept-encoding',
})
