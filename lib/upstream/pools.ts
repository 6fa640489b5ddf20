/**
 * Connections to upstreams: one pool for each way to reach one, shared by every channel and world that names it. A way is
 * an origin, and what stands between: a proxy, certificates of one's own, HTTP/2.
 */
import { type LookupAddress, lookup } from 'node:dns'
import type net from 'node:net'
import { getCACertificates } from 'node:tls'
import { buildConnector, type Dispatcher, Pool, ProxyAgent, Socks5ProxyAgent } from 'undici'
import type { Connection } from '../channels/table.ts'
import { isReserved } from '../terms/reserved-addresses.ts'

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
    super(`${hostname} is at ${address}, a link-local or reserved address; the channel does not say private: true`)
  }
}

type Lookup = typeof lookup

export class Pools {
  readonly #pools = new Map<string, Dispatcher>()
  readonly #lookup: Lookup
  #options: PoolOptions

  /** `resolve`: DNS, for tests. */
  constructor(options: PoolOptions, resolve: Lookup = lookup) {
    this.#options = options
    this.#lookup = resolve
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
    const tls = ca === null ? {} : { ca: [...getCACertificates('default'), ca] }
    const options = {
      connections: http2 ? H2_CONNECTIONS : connections,
      pipelining: http2 ? H2_STREAMS : 1, // over HTTP/1, aborting one request closes its connection
      keepAliveTimeout: KEEP_ALIVE_MS,
      clientTtl: OLDEST_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      allowH2: http2,
    }
    const dial = { timeout: connectMs, ...(reserved ? {} : { lookup: this.#guarded }) }
    if (proxy === null) return new Pool(origin, { ...options, connect: { ...dial, ...tls } })
    // the proxy is what is connected to, and who resolves the origin's name
    const through = { connectTimeout: connectMs, requestTls: tls }
    if (proxy.startsWith('socks5:')) return new Socks5ProxyAgent(proxy, { ...through, connect: buildConnector(dial) })
    return new ProxyAgent({ ...options, ...through, proxyTls: dial, uri: proxy })
  }

  /** Resolves as the system does, and refuses what may not be connected to: so a name that changes cannot get past. */
  readonly #guarded: net.LookupFunction = (hostname, options, callback) => {
    this.#lookup(
      hostname,
      { ...options, all: true } as never,
      ((error: Error | null, found: LookupAddress[]) => {
        const bad = error === null ? found.find(one => isReserved(one.address)) : undefined
        if (error !== null) callback(error, '', 0)
        else if (bad !== undefined) callback(new ReservedAddress(hostname, bad.address), '', 0)
        else if (options.all) callback(null, found)
        else callback(null, found[0]?.address ?? '', found[0]?.family)
      }) as never,
    )
  }
}
