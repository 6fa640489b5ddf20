/**
 * Reads a `mysql://` URL: server, user, database, TLS, size of the pool and time-outs. docs/engines.md has the options.
 */
import { readFileSync } from 'node:fs'

export interface MysqlSettings {
  host: string
  port: number
  user: string
  password: string
  database: string
  ssl: { ca?: string; rejectUnauthorized: true } | null
  /** The most connections that this process opens. */
  pool: number
  connectMs: number
  /** The bound of each statement, and of each wait for a connection out of the pool. */
  queryMs: number
}

const KNOWN = ['ssl', 'ssl_ca', 'pool', 'connect_ms', 'query_ms']

function whole(query: URLSearchParams, name: string, otherwise: number, most: number, least = 1): number {
  const text = query.get(name)
  if (text === null) return otherwise
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new Error(`store: ${name}: expected a whole number from ${least} to ${most}`)
  }
  return value
}

/**
 * `mysql://user:password@host:3306/database?ssl=verify&ssl_ca=FILE&pool=8&connect_ms=5000&query_ms=10000`.
 * `ssl=verify` (implied by `ssl_ca`, a file of PEM certificates) asks for TLS and checks the server's certificate and
 * name. Throws an Error that never contains the URL, because the URL contains a password.
 */
export function parseMysqlUrl(text: string): MysqlSettings {
  const url = URL.parse(text) // `new URL` would throw an error that contains the whole text
  if (url === null) throw new Error('store: expected mysql://user:password@host:3306/database')
  const query = url.searchParams
  for (const name of query.keys()) {
    if (!KNOWN.includes(name)) throw new Error(`store: expected only ${KNOWN.join(', ')} in the URL's query`)
  }
  const database = decodeURIComponent(url.pathname.slice(1))
  if (url.hostname === '' || database === '') throw new Error('store: the mysql URL must name a host and a database')
  const ssl = query.get('ssl')
  if (ssl !== null && ssl !== 'verify') throw new Error(`store: ssl: expected verify`)
  const ca = query.get('ssl_ca')
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 3306 : Number(url.port),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database,
    ssl:
      ca !== null
        ? { ca: readFileSync(ca, 'utf8'), rejectUnauthorized: true }
        : ssl
          ? { rejectUnauthorized: true }
          : null,
    // at least 2, because the test of the engine (mysql-proof.ts) uses two connections at once
    pool: whole(query, 'pool', 8, 100, 2),
    connectMs: whole(query, 'connect_ms', 5_000, 60_000),
    queryMs: whole(query, 'query_ms', 10_000, 600_000),
  }
}
