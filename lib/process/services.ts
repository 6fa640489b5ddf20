/**
 * Builds the services that all exchanges of a process share, and fits them to a new world. The gateway does it here,
 * and so do the tests of exchanges, so that what they test is what runs.
 */
import { Answers } from '../access/answer-owners.ts'
import { Buffered, Inflating } from '../access/open-requests.ts'
import { KeyUses, KeyCache } from '../access/keys.ts'
import { Places } from '../access/places.ts'
import { RateLimiter } from '../access/rate.ts'
import type { Clock } from '../base/clock.ts'
import { idMaker } from '../base/ids.ts'
import { DisputeRests } from '../channels/disputed.ts'
import { Health } from '../channels/health.ts'
import type { RestEvent } from '../channels/rests.ts'
import { RetryBudget } from '../channels/retry-budget.ts'
import { UnpaidRests } from '../channels/unpaid.ts'
import { proveKey, ownServices, type Services } from '../exchange/record/services.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { Pictures } from '../exchange/pictures/pictures.ts'
import type { Store } from '../store/store.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../base/log.ts'
import type { Metrics, Observed } from '../terms/metrics.ts'
import { Pools } from '../upstream/pools.ts'
import { Signers } from '../upstream/signers.ts'
import type { World } from '../world/world.ts'

const RETRY_FLOOR_PER_S = 10
const RETRY_WINDOW_S = 10
const CONNECTIONS_PER_ORIGIN = 16_384

interface ServiceParts {
  clock: Clock
  log: Logger
  metrics: Metrics
  store: Store
  ledger: Ledger
  lag: Services['lag']
  world: World
  /** Chance, which spreads the rests of channels over time. Default: Math.random. */
  random?: () => number
  /** Tells the other serving processes of this gateway of a rest. */
  tellRest?: ((event: RestEvent) => void) | undefined
  /** The most connections to one upstream address. */
  connectionsPerOrigin?: number
}

export function createServices(parts: ServiceParts): Services {
  const { clock, log, metrics, store, ledger, lag, world, connectionsPerOrigin } = parts
  const { config } = world
  const health = new Health({
    clock,
    ...(parts.random === undefined ? {} : { random: parts.random }),
    onChange: change => services.upstreamLog.breaker(change),
    prove: (channel, key) => proveKey(services, channel, key),
    onAuthFailure: channel =>
      log.error({ channel }, 'the upstream refuses the channel key: it is not used for a while'),
    rests: {
      ...(parts.tellRest === undefined ? {} : { tell: parts.tellRest }),
      onRest(note) {
        metrics.rest(note.at.channel, note.scope)
        services.upstreamLog.rests(note)
      },
      onForgotten: () => metrics.restForgotten(),
    },
  })
  const pools = new Pools(poolOptions(config, connectionsPerOrigin), {
    onReserved: (upstream, reason) => log.error({ upstream }, reason),
  })
  const services: Services = {
    clock,
    nextId: idMaker(() => ledger.wall.now()),
    log,
    metrics,
    keys: new KeyCache({ store, clock, health: ledger.health }),
    keyUses: new KeyUses({ store, clock, log }),
    answers: new Answers({ store, clock, health: ledger.health }),
    rates: new RateLimiter({ store, clock, log, health: ledger.health }),
    places: new Places({
      ...{ store, clock, log, health: ledger.health },
      holder: () => ledger.holder,
      alone: () => ledger.alone,
    }),
    buffered: new Buffered(),
    inflating: new Inflating(clock),
    ledger,
    store,
    health,
    disputeRests: new DisputeRests(health),
    unpaidRests: new UnpaidRests(health),
    retries: createRetryBudget(config, clock),
    pools,
    signers: new Signers(clock, pools, (upstream, { code, message }) =>
      log.warn({ upstream, error: code, reason: message }, 'no new token: the present one is used while it lasts'),
    ),
    pictures: new Pictures(clock, config.images),
    world,
    ...ownServices(parts, config.workers),
    draining: false,
    lag,
    openCount: 0,
  }
  enterWorld(services, world, connectionsPerOrigin)
  return services
}

/**
 * Makes `world` the newest one: exchanges that begin from now on live in it. Everything that is kept beside the world
 * follows.
 */
export function enterWorld(services: Services, world: World, connectionsPerOrigin?: number): void {
  const { config } = world
  const { timeouts, keepalive, clientGone } = config
  services.sweeper.setShortest([
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
  services.pools.keep(world.routes.connections, poolOptions(config, connectionsPerOrigin))
  services.signers.keep(world.routes.channels)
  services.pictures.settings = config.images
  services.health.keep(world.routes.channels)
  services.metrics.setChannels(world.channelNames)
  services.world = world
}

/**
 * Gives the metrics the state that ledger and channels keep.
 */
export function observeServices({ ledger, health, metrics }: Services): void {
  const observed: Omit<Observed, 'imbalanceMicro' | 'balances' | 'whole' | 'connections'> = {
    holdsOpen: () => ledger.holdsOpen,
    heldMicro: () => ledger.heldTotal,
    leaseCalls: () => ledger.leaseCalls,
    leaseCallsOpen: () => ledger.leaseCallsOpen,
    storeState: () => ledger.health.state,
    journalEntries: () => ledger.journalEntries,
    setAside: () => ledger.recovery.deadLetters,
    clockSkewMs: () => ledger.wall.skewMs,
    settlementLagMs: () => ledger.settlementLagMs,
    channelStates: () => health.states(),
  }
  metrics.observe(observed)
}

export const createRetryBudget = ({ retry }: Config, clock: Clock): RetryBudget =>
  new RetryBudget({ share: retry.budget, floorPerS: RETRY_FLOOR_PER_S, windowS: RETRY_WINDOW_S, clock })

const poolOptions = ({ timeouts }: Config, connections = CONNECTIONS_PER_ORIGIN) => ({
  connectMs: timeouts.connectMs,
  connections,
})
