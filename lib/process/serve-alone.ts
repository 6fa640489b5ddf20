/** A gateway of one process, which serves clients, answers operators and does the housekeeping. */
import type { OperationDeps } from '../operations/deps.ts'
import type { Fleet } from '../admin/server.ts'
import { formatMetrics } from '../terms/metrics.ts'
import { Gateway } from './gateway.ts'
import { type Acts, Leaving, PATIENT_DRAIN_MS, runUntilSignal } from './signals.ts'
import { openOps } from './ops-listener.ts'
import { reread, type ServeParts } from './prepare.ts'
import { startUpkeep } from './housekeeping.ts'

export async function serveAlone(parts: ServeParts): Promise<OperationDeps> {
  const { gateway, addresses, acts, operations } = await openAlone(parts)
  runUntilSignal(parts.log, parts.metrics, addresses, acts)
  await gateway.loadConsole()
  return operations
}

interface Alone {
  gateway: Gateway
  addresses: { main: string; direct: string; ops: string; workers: number }
  acts: Acts
  operations: OperationDeps
}

/** A gateway that serves as `serveAlone` does, and hears no signal: `acts` is what signals would do. */
export async function openAlone(parts: ServeParts): Promise<Alone> {
  const { config, log, metrics, store } = parts
  const gateway = await Gateway.start(config, log, metrics, store)
  const leaving = new Leaving()
  const fleet = fleetOfOne(gateway, leaving)
  const addresses = await gateway.listen(fleet)
  const upkeep = startUpkeep(parts, fleet, () => gateway.config)
  const ops = await openOps(config, { log, metrics, store }, fleet)
  const drain = async (deadlineMs: number) => {
    upkeep.stop()
    await gateway.drain(deadlineMs)
    await ops.close()
  }
  const acts: Acts = {
    async reload() {
      const reloaded = await reread(gateway.config, parts)
      await gateway.reconfigure(reloaded.config)
      await gateway.follow()
      ops.follow(reloaded.config)
      return reloaded
    },
    async stop() {
      const { leaveMs, drainMs } = gateway.config.timeouts
      await leaving.leave(leaveMs)
      await drain(drainMs)
    },
    retire() {
      ops.leave()
      return drain(PATIENT_DRAIN_MS)
    },
  }
  return { gateway, addresses: { ...addresses, ops: ops.address, workers: 1 }, acts, operations: ops.operations }
}

function fleetOfOne(gateway: Gateway, leaving: Leaving): Fleet {
  return {
    ready: leaving.over(() => gateway.ready()),
    metrics: async () => formatMetrics([await gateway.metrics.snapshot()]),
    held: async () => gateway.ledger.held(),
    holders: async () => [gateway.ledger.holder],
    channelStates: async () => gateway.health.states(),
    channels: gateway.channels,
    changed: () => gateway.follow(),
    settled: () => gateway.ledger.flush(),
  }
}
