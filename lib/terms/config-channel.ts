/** A channel in the catalogue file: an upstream, and how it is asked. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import * as address from './config-addresses.ts'
import * as kind from './config-scalars.ts'
import { isCredentialName } from './credentials.ts'
import { PROTOCOLS, type Protocol } from './records.ts'
import { KIND_NAMES } from './upstream-kinds.ts'

/** They carry the client's own key, which no upstream may see. */
const CREDENTIALS = ['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'x-gamma-api-key', 'x-goog-api-key']
const KEPT_BACK = new Set([...address.RESERVED, ...CREDENTIALS])

const HEADER_VALUE = /^=[\t\x20-\x7e]{0,4096}$/

const headers = kind.scalar(
  'a map of header names to header names or "=text"',
  { type: 'object', additionalProperties: { type: 'string' } },
  value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const entries = Object.entries(value).map(([from, to]) => [from.toLowerCase(), to] as const)
    return entries.every(([from, to]) => headerFits(from, to))
      ? Object.fromEntries(entries as [string, string][])
      : undefined
  },
  true,
)

function headerFits(from: string, to: unknown): boolean {
  if (!address.isHeaderName(from) || typeof to !== 'string' || address.RESERVED.includes(from)) return false
  if (to.startsWith('=')) return HEADER_VALUE.test(to)
  return address.isHeaderName(to) && !address.RESERVED.includes(to.toLowerCase()) && !CREDENTIALS.includes(from)
}

const passedHeader = kind.scalar(
  'a header name that is neither a credential nor about the connection',
  { type: 'string', not: { enum: [...KEPT_BACK] } },
  value => {
    const name = typeof value === 'string' ? value.toLowerCase() : ''
    return address.isHeaderName(name) && !KEPT_BACK.has(name) ? name : undefined
  },
)

const routedModels = kind.scalar(
  'a list of model names, or a map of model names to the names upstream',
  {
    anyOf: [
      { type: 'array', items: { type: 'string' } },
      { type: 'object', additionalProperties: { type: 'string' } },
    ],
  },
  value => {
    if (typeof value !== 'object' || value === null) return undefined
    const entries = Array.isArray(value) ? value.map(name => [name, name]) : Object.entries(value)
    const read = entries.map(([name, upstream]) => [kind.asName(name), kind.asName(upstream)])
    return read.every(([a, b]) => a !== undefined && b !== undefined)
      ? (Object.fromEntries(read) as Record<string, string>)
      : undefined
  },
)

const proxyAddress = kind.scalar(
  'a proxy as http://, https:// or socks5:// URL; a % in user or password as %25',
  { type: 'string', pattern: '^(https?|socks5)://' },
  value => {
    const url = typeof value === 'string' ? URL.parse(value) : null
    if (url === null || !/^(https?|socks5):$/.test(url.protocol) || url.hostname === '') return undefined
    return canBeSaid(url.username, url) && canBeSaid(url.password, url) ? url.href : undefined
  },
  true,
)

/** SOCKS gives a name and a password one byte for their length. */
const MOST_SOCKS_BYTES = 255

function canBeSaid(credential: string, { protocol }: URL): boolean {
  try {
    const bytes = Buffer.byteLength(decodeURIComponent(credential))
    return protocol !== 'socks5:' || bytes <= MOST_SOCKS_BYTES
  } catch {
    return false // a % that begins no byte
  }
}

export const CERTIFICATES = 'PEM certificates, or a file of them'

/** null when there is none, or one that cannot be read. `resolve` says where a file is that was named. */
export function readCertificates(value: string, resolve: (file: string) => string): string | null {
  try {
    const pem = value.includes('-----BEGIN') ? value : readFileSync(resolve(value), 'utf8')
    const all = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
    for (const one of all) new X509Certificate(one)
    return all.length === 0 ? null : `${all.join('\n')}\n`
  } catch {
    return null
  }
}

const PATH = /^\/(?:[!$&-;=@-Z_a-z~]|%[0-9A-Fa-f]{2}|\{model\}|\{verb\}){0,1000}$/

const upstreamPath = (protocol: Protocol) => {
  const generate = protocol === 'generate'
  return kind
    .scalar(
      `a path that begins with / and has no query${generate ? ', with {model} and {verb} in it' : ', perhaps with {model} in it'}`,
      { type: 'string', pattern: '^/[^?#]*$' },
      value => {
        const path = kind.matched(PATH, value)?.[0]
        if (path === undefined || path.includes('{verb}') !== generate) return undefined
        return generate && !path.includes('{model}') ? undefined : path
      },
    )
    .optional()
    .meta({ description: `Path of ${protocol} at this upstream, in the place of its own.` })
}

