/**
 * One serving process: the store, the ledger, the services that exchanges share, and the public listeners. It builds
 * these, swaps the world when config or catalogue change, and closes everything in order when the process ends.
 */
import { collectGarbage, collectWhenQuiet } from './leftovers.ts'
import { type ListenName, type Socket, listenOn } from './listening.ts'
import { lazyDesk, payVisits } from './payments.ts'
import { ServerDrain } from './server-drain.ts'
import { createRetryBudget, createServices, enterWorld, observeServices } from './services.ts'
import { StoreFollower } from './store-follower.ts'
import { executionAsyncResource } from 'node:async_hooks'
import type http from 'node:http'
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { clientAddress } from '../access/ip.ts'
import { systemClock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Health } from '../channels/health.ts'
import type { RestEvent } from '../channels/rests.ts'
import type { Config } from '../config/config.ts'
import { Console } from '../console/console.ts'
import { acceptByKey } from '../exchange/accept.ts'
import { type Trial, dryRun as tryOut } from '../exchange/dry-run.ts'
import { pictureFiles } from '../exchange/listener/files.ts'
import { clientConnections, LoopLag, type Pages, createPublicServer } from '../exchange/listener/server.ts'
import type { Services } from '../exchange/record/services.ts'
import { countDeadLetters } from '../ledger/dead-letters.ts'
import { Ledger } from '../ledger/ledger.ts'
import type { ServingProcesses } from '../operations/deps.ts'
import type { Readiness } from '../admin/server.ts'
import type { PaymentService } from '../pay/service.ts'
import { tryChannel } from '../exchange/channel-trial.ts'
import type { BalanceSeen, LiveChannels } from '../terms/channel-seen.ts'
import { upstreamBalance } from '../upstream/own-request.ts'
import type { StoreHealth } from '../store/health.ts'
import type { Store } from '../store/store.ts'
import type { Change } from '../store/base/changes.ts'
import type { Metrics } from '../terms/metrics.ts'
import { World } from '../world/world.ts'

const clock = systemClock

/** Older versions of V8 do not know these flags. */
if (Number.parseInt(process.versions.v8, 10) >= 14) {
  // Without this, V8 marks the whole heap anew for each 32 MB or so of buffers that have come, which for large bodies is two thirds of
  // what its threads do. With it, buffers count in the one limit of the heap, which grows with what is alive.
  setFlagsFromString('--external-memory-accounted-in-global-limit')
  // In 8 quiet seconds V8 would collect everything, give the memory back and set low limits, so that what comes then has it collect
  // everything every few seconds.
  setFlagsFromString('--memory-reducer-delay-ms=60000')
}

/**
 * An object of Node's queue of ticks, kept for as long as the process lives. Where a collection finds none alive, V8 forgets their shape,
 * and every later `process.nextTick` takes 0.5 µs instead of 0.1; a small request has six.
 */
const shapes: object[] = []
process.nextTick(() => shapes.push(executionAsyncResource()))

export class Gateway {
  readonly store: Store
  readonly services: Services
  readonly #lag: LoopLag
  readonly #servers: http.Server[] = []
  readonly #serverDrain: ServerDrain
  readonly #follower: StoreFollower
  #config: Config
  #console: Console | null = null
  #drained: Promise<void> | null = null

  private constructor(config: Config, store: Store, services: Services, lag: LoopLag, changeSeq: number) {
    this.#config = config
    this.store = store
    this.services = services
    this.#lag = lag
    this.#serverDrain = new ServerDrain(services, this.#servers)
    const followed = {
      mayBeRecalled: () => services.ledger.mayBeRecalled,
      onChange: (change: Change) => {
        services.keys.onChange(change)
        services.ledger.onChange(change)
      },
      onUnknownChanges: () => services.keys.clear(),
      readCatalog: () => this.#rebuild(),
    }
    this.#follower = new StoreFollower({ store, clock, log: services.log, ...followed }, changeSeq)
  }

  /**
   * Builds everything but the listeners. The schema and the catalogue must be in the store already. `tellRest`: tells the
   * other serving processes of this gateway what this one has learnt of an upstream.
   */
  static async start(
    config: Config,
    log: Logger,
    metrics: Metrics,
    store: Store,
    tellRest?: (event: RestEvent) => void,
  ): Promise<Gateway> {
    const changeSeq = await store.changes.seq()
    const { journal: folder, journalLimitBytes: limitBytes } = config
    const ledger = await Ledger.open({ store, clock, log, folder, limitBytes })
    const lag = new LoopLag(clock)
    const world = new World(config, await store.catalogue.read())
    const services = createServices({ clock, log, metrics, store, ledger, lag, world, tellRest })
    const gateway = new Gateway(config, store, services, lag, changeSeq)
    observeServices(services)
    metrics.observe({ connections: () => clientConnections })
    services.keyUses.start()
    await services.stats.start()
    services.uncovered.start()
    services.traffic.start()
    gateway.#follower.start()
    return gateway
  }

