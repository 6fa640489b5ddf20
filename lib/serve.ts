/** `gateway serve`: one process, or a primary with workers. */
import { systemClock } from './base/clock.ts'
import { Gateway, openProcessStore } from './gateway.ts'
import type { Fleet } from './ops/fleet.ts'
import { Housekeeping } from './ops/housekeeping.ts'
import { addressOf, onSignals, openOps, prepareStore, type ServeOptions } from './startup.ts'
import type { Store } from './store/store.ts'
import { type Config, loadConfig } from './terms/config.ts'
import { createLogger, type Logger } from './terms/log.ts'
import { formatMetrics, Metrics } from './terms/metrics.ts'
import { servePrimary } from './workers.ts'

/** Resolves when the gateway is ready. It ends by signal. */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const log = createLogger(config.log.level)
  const metrics = new Metrics()
  const store = openProcessStore(config, metrics, log)
  await prepareStore(store, config, options.env)
  if (config.workers > 1) await servePrimary(config, options, log, metrics, store)
  else await serveAlone(config, options, log, metrics, store)
}

async function serveAlone(
  config: Config,
  options: ServeOptions,
  log: Logger,
  metrics: Metrics,
  store: Store,
): Promise<void> {
  const gateway = await Gateway.start(config, log, metrics, store)
  const fleet = fleetOfOne(gateway)
  const addresses = await gateway.listen()
  const housekeeping = new Housekeeping({
    store,
    clock: systemClock,
    log,
    retentionMs: () => gateway.config.usageRetentionMs,
  })
  gateway.imbalanceMicro = () => housekeeping.imbalance
  housekeeping.start()
  const closeOps = await openOps(config, log, store, fleet)
  onSignals(log, {
    async reload() {
      const next = loadConfig(options.configFile, options.env)
      await prepareStore(store, next, options.env)
      await gateway.reconfigure(next)
      await gateway.follow()
    },
    async stop() {
      await housekeeping.stop()
      await gateway.drain(gateway.config.timeouts.drainMs)
      await closeOps()
    },
  })
  log.info({ ...addresses, ops: addressOf(config.listen.ops), workers: 1 }, 'ready')
}

function fleetOfOne(gateway: Gateway): Fleet {
  return {
    ready: () => gateway.ready(),
    metrics: async () => formatMetrics([await gateway.metrics.snapshot()]),
    held: async () => gateway.ledger.held(),
    holders: () => [gateway.ledger.holder],
    channelStates: async () => gateway.health.states(),
    changed: () => gateway.follow(),
    settled: () => gateway.ledger.flush(),
  }
}
