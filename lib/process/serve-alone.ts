/** A gateway of one process, which serves clients, answers operators and does the housekeeping. */
import { systemClock } from '../base/clock.ts'
import { countAside } from '../ledger/aside.ts'
import type { OperationDeps } from '../operations/deps.ts'
import type { Fleet } from '../ops/fleet.ts'
import { PictureSweep } from '../pictures/sweep.ts'
import { formatMetrics } from '../terms/metric-snapshot.ts'
import { Gateway } from './gateway.ts'
import { Housekeeping } from './housekeeping.ts'
import { openOps } from './ops-listener.ts'
import { PayRounds } from './pay-rounds.ts'
import { prepareStore } from './process-store.ts'
import { reloadedConfig } from './reloaded-config.ts'
import type { ServeParts } from './serve-parts.ts'
import { PATIENT_DRAIN_MS, run } from './signals.ts'

export async function serveAlone({ config, options, log, metrics, store }: ServeParts): Promise<OperationDeps> {
  const gateway = await Gateway.start(config, log, metrics, store)
  const fleet = fleetOfOne(gateway)
  const addresses = await gateway.listen(fleet)
  const housekeeping = new Housekeeping({
    store,
    clock: systemClock,
    log,
    retentionMs: () => gateway.config.usageRetentionMs,
    addressesMs: () => gateway.config.addressRetentionMs,
    setAside: () => countAside(config.journal),
    pay: metrics.pay,
  })
  gateway.imbalanceMicro = () => housekeeping.imbalance
  housekeeping.start()
  const payRounds = new PayRounds({
    store,
    clock: systemClock,
    log,
    fleet,
    setAside: () => countAside(config.journal),
    config: () => gateway.config,
    counts: metrics.pay,
  })
  payRounds.start()
  const sweep = new PictureSweep({ clock: systemClock, log, metrics, settings: () => gateway.config.images })
  sweep.start()
  const ops = await openOps(config, { log, metrics, store }, fleet)
  const drain = async (deadlineMs: number) => {
    housekeeping.stop()
    payRounds.stop()
    void sweep.stop() // a sweep under way may go on: what is deleted is deleted
    await gateway.drain(deadlineMs)
    await ops.close()
  }
  run(
    log,
    { ...addresses, ops: ops.address, workers: 1 },
    {
      async reload() {
        const next = reloadedConfig(gateway.config, options, log)
        await prepareStore(store, next, options.env, log)
        await gateway.reconfigure(next)
        await gateway.follow()
        ops.follow(next)
        return next
      },
      stop: () => drain(gateway.config.timeouts.drainMs),
      retire() {
        ops.leave()
        return drain(PATIENT_DRAIN_MS)
      },
    },
  )
  await gateway.loadConsole()
  return ops.operations
}

function fleetOfOne(gateway: Gateway): Fleet {
  return {
    ready: () => gateway.ready(),
    metrics: async () => formatMetrics([await gateway.metrics.snapshot()]),
    held: async () => gateway.ledger.held(),
    holders: async () => [gateway.ledger.holder],
    channelStates: async () => gateway.health.states(),
    changed: () => gateway.follow(),
    settled: () => gateway.ledger.flush(),
  }
}
