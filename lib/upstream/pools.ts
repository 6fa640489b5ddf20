/**
 * Keeps the connection pools. There is one pool for each way to reach an upstream, which is a `UpstreamConnection`: an origin, with or
 * without a proxy, certificates and HTTP/2. All channels with an equal `UpstreamConnection` share a pool, and a new world takes over
 * the pools of the old one. HTTP/1.1 without an HTTP proxy uses our own pool (`http1-pool.ts`); HTTP/2 and HTTP proxies use
 * undici. Before a connection is made, its address is compared with the reserved addresses.
 */

import { type LookupAddress, lookup } from 'node:dns'
import { createRequire } from 'node:module'
import type net from 'node:net'
import type { Dispatcher, buildConnector as UndiciConnector } from 'undici'
import { type Clock, systemClock } from '../base/clock.ts'
import { isReserved, namesReserved } from '../base/reserved-addresses.ts'
import type { AnswersOf } from '../protocols/words/kinds.ts'
import type { UpstreamConnection } from '../world/compiled-channel.ts'
import type { Attempt } from './attempt.ts'
import { BedrockAnswer } from './aws/bedrock-answer.ts'
import { type Dial, direct, flowing, throughSocks, tls } from './dial.ts'
import { EntraAnswer } from './entra-answer.ts'
import { Http1Pool } from './http1-pool.ts'
import { OtherFormAnswer, type OtherFormReading } from './other-form-answer.ts'

export type { OtherFormReading }

interface PoolOptions {
  connectMs: number
  /** The most connections per pool; further requests wait in a queue. */
  connections: number
}

/**
 * How long a connection may be idle. Common load balancers close idle connections after 60 s; with half of that, they
 * rarely close one just when a request is sent.
 */
const KEEP_ALIVE_MS = 30_000
/** A connection that is older takes no new request, so that changes of the upstream's DNS entries are followed. */
const OLDEST_MS = 300_000
/** An answer with more bytes of headers is an error. */
const MAX_HEADER_BYTES = 64 * 1024
/** The most requests at once on one HTTP/2 connection, and the most such connections. */
const H2_STREAMS = 100
const H2_CONNECTIONS = 16
/**
 * On an HTTP/2 connection on which more than 10 MB wait to be written Node refuses every answer, also those to others, and undici writes
 * a buffer all at once. So bodies are given to it in pieces of this size, of which one of each request waits.
 */
const H2_PIECE_BYTES = 32 * 1024

/** The error of an attempt whose upstream's host is, or resolves to, an address that upstreams may not have. */
export class ReservedAddress extends Error {
  override name = 'ReservedAddress'
  readonly code = 'RESERVED_ADDRESS'

  constructor(hostname: string, address: string) {
    const at = hostname === address ? 'is' : `is at ${address},`
    super(`${hostname} ${at} a link-local or reserved address; the channel does not say private: true`)
  }
}

const load = createRequire(import.meta.url)
/** Only HTTP/2 and proxies need undici. It is loaded when the first channel uses one of them, which takes a sixth of the time of a start. */
const undici = (): typeof import('undici') => load('undici')

type Lookup = typeof lookup

/** Unlike a list, undici sends a Blob again when the upstream says that it has not processed the request. */
class Pieces extends Blob {
  override readonly size: number
  readonly #pieces: Buffer[] = []

  constructor(chunks: readonly Buffer[]) {
    super()
    this.size = chunks.reduce((sum, { length }) => sum + length, 0)
    for (const chunk of chunks)
      for (let at = 0; at < chunk.length; at += H2_PIECE_BYTES)
        this.#pieces.push(chunk.subarray(at, at + H2_PIECE_BYTES))
  }

  override stream(): ReturnType<Blob['stream']> {
    return this.#pieces as unknown as ReturnType<Blob['stream']>
  }
}

function inPieces(request: Dispatcher.DispatchOptions): Dispatcher.DispatchOptions {
  const body = request.body as Buffer | readonly Buffer[] | null | undefined
  if (body == null || (Buffer.isBuffer(body) && body.length <= H2_PIECE_BYTES)) return request
  return { ...request, body: new Pieces(Buffer.isBuffer(body) ? [body] : body) as unknown as Buffer }
}

const writingInPieces = (pool: Upstream): Upstream => ({
  dispatch: (request, handler) => pool.dispatch(inPieces(request), handler),
  close: () => pool.close(),
  destroy: () => pool.destroy(),
})

/** A pool, as its users see it: the part of undici's `Dispatcher` that both kinds of pool have. */
export interface Upstream {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): unknown
  /** Closes the pool when the requests under way have ended. */
  close(): Promise<void>
  /** Closes the pool at once. */
  destroy(): Promise<void>
}

export interface PoolHooks {
  /** Replaces DNS in tests. */
  resolve?: Lookup
  clock?: Clock
  /** Called when a pool refuses a reserved address for the first time. */
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

  /** Returns the pool of a connection, and makes it when there is none yet. */
  of(connection: UpstreamConnection): Upstream {
    let pool = this.#pools.get(connection.id)
    if (pool === undefined) this.#pools.set(connection.id, (pool = this.#create(connection)))
    return pool
  }