const paths = z.strictObject(
  Object.fromEntries(PROTOCOLS.map(protocol => [protocol, upstreamPath(protocol)])) as {
    [P in Protocol]: ReturnType<typeof upstreamPath>
  },
)

const QUERY_NAME = /^[\w.~-]{1,100}$/
const QUERY_VALUE = /^[^\p{C}]{1,500}$/u

/** Addresses end up in other people's logs, so no credential may stand in them. */
const query = kind.scalar(
  'a map of query names to texts, none of them a credential (that is what `key` and `auth` are for)',
  { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
  value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const entries = Object.entries(value).map(([name, text]) => [name, String(text)] as const)
    const fit = entries.every(
      ([name, text]) => QUERY_NAME.test(name) && !isCredentialName(name) && QUERY_VALUE.test(text),
    )
    return fit ? (Object.fromEntries(entries) as Record<string, string>) : undefined
  },
  true,
)

const upstreamKey = kind.secret('an upstream key without spaces', /^[!-~]{1,4096}$/)

const maxConcurrency = (whose: string) =>
  kind
    .whole(0)
    .prefault(0)
    .meta({ description: `Most requests open at once ${whose}, per process; 0 = unlimited.` })

const channelKey = z.strictObject({
  key: upstreamKey.meta({ description: 'Upstream credential, as `key` of the channel.' }),
  max_concurrency: maxConcurrency('with this key'),
})

export const channel = z.strictObject({
  name: kind.name.meta({ description: 'Name of the channel, for operators.' }),
  base_url: address.webAddress.meta({
    description:
      'Address of the upstream; the path of the protocol is appended, a version that ends it is not doubled.',
  }),
  kind: kind
    .oneOf(...KIND_NAMES)
    .optional()
    .meta({ description: 'Provider whose paths and headers are known: the table of docs/upstreams.md.' }),
  paths: paths
    .prefault({})
    .meta({ description: 'Paths of this upstream that are neither usual nor those of its kind.' }),
  query: query.prefault({}).meta({ description: 'Added to the query of every request to this upstream.' }),
  protocols: z
    .array(kind.oneOf(...PROTOCOLS))
    .min(1)
    .meta({ description: 'Protocols that the upstream speaks.' }),
  key: upstreamKey.optional().meta({
    description:
      'Upstream credential, best as an environment variable. It leaves the process only in requests to this channel.',
  }),
  keys: z
    .array(channelKey)
    .min(1)
    .optional()
    .meta({ description: 'Several credentials in the place of `key`, each with a health and a limit of its own.' }),
  auth: z
    .strictObject({
      header: address.headerName.meta({
        description: 'Header that carries the key; other ones than `authorization` carry it bare.',
      }),
    })
    .optional()
    .meta({
      description:
        'Default: as its kind says; without one `x-api-key` on messages, `x-gamma-api-key` on generate, else `authorization: Bearer`.',
    }),
  headers: headers
    .prefault({})
    .meta({ description: 'Client header name → name sent upstream; a value `=text` sets a constant.' }),
  pass_headers: z
    .array(passedHeader)
    .prefault([])
    .meta({ description: 'More client headers to send upstream as they are.' }),
  groups: z.array(kind.name).min(1).meta({ description: 'Groups that may use the channel.' }),
  models: routedModels.meta({ description: 'Models it serves: a list, or a map of names to the names upstream.' }),
  weight: kind
    .whole(0, 1_000_000)
    .prefault(1)
    .meta({ description: 'Share among channels of one priority; 0 = only when nothing else of it is left.' }),
  priority: kind.whole(-1_000_000, 1_000_000).prefault(0).meta({ description: 'Higher ones are tried first.' }),
  max_concurrency: maxConcurrency('at this channel'),
  proxy: proxyAddress.optional().meta({
    description: 'Proxy in between: `http://`, `https://` or `socks5://`, with user and password if need be.',
  }),
  ca: kind
    .text(CERTIFICATES)
    .optional()
    .meta({ description: 'PEM certificates, or a file of them, trusted for this channel beside those of the system.' }),
  http2: kind.flag.prefault(false).meta({ description: 'Offer HTTP/2 to an `https` upstream.' }),
  private: kind.flag
    .prefault(false)
    .meta({ description: 'The upstream may be at a link-local or reserved address, where clouds keep credentials.' }),
  status: kind.oneOf('enabled', 'disabled').prefault('enabled').meta({ description: 'Whether it is used at all.' }),
})
