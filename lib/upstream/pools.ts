/**
 * Connections to upstreams: one pool for each way to reach one, shared by every channel and world that names it. A way is
 * an origin, and what stands between: a proxy, certificates of one's own, HTTP/2.
 */
import { type LookupAddress, lookup } from 'node:dns'
import type net from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici'
import type { Connection } from '../channels/table.ts'
import { isReserved, namesReserved } from '../terms/reserved-addresses.ts'
import { throughSocks } from './socks.ts'

export interface PoolOptions {
  connectMs: number
  /** Connections per pool; more requests wait in line. */
  connections: number
}

/** Below the 60 s that common load balancers keep an idle connection, so that they rarely close one under a request. */
const KEEP_ALIVE_MS = 30_000
/** A connection is not used for longer, so that a change of the name's addresses is followed. */
const OLDEST_MS = 300_000
/** An answer's headers beyond this are no answer. */
const MAX_HEADER_BYTES = 64 * 1024
/** Requests on one HTTP/2 connection, and how many of these there are. */
const H2_STREAMS = 100
const H2_CONNECTIONS = 16

/** The name resolves to an address that upstreams may not have. */
export class ReservedAddress extends Error {
  override name = 'ReservedAddress'
  readonly code = 'RESERVED_ADDRESS'

  constructor(hostname: string, address: string) {
    const at = hostname === address ? 'is' : `is at ${address},`
    super(`${hostname} ${at} a link-local or reserved address; the channel does not say private: true`)
  }
}

type Lookup = typeof lookup

export interface PoolHooks {
  /** DNS, for tests. */
  resolve?: Lookup
  /** Of each pool, the first refusal of an address. */
  onReserved?: (origin: string, message: string) => void
}

export class Pools {
  readonly #pools = new Map<string, Dispatcher>()
  readonly #resolve: Lookup
  readonly #onReserved: (origin: string, message: string) => void
  #options: PoolOptions

  constructor(options: PoolOptions, { resolve = lookup, onReserved = () => {} }: PoolHooks = {}) {
    this.#options = options
    this.#resolve = resolve
    this.#onReserved = onReserved
  }

  of(connection: Connection): Dispatcher {
    let pool = this.#pools.get(connection.id)
    if (pool === undefined) this.#pools.set(connection.id, (pool = this.#create(connection)))
    return pool
  }

  /** Pools of ways that no channel names any more, or made with other options, finish what they do and go. */
  keep(ids: ReadonlySet<string>, options: PoolOptions): void {
    const same = options.connectMs === this.#options.connectMs && options.connections === this.#options.connections
    this.#options = options
    for (const [id, pool] of this.#pools) {
      if (same && ids.has(id)) continue
      this.#pools.delete(id)
      void pool.close().catch(() => {}) // what fails while closing has been reported to its own request
    }
  }

  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map(pool => pool.destroy()))
  }

  /** The time-outs of undici are off, here or per request: the sweeper keeps ours. Redirects are never followed by dispatch. */
  #create({ origin, proxy, ca, http2, reserved }: Connection): Dispatcher {
    const { connectMs, connections } = this.#options
    const options = {
      connections: http2 ? H2_CONNECTIONS : connections,
      pipelining: http2 ? H2_STREAMS : 1, // over HTTP/1, aborting one request closes its connection
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS, // also when the upstream offers more
      clientTtl: OLDEST_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      allowH2: http2,
    }
    const refuse = this.#once(origin)
    // an address needs no look-up, so it is looked at here
    const known = reserved ? undefined : [origin, proxy ?? origin].find(url => namesReserved(url))
    if (known !== undefined) {
      const host = new URL(known).hostname
      return new Pool(origin, { connect: (_target, done) => done(refuse(new ReservedAddress(host, host)), null) })
    }
    const dial = { timeout: connectMs, ...(reserved ? {} : { lookup: this.#guarded(refuse) }) }
    const tls = ca === null ? {} : { secureContext: trusting(ca) }
    if (proxy === null) return new Pool(origin, { ...options, connect: { ...dial, ...tls } })
    // the proxy is what is connected to, and who resolves the origin's name
    if (proxy.startsWith('socks5:')) {
      const secure = buildConnector({ timeout: connectMs, ...tls, allowH2: http2 })
      return new Pool(origin, {
        ...options,
        connect: throughSocks(new URL(proxy), buildConnector(dial), secure, connectMs),
      })
    }
    return new ProxyAgent({
      uri: proxy,
      allowH2: http2,
      connectTimeout: connectMs,
      requestTls: tls,
      proxyTls: { ...dial, ...tls, allowH2: false },
      // by itself it would give plain http and its own tunnels none of our bounds
      factory: (to, given) => new Pool(to, { ...options, ...connectOf(given) }),
      clientFactory: (to, given) => new Pool(to, { ...connectOf(given), allowH2: false, headersTimeout: connectMs }),
    })
  }

  /** Reports the first of a pool's refusals, and gives each back. */
  #once(origin: string): (refusal: ReservedAddress) => ReservedAddress {
    let told = false
    return refusal => {
      if (!told) this.#onReserved(origin, refusal.message)
      told = true
      return refusal
    }
  }

  /** Resolves as the system does, and refuses what may not be connected to: so a name that changes cannot get past. */
  #guarded(refuse: (refusal: ReservedAddress) => ReservedAddress): net.LookupFunction {
    return (hostname, options, callback) => {
      const done = (error: Error | null, found: LookupAddress[]): void => {
        const bad = error === null ? found.find(one => isReserved(one.address)) : undefined
        if (error !== null) callback(error, '', 0)
        else if (bad !== undefined) callback(refuse(new ReservedAddress(hostname, bad.address)), '', 0)
        else if (options.all) callback(null, found)
        else callback(null, found[0]?.address ?? '', found[0]?.family)
      }
      this.#resolve(hostname, { ...options, all: true } as never, done as never)
    }
  }
}

/** Once a pool: to read all of the system's certificates takes longer than many requests. */
const trusting = (ca: string) => createSecureContext({ ca: [...getCACertificates('default'), ca] })

const connectOf = (given: object) => ({ connect: (given as { connect: buildConnector.connector }).connect })
