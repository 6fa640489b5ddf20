/** Connections to upstreams, one pool per origin, shared by every channel and world that names it. */
import { Pool } from 'undici'

export interface PoolOptions {
  connectMs: number
  /** Connections per origin; more requests wait in line. */
  connections: number
}

/** Below the 60 s that common load balancers keep an idle connection, so that they rarely close one under a request. */
const KEEP_ALIVE_MS = 30_000
/** An answer's headers beyond this are no answer. */
const MAX_HEADER_BYTES = 64 * 1024

export class Pools {
  readonly #pools = new Map<string, Pool>()
  #options: PoolOptions

  constructor(options: PoolOptions) {
    this.#options = options
  }

  of(origin: string): Pool {
    let pool = this.#pools.get(origin)
    if (pool === undefined) this.#pools.set(origin, (pool = createPool(origin, this.#options)))
    return pool
  }

  /** Pools of origins that no channel names any more, or made with other options, finish what they do and go. */
  keep(origins: ReadonlySet<string>, options: PoolOptions): void {
    const same = options.connectMs === this.#options.connectMs && options.connections === this.#options.connections
    this.#options = options
    for (const [origin, pool] of this.#pools) {
      if (same && origins.has(origin)) continue
      this.#pools.delete(origin)
      void pool.close().catch(() => {}) // what fails while closing has been reported to its own request
    }
  }

  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map(pool => pool.destroy()))
  }
}

/** The time-outs of undici are off: the sweeper keeps ours, per exchange. Redirects are never followed by dispatch. */
function createPool(origin: string, options: PoolOptions): Pool {
  return new Pool(origin, {
    connections: options.connections,
    pipelining: 1, // aborting one request closes its connection
    connect: { timeout: options.connectMs },
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    allowH2: false,
  })
}
