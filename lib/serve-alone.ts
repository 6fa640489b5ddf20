/** A gateway of one process. */
import { systemClock } from './base/clock.ts'
import { Gateway } from './gateway.ts'
import type { Fleet } from './ops/fleet.ts'
import { Housekeeping } from './ops/housekeeping.ts'
import { prepareStore } from './process-store.ts'
import { onSignals, openOps, type ServeParts } from './startup.ts'
import { loadConfig } from './terms/config.ts'
import { announce } from './terms/log.ts'
import { formatMetrics } from './terms/metrics.ts'

export async function serveAlone({ config, options, log, metrics, store }: ServeParts): Promise<void> {
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
  const ops = await openOps(config, log, store, fleet)
  onSignals(log, {
    async reload() {
      const next = loadConfig(options.configFile, options.env)
      await prepareStore(store, next, options.env)
      await gateway.reconfigure(next)
      await gateway.follow()
      ops.follow(next)
      return next
    },
    async stop() {
      await housekeeping.stop()
      await gateway.drain(gateway.config.timeouts.drainMs)
      await ops.close()
    },
  })
  announce(log, { ...addresses, ops: ops.address, workers: 1 }, 'ready')
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
