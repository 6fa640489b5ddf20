/**
 * Connections to upstreams: one pool for each way to reach one, shared by every channel and world that names it. A way is
 * an origin, and what stands between: a proxy, certificates of one's own, HTTP/2.
 */
import { type LookupAddress, lookup } from 'node:dns'
import type net from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import type { Dispatcher, buildConnector as UndiciConnector } from 'undici'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Connection } from '../channels/table.ts'
import { isReserved, namesReserved } from '../terms/reserved-addresses.ts'
import { type Dial, direct, flowing } from './dial.ts'
import { Http1Pool } from './http1-pool.ts'
import { throughSocks } from './socks.ts'
import { undici } from './undici.ts'

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

/** Where requests go. */
export interface Upstream {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): unknown
  /** After what is under way. */
  close(): Promise<void>
  destroy(): Promise<void>
}

export interface PoolHooks {
  /** DNS, for tests. */
  resolve?: Lookup
  clock?: Clock
  /** Of each pool, the first refusal of an address. */
  onReserved?: (origin: string, message: string) => void
}

export class Pools {
  readonly #pools = new Map<string, Upstream>()
  readonly #resolve: Lookup
  readonly #clock: Clock
  readonly #onReserved: (origin: string, message: string) => void
  #options: PoolOptions

  constructor(options: PoolOptions, { resolve = lookup, onReserved = () => {}, clock = systemClock }: PoolHooks = {}) {
    this.#options = options
    this.#resolve = resolve
    this.#clock = clock
    this.#onReserved = onReserved
  }

  of(connection: Connection): Upstream {
    let pool = this.#pools.get(connection.id)
    if (pool === undefined) this.#pools.set(connection.id, (pool = this.#create(connection)))
    return pool
  }

  /**
   * Pools of ways that no channel names any more, or made with other options, finish what they do and go. Those of the
   * others are made now and not under a request: certificates and undici take longer than many requests.
   */
  keep(named: ReadonlyMap<string, Connection>, options: PoolOptions): void {
    const same = options.connectMs === this.#options.connectMs && options.connections === this.#options.connections
    this.#options = options
    for (const [id, pool] of this.#pools) {
      if (same && named.has(id)) continue
      this.#pools.delete(id)
      void pool.close().catch(() => {}) // what fails while closing has been reported to its own request
    }
    for (const connection of named.values()) {
      try {
        this.of(connection)
      } catch {
        // its requests will hear of it, and nobody else's
      }
    }
  }

  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map(pool => pool.destroy()))
  }

  /** The time-outs of undici are off, here or per request: the sweeper keeps ours. Redirects are never followed by dispatch. */
  #create({ origin, proxy, ca, http2, reserved }: Connection): Upstream {
    const { connectMs, connections } = this.#options
    const refuse = this.#once(origin)
    // an address needs no look-up, so it is looked at here
    const known = reserved ? undefined : [origin, proxy ?? origin].find(url => namesReserved(url))
    if (known !== undefined) {
      const host = new URL(known).hostname
      return this.#http1(origin, (_target, _onBytes, done) => done(refuse(new ReservedAddress(host, host)), null))
    }
    const names = reserved ? {} : { lookup: this.#guarded(refuse) }
    const tls = ca === null ? {} : { secureContext: trusting(ca) }
    if (proxy === null && !http2) return this.#http1(origin, direct({ timeoutMs: connectMs, ...names, ...tls }))
    const { Pool, ProxyAgent, buildConnector } = undici()
    const plain = { timeout: connectMs, ...names }
    const secure = { timeout: connectMs, ...tls, allowH2: http2 }
    const ofUndici = {
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS, // also when the upstream offers more
      maxHeaderSize: MAX_HEADER_BYTES,
      connections: http2 ? H2_CONNECTIONS : connections,
      pipelining: http2 ? H2_STREAMS : 1,
      clientTtl: OLDEST_MS,
      allowH2: http2,
    }
    // the proxy is what is connected to, and who resolves the origin's name
    if (proxy !== null && !proxy.startsWith('socks5:'))
      return new ProxyAgent({
        uri: proxy,
        allowH2: http2,
        connectTimeout: connectMs,
        requestTls: tls,
        proxyTls: { ...plain, ...tls, allowH2: false },
        // by itself it would give plain http and its own tunnels none of our bounds
        factory: (to, given) => new Pool(to, { ...ofUndici, ...connectOf(given) }),
        clientFactory: (to, given) => new Pool(to, { ...connectOf(given), allowH2: false, headersTimeout: connectMs }),
      })
    const connect =
      proxy === null
        ? buildConnector({ ...plain, ...secure })
        : throughSocks(new URL(proxy), buildConnector(plain), buildConnector(secure), connectMs)
    return http2 ? new Pool(origin, { ...ofUndici, connect }) : this.#http1(origin, flowing(connect))
  }

  #http1(origin: string, dial: Dial): Http1Pool {
    return new Http1Pool(origin, {
      dial,
      maxHeaderBytes: MAX_HEADER_BYTES,
      connections: this.#options.connections,
      oldestMs: OLDEST_MS,
      idleMs: KEEP_ALIVE_MS,
      clock: this.#clock,
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

const connectOf = (given: object) => ({ connect: (given as { connect: UndiciConnector.connector }).connect })