  /**
   * Sends the request of an attempt, which gets the events of its answer. `form`: a handler stands between connection and attempt, because the
   * provider answers otherwise than the protocol says; null = it does not. `isCount`: the request only counts tokens.
   */
  send(
    attempt: Attempt,
    request: Dispatcher.DispatchOptions,
    form: AnswersOf | OtherFormReading | null,
    isCount: boolean,
  ): void {
    const handler = form === null ? attempt : handlerOf(attempt, form, isCount)
    this.of(attempt.claim.candidate.channel.connection).dispatch(request, handler)
  }

  /**
   * Keeps the pools of the connections that a new world names, and makes those that are missing. All other pools are closed
   * as soon as their requests have ended; when the options have changed, these are all pools. Missing pools are made here and
   * not during a request, because loading TLS, certificates and undici takes longer than many requests.
   */
  keep(named: ReadonlyMap<string, UpstreamConnection>, options: PoolOptions): void {
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
        // each request to this upstream will fail with the same error; requests to other upstreams must not fail
      }
    }
  }

  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map(pool => pool.destroy()))
  }

  /**
   * Makes the pool for a connection. The time-outs of undici are off, in the options of the pool or of each request, because
   * the sweeper of the exchanges enforces ours. No pool follows redirects.
   */
  #create({ origin, proxy, ca, http2, reserved }: UpstreamConnection): Upstream {
    const { connectMs, connections } = this.#options
    const refuse = this.#once(origin)
    // an IP address in the URL is never looked up, so `#guarded` would not see it; it is checked here
    const known = reserved ? undefined : [origin, proxy ?? origin].find(url => namesReserved(url))
    if (known !== undefined) {
      const host = new URL(known).hostname
      return this.#http1(origin, (_target, _onread, done) => done(refuse(new ReservedAddress(host, host)), null))
    }
    const names = reserved ? {} : { lookup: this.#guarded(refuse) }
    if (origin.startsWith('https:')) tls()
    const trust = ca === null ? {} : { secureContext: trusting(ca) }
    if (proxy === null && !http2) return this.#http1(origin, direct({ timeoutMs: connectMs, ...names, ...trust }))
    const { Pool, ProxyAgent, buildConnector } = undici()
    const plain = { timeout: connectMs, ...names }
    const secure = { timeout: connectMs, ...trust, allowH2: http2 }
    const ofUndici = {
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS, // also when the upstream offers more
      maxHeaderSize: MAX_HEADER_BYTES,
      connections: http2 ? H2_CONNECTIONS : connections,
      pipelining: http2 ? H2_STREAMS : 1,
      clientTtl: OLDEST_MS,
      allowH2: http2,
    }
    // with a proxy, only the proxy's address is connected to and checked; the proxy resolves the origin's name
    if (proxy !== null && !proxy.startsWith('socks5:')) {
      const agent = new ProxyAgent({
        uri: proxy,
        allowH2: http2,
        connectTimeout: connectMs,
        requestTls: trust,
        proxyTls: { ...plain, ...trust, allowH2: false },
        // without these factories, plain http and the proxy's tunnels would have none of our limits
        factory: (to, given) => new Pool(to, { ...ofUndici, ...connectOf(given) }),
        clientFactory: (to, given) => new Pool(to, { ...connectOf(given), allowH2: false, headersTimeout: connectMs }),
      })
      return http2 ? writingInPieces(agent) : agent
    }
    const connect =
      proxy === null
        ? buildConnector({ ...plain, ...secure })
        : throughSocks(new URL(proxy), buildConnector(plain), buildConnector(secure), connectMs)
    return http2 ? writingInPieces(new Pool(origin, { ...ofUndici, connect })) : this.#http1(origin, flowing(connect))
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

  /** Makes the function through which a pool refuses addresses: it reports the first refusal to `onReserved`, and returns each. */
  #once(origin: string): (refusal: ReservedAddress) => ReservedAddress {
    let told = false
    return refusal => {
      if (!told) this.#onReserved(origin, refusal.message)
      told = true
      return refusal
    }
  }

  /**
   * A DNS look-up that refuses names which resolve to a reserved address. It checks the very address that is connected
   * to, so a name that changes its address (DNS rebinding) cannot get past it.
   */
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

function handlerOf(attempt: Attempt, form: AnswersOf | OtherFormReading, isCount: boolean): Dispatcher.DispatchHandler {
  if (typeof form === 'object') return new OtherFormAnswer(attempt, form)
  return form === 'entra' ? new EntraAnswer(attempt) : new BedrockAnswer(attempt, form, isCount)
}

/**
 * Makes TLS settings that trust the certificates of `ca` beside Node's own. They are made once for each pool, because reading
 * all of Node's certificates takes long.
 */
const trusting = (ca: string) => tls().createSecureContext({ ca: [...tls().getCACertificates('default'), ca] })

const connectOf = (given: object) => ({ connect: (given as { connect: UndiciConnector.connector }).connect })
