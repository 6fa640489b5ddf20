/**
 * A gateway of several processes (`workers: N`): a primary and its workers. The primary serves no clients; it answers
 * operators, does the housekeeping and looks after the workers (`worker-pool.ts`). The workers share the public
 * listeners. They share balances through the leases of the store, as gateways on different machines do. On a reload,
 * new workers are started first and then the old ones drain, so that no request fails.
 */
import type { Micro } from '../base/money.ts'
import type { OperationDeps } from '../operations/deps.ts'
import type { Fleet, Readiness } from '../admin/server.ts'
import type { PurseId } from '../store/books/purses.ts'
import type { BreakerState, ChannelState } from '../terms/records.ts'
import { seenTogether } from '../terms/channel-seen.ts'
import { formatMetrics, type Metrics } from '../terms/metrics.ts'
import { Leaving, PATIENT_DRAIN_MS, runUntilSignal } from './signals.ts'
import { openOps } from './ops-listener.ts'
import { reread, type ServeParts } from './prepare.ts'
import { startUpkeep } from './housekeeping.ts'
import { WorkerPool } from './worker-pool.ts'

export async function servePrimary(parts: ServeParts): Promise<OperationDeps> {
  const { config, log, metrics, store } = parts
  const pool = new WorkerPool(config, log)
  const leaving = new Leaving()
  const ofPool = fleetOf(pool, metrics)
  const fleet = { ...ofPool, ready: leaving.over(ofPool.ready) }
  pool.fleet = fleet
  const addresses = await pool.fill()
  let current = config
  const upkeep = startUpkeep(parts, fleet, () => current)
  const ops = await openOps(config, { log, metrics, store }, fleet)
  const drain = async (deadlineMs: number) => {
    upkeep.stop()
    await pool.drain(deadlineMs)
    await ops.close()
    await store.close()
  }
  runUntilSignal(
    log,
    metrics,
    { ...addresses, ops: ops.address, workers: config.workers },
    {
      async reload() {
        const reloaded = await reread(current, parts)
        await pool.replace(reloaded.config)
        current = reloaded.config
        ops.follow(current)
        return reloaded
      },
      async stop() {
        await leaving.leave(current.timeouts.leaveMs)
        await drain(current.timeouts.drainMs)
      },
      retire() {
        ops.leave()
        return drain(PATIENT_DRAIN_MS)
      },
    },
  )
  return ops.operations
}

const NO_WORKER: Readiness = { ready: false, store: 'away', reason: 'no answer' }

function fleetOf(pool: WorkerPool, metrics: Metrics): Fleet {
  return {
    async ready() {
      const one = (await pool.firstReady()) ?? NO_WORKER
      return pool.draining ? { ready: false, store: one.store, reason: 'draining' } : one
    },
    metrics: async () => formatMetrics([await metrics.snapshot(), ...(await pool.ask('snapshot'))]),
    async held() {
      const sum = new Map<PurseId, Micro>()
      for (const held of await pool.ask('held'))
        for (const [purse, amount] of held) sum.set(purse, ((sum.get(purse) ?? 0) + amount) as Micro)
      return sum
    },
    holders: async () => [...pool.workers].flatMap(worker => worker.holder ?? []),
    async channelStates() {
      const worst = new Map<string, ChannelState>()
      for (const states of await pool.ask('states'))
        for (const [name, state] of states) worst.set(name, worseChannel(worst.get(name), state))
      return worst
    },
    channels: {
      async order(order) {
        const seen = (await pool.ask('order', order)).filter(one => one !== null)
        return seen.length === 0 ? null : seen.reduce(seenTogether)
      },
      async try(trial) {
        const [worker] = [...pool.workers].filter(one => !one.draining)
        return (await worker?.call('try', trial)) ?? null
      },
      async balance(asked) {
        const [worker] = [...pool.workers].filter(one => !one.draining)
        return (await worker?.call('balance', asked)) ?? null
      },
    },
    async changed() {
      await pool.ask('follow')
    },
    async settled() {
      await pool.ask('flush')
    },
  }
}

const BADNESS: Record<BreakerState, number> = { closed: 0, half_open: 1, open: 2 }
const worse = (a: BreakerState | undefined, b: BreakerState): BreakerState =>
  a !== undefined && BADNESS[a] > BADNESS[b] ? a : b
const worseChannel = (a: ChannelState | undefined, b: ChannelState): ChannelState => ({
  state: worse(a?.state, b.state),
  keys: b.keys.map((key, i) => worse(a?.keys[i], key)),
  open: (a?.open ?? 0) + b.open,
})
