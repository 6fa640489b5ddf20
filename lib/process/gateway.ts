/** One serving process: store, world, ledger and public listeners; swaps worlds on change; drains on the way out. */
import type http from 'node:http'
import net from 'node:net'
import { Answers } from '../access/answers.ts'
import { Buffered } from '../access/buffered.ts'
import { Concurrency } from '../access/concurrency.ts'
import { KeyCache } from '../access/keys.ts'
import { RateLimiter } from '../access/rate.ts'
import { systemClock } from '../base/clock.ts'
import { idMaker } from '../base/ids.ts'
import { Rounds } from '../base/rounds.ts'
import { RetryBudget } from '../channels/budget.ts'
import { Health } from '../channels/health.ts'
import { consolePages } from '../console/page.ts'
import { proveKey } from '../exchange/prove-key.ts'
import { ownServices, type Services } from '../exchange/services.ts'
import { Ledger } from '../ledger/ledger.ts'
import type { Readiness } from '../ops/fleet.ts'
import { LoopLag } from '../public/lag.ts'
import { createPublicServer } from '../public/server.ts'
import { type Change, type Store, StoreUnavailable } from '../store/store.ts'
import type { Config } from '../terms/config.ts'
import type { Logger } from '../terms/log.ts'
import type { Metrics } from '../terms/metrics.ts'
import { Pools } from '../upstream/pools.ts'
import { World } from '../world/world.ts'
import { type ListenName, listenOn, type Socket } from './listening.ts'
import { readinessOf } from './readiness.ts'

/** Changes made by another process are followed this often; those of our own admin API at once. */
const FOLLOW_MS = 870
const RETRY_FLOOR_PER_S = 10
const RETRY_WINDOW_S = 10
const CONNECTIONS_PER_ORIGIN = 16_384
const DRAIN_POLL_MS = 20
/** A kept connection that said nothing for so long is taken for idle. */
const QUIET_MS = 1_000
/** Between the last answer and the end of its connection, so that the client has it. */
const LINGER_MS = 50

const clock = systemClock

export class Gateway {
  readonly store: Store
  readonly metrics: Metrics
  readonly ledger: Ledger
  readonly health: Health
  readonly services: Services
  /** Of the latest audit; set by the process that does the housekeeping. */
  imbalanceMicro: () => number = () => 0
  readonly #log: Logger
  readonly #lag = new LoopLag(clock)
  readonly #servers: http.Server[] = []
  #config: Config
  #changeSeq = 0
  #following: Promise<void> = Promise.resolve()
  readonly #follows = new Rounds(clock, FOLLOW_MS, () => this.follow())
  #storeReachable = true
  #drainUntilMs = Number.POSITIVE_INFINITY
  #drained: Promise<void> | null = null

  private constructor(config: Config, log: Logger, metrics: Metrics, store: Store, ledger: Ledger, world: World) {
    this.#config = config
    this.#log = log
    this.metrics = metrics
    this.store = store
    this.ledger = ledger
    this.health = new Health({
      clock,
      onChange: change => this.services.upstreamLog.breaker(change),
      prove: (channel, key) => proveKey(this.services, channel, key),
      onAuthFailure: channel => log.error({ channel }, 'the upstream refuses the channel key: resting it for long'),
    })
    this.services = {
      clock,
      nextId: idMaker(() => ledger.wall.now()),
      log,
      metrics,
      keys: new KeyCache({ store, clock }),
      answers: new Answers({ store, clock }),
      rates: new RateLimiter({ store, clock, log }),
      concurrency: new Concurrency(),
      buffered: new Buffered(),
      ledger,
      health: this.health,
      retries: createBudget(config),
      pools: new Pools(poolOptions(config), { onReserved: (upstream, reason) => log.error({ upstream }, reason) }),
      world,
      ...ownServices(log, clock),
      draining: false,
      lag: this.#lag,
      openCount: 0,
    }
  }

  /** Everything but the listeners. The schema and the catalogue are in the store already. */
  static async start(config: Config, log: Logger, metrics: Metrics, store: Store): Promise<Gateway> {
    const changeSeq = await store.changeSeq()
    const ledger = await Ledger.open({
      store,
      clock,
      log,
      folder: config.journal,
      limitBytes: config.journalLimitBytes,
    })
    const gateway = new Gateway(config, log, metrics, store, ledger, new World(config, await store.catalog()))
    gateway.#changeSeq = changeSeq
    gateway.#enter(gateway.services.world)
    gateway.#observe()
    gateway.#lag.start()
    gateway.#follows.start()
    return gateway
  }