  /**
   * Opens the public listeners; resolves with their addresses. `fleet`: all serving processes of this gateway together.
   * `given`: sockets that are bound already.
   */
  async listen(
    fleet: ServingProcesses,
    given: Partial<Record<ListenName, Socket>> = {},
  ): Promise<{ main: string; direct: string }> {
    const { store, log, metrics } = this.services
    const { journal } = this.#config
    const parts = {
      store,
      clock,
      log,
      fleet,
      setAside: () => countDeadLetters(journal),
      config: () => this.#config,
      counts: metrics.pay,
    }
    const desk = lazyDesk(parts)
    const callbacks = payVisits(parts, desk)
    const console = createConsole(this.services, fleet, parts.config, desk)
    this.#console = console
    const files = pictureFiles(this.services)
    const visits = consoleVisits(this.services, console, callbacks)
    const pages: Pages = (req, res) => files(req, res) || visits(req, res)
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

  /** Loads what the console needs, so that its first visitor need not wait. The start does not wait for it. */
  async loadConsole(): Promise<void> {
    await this.#console?.load()
    const openCount = () => this.services.openCount
    collectWhenQuiet({ clock, openCount, worked: performance.eventLoopUtilization, collect: collectGarbage })
  }

  get config(): Config {
    return this.#config
  }

  get metrics(): Metrics {
    return this.services.metrics
  }

  get ledger(): Ledger {
    return this.services.ledger
  }

  get health(): Health {
    return this.services.health
  }

  readonly channels: LiveChannels = {
    order: async order => {
      const seen = this.health.order(order)
      return seen === null ? null : { ...seen, ...this.services.upstreamLog.failures.of(order.channel) }
    },
    try: trial => tryChannel(this.services, trial),
    balance: asked => this.#balance(asked),
  }

  async #balance({ channel: name, key: position }: { channel: string; key: number }): Promise<BalanceSeen | null> {
    const { world, pools } = this.services
    const channel = world.routes.channels.find(one => one.name === name)
    const key = channel?.keys[position - 1]
    return channel === undefined || key === undefined ? null : upstreamBalance(pools, clock, channel, key)
  }

  ready(): Promise<Readiness> {
    return readinessOf({ ledger: this.ledger }, () => this.services.draining)
  }

  /** Puts a new config in force, for new requests and for those whose body is not complete yet. The others keep their world. */
  async reconfigure(config: Config): Promise<void> {
    this.#config = config
    this.services.retries = createRetryBudget(config, clock)
    await this.#rebuild()
  }

  async #rebuild(): Promise<void> {
    enterWorld(this.services, new World(this.#config, await this.store.catalogue.read()))
  }

  /** Resolves when this process knows the latest change of the store. */
  follow(): Promise<void> {
    return this.#follower.follow()
  }

  /**
   * Ends the process's work: resolves when all connections are closed and the books too. What is still open after
   * `deadlineMs` is cut. When it is called again, the earlier deadline holds.
   */
  drain(deadlineMs: number): Promise<void> {
    this.#serverDrain.endWithin(deadlineMs)
    return (this.#drained ??= this.#drain())
  }

  async #drain(): Promise<void> {
    try {
      await this.#serverDrain.run()
      this.#lag.stop()
      await this.#follower.stop()
      await this.services.refusals.stop()
      await this.services.traffic.stop()
      await this.services.keyUses.stop()
      await this.services.stats.stop()
      await this.services.uncovered.stop()
      await this.services.places.stop()
    } finally {
      // the process may live on as a supervisor, and nobody takes over the journal of a process that lives
      await this.ledger.stop()
      await this.services.pools.destroy()
      await this.store.close()
    }
  }
}

function createConsole(
  services: Services,
  fleet: ServingProcesses,
  config: () => Config,
  pay: () => Promise<PaymentService>,
): Console {
  const { store, clock, log, metrics, nextId } = services
  const dryRun = (trial: Trial) => tryOut(services, trial)
  const ask = (asked: Parameters<typeof acceptByKey>[1]) => ({
    begin: (req: http.IncomingMessage, res: http.ServerResponse) => acceptByKey(services, asked, req, res),
  })
  return new Console({
    deps: {
      ...{ store, clock, log, fleet, config, dryRun, ask, pay },
      isDraining: () => services.draining,
      setAside: () => countDeadLetters(config().journal),
    },
    world: () => services.world,
    ids: nextId,
    ipOf: ({ socket, headers }) =>
      clientAddress(socket.remoteAddress, headers['x-forwarded-for'] as string | undefined, services.world.trusted),
    count: (operation, status) => metrics.consoleRequest(operation, status),
  })
}

/** The console's visits and those of payment providers. */
export function consoleVisits(services: Services, console: Console, callbacks: Pages): Pages {
  return (req, res) => {
    if (services.draining) res.shouldKeepAlive = false
    if (!console.serve(req, res) && !callbacks(req, res)) return false
    services.openCount++
    res.once('close', () => services.openCount--)
    return true
  }
}

/** `away` is also said of a store that answers too late for requests. Load balancers wait longer than the probe takes. */
export async function readinessOf(
  { ledger }: { ledger: Pick<Ledger, 'accepting' | 'hasLeases'> & { health: Pick<StoreHealth, 'check'> } },
  draining: () => boolean,
): Promise<Readiness> {
  const state = (await ledger.health.check()) === 'ok' ? 'ok' : 'away'
  if (draining()) return { ready: false, store: state, reason: 'draining' }
  if (!ledger.accepting) return { ready: false, store: state, reason: 'the ledger takes no new requests' }
  if (state === 'away' && !ledger.hasLeases)
    return { ready: false, store: state, reason: 'the store is away and nothing is leased' }
  return { ready: true, store: state }
}
