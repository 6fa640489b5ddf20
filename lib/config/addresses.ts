/**
 * The kinds of values in our YAML files that are network addresses (listeners, CIDRs, URLs) or names of HTTP headers.
 */
import { BlockList, isIP } from 'node:net'
import { matched, scalar } from './scalars.ts'

export interface Listener {
  host: string
  port: number
}

const LISTENER = /^(?:\[([^\]]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/

/** Parses `host:port` or `[::1]:3000`; port 0 takes any free port. undefined = it is neither. */
export function parseListener(value: unknown): Listener | undefined {
  const m = matched(LISTENER, value)
  if (m === null || Number(m[3]) > 65_535) return undefined
  if (m[1] !== undefined && isIP(m[1]) !== 6) return undefined
  if (m[2] !== undefined && /^[\d.]+$/.test(m[2]) && isIP(m[2]) !== 4) return undefined
  return { host: (m[1] ?? m[2]) as string, port: Number(m[3]) }
}

export const listener = scalar(
  'an address as host:port, like "127.0.0.1:3000" or "[::1]:3000"',
  { type: 'string', pattern: LISTENER.source },
  parseListener,
)

/** An IP address or a CIDR, kept as text. */
export const network = scalar(
  { zh: 'IP地址或网段,例如“10.0.0.0/8”', en: 'an address or a CIDR, like "10.0.0.0/8"' },
  { type: 'string' },
  value => {
    const m = matched(/^([^/]+)(?:\/(\d{1,3}))?$/, value)
    const version = m === null ? 0 : isIP(m[1] as string)
    if (m === null || version === 0) return undefined
    try {
      if (m[2] !== undefined) new BlockList().addSubnet(m[1] as string, Number(m[2]), version === 6 ? 'ipv6' : 'ipv4')
      return m[0]
    } catch {
      return undefined
    }
  },
)

/** Whether a host, as the URL parser writes it, is this machine. */
export const isLoopback = (hostname: string): boolean => /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/.test(hostname)

const LONGEST_ADDRESS = 2000

/** An http(s) URL without query, fragment and credentials; slashes at its end are dropped. */
export const webAddress = scalar(
  { zh: '不带查询参数的http://或https://网址', en: 'an http:// or https:// URL without query' },
  { type: 'string', pattern: '^https?://[^?#]+$' },
  value => {
    const url = typeof value === 'string' ? URL.parse(value) : null
    if (
      url === null ||
      !/^https?:$/.test(url.protocol) ||
      /[?#]/.test(value as string) ||
      url.href.length > LONGEST_ADDRESS ||
      url.username ||
      url.password
    ) {
      return undefined
    }
    return url.href.replace(/\/+$/, '')
  },
  true, // people write keys and passwords into addresses
)

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/

export const isHeaderName = (text: string): boolean => TOKEN.test(text)

/** Headers that the gateway or the HTTP connection sets. No setting may rename, pass or set them. */
export const RESERVED = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'accept-encoding',
]

/**
 * The name of a header, in lower case. Reserved ones are refused: with a key or a client's text in a header like
 * `transfer-encoding`, one request could be read as two.
 */
export const headerName = scalar(
  'a header name that is not about the connection',
  { type: 'string', pattern: TOKEN.source, not: { enum: RESERVED } },
  value => {
    const name = matched(TOKEN, value)?.[0].toLowerCase()
    return name === undefined || RESERVED.includes(name) ? undefined : name
  },
)