  /** Opens the public listeners; resolves with the addresses they have. */
  async listen(given: Partial<Record<ListenName, Socket>> = {}): Promise<{ main: string; direct: string }> {
    const pages = consolePages(() => this.#config.public)
    const open = (name: 'main' | 'direct', server: http.Server) => {
      this.#servers.push(server)
      return listenOn(server, name, this.#config.listen[name], given[name])
    }
    const [main, direct] = await Promise.all([
      open('main', createPublicServer(this.services, 'main', pages)),
      open('direct', createPublicServer(this.services, 'direct', null)),
    ])
    return { main, direct }
  }

  get config(): Config {
    return this.#config
  }

  ready(): Promise<Readiness> {
    return readinessOf({ store: this.store, ledger: this.ledger, clock }, () => this.services.draining)
  }

  /** A new config from now on; requests under way end with the world they began with. */
  async reconfigure(config: Config): Promise<void> {
    this.#config = config
    this.services.retries = createBudget(config)
    await this.#rebuild()
  }

  async #rebuild(): Promise<void> {
    const world = new World(this.#config, await this.store.catalog())
    this.#enter(world)
    this.services.world = world
  }

  /** What the process keeps beside the world follows it. */
  #enter(world: World): void {
    const { config } = world
    const { timeouts, keepalive, clientGone } = config
    this.services.sweeper.setShortest([
      timeouts.firstByteMs,
      timeouts.idleMs,
      timeouts.mainMs,
      timeouts.slowClientMs,
      keepalive.earlyMs,
      world.shortestHedgeMs,
      keepalive.mainMs,
      keepalive.directMs,
      clientGone.drainMs,
    ])
    this.services.pools.keep(world.routes.connections, poolOptions(config))
    this.health.keep(world.routes.channels)
    this.metrics.setChannels(world.channelNames)
  }

  #observe(): void {
    const { ledger, health, metrics } = this
    metrics.observe({
      holdsOpen: () => ledger.holdsOpen,
      heldMicro: () => ledger.heldTotal,
      journalEntries: () => ledger.journalEntries,
      setAside: () => ledger.orphans.setAside,
      clockSkewMs: () => ledger.wall.skewMs,
      settlementLagMs: () => ledger.settlementLagMs,
      channelStates: () => health.states(),
      imbalanceMicro: () => this.imbalanceMicro(),
    })
  }

  // --- following the store

  /** Brings this process up to the store's latest change. */
  follow(): Promise<void> {
    this.#following = this.#following.then(() => this.#catchUp()).catch(error => this.#followFailed(error))
    return this.#following
  }

  async #catchUp(): Promise<void> {
    const changes = await this.store.changesSince(this.#changeSeq)
    if (!this.#storeReachable) this.#log.info('the store answers again')
    this.#storeReachable = true
    if (changes === null) {
      this.#changeSeq = await this.store.changeSeq()
      this.services.keys.clear()
      await this.#rebuild()
      return
    }
    for (const change of changes) this.#apply(change)
    if (changes.some(change => change.kind === 'catalog')) await this.#rebuild()
    const last = changes.at(-1)
    if (last !== undefined) this.#changeSeq = last.seq
  }

  #apply(change: Change): void {
    this.services.keys.onChange(change)
    this.ledger.onChange(change)
  }

  #followFailed(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) this.#log.error({ err: error }, 'following the store failed')
    else if (this.#storeReachable)
      this.#log.warn({ err: error.message }, 'the store does not answer: serving from memory')
    this.#storeReachable = false
  }

  // --- the way out

  /**
   * Every answer closes its connection now. Until none is left, or those that are have said nothing for a while: a
   * client that keeps its connection finds out by an answer, not by its next request being cut.
   */
  async #quiet(): Promise<void> {
    let sinceMs = clock.monotonic()
    for (;;) {
      const connections = await Promise.all(this.#servers.map(connectionsOf))
      const now = clock.monotonic()
      if (this.services.openCount > 0) sinceMs = now
      const left = connections.some(count => count > 0)
      if (now >= this.#drainUntilMs || (this.services.openCount === 0 && (!left || now - sinceMs > QUIET_MS))) return
      await pause(DRAIN_POLL_MS)
    }
  }

  /**
   * New connections are refused from now on; resolves when nothing is open any more and the books are closed.
   * What is still open after `deadlineMs` is ended and charged as if its upstream had broken off. Asked again, the
   * earlier deadline holds.
   */
  drain(deadlineMs: number): Promise<void> {
    this.#drainUntilMs = Math.min(this.#drainUntilMs, clock.monotonic() + deadlineMs)
    return (this.#drained ??= this.#drain())
  }

  async #drain(): Promise<void> {
    const { services } = this
    services.draining = true
    // http's own close would cut idle connections, on which a client may be sending its next request just now
    for (const server of this.#servers) net.Server.prototype.close.call(server)
    await this.#quiet()
    for (const server of this.#servers) server.closeIdleConnections()
    while (services.openCount > 0 && clock.monotonic() < this.#drainUntilMs) await pause(DRAIN_POLL_MS)
    await pause(LINGER_MS)
    services.sweeper.each(relay => relay.shutDown())
    for (const server of this.#servers) server.closeAllConnections()
    this.#lag.stop()
    await this.#follows.stop()
    await this.#following
    await this.ledger.stop()
    await services.pools.destroy()
    await this.store.close()
  }
}

const connectionsOf = (server: http.Server): Promise<number> =>
  new Promise(resolve => server.getConnections((error, count) => resolve(error === null ? count : 0)))

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const createBudget = (config: Config): RetryBudget =>
  new RetryBudget({ share: config.retry.budget, floorPerS: RETRY_FLOOR_PER_S, windowS: RETRY_WINDOW_S, clock })

const poolOptions = (config: Config) => ({ connectMs: config.timeouts.connectMs, connections: CONNECTIONS_PER_ORIGIN })
