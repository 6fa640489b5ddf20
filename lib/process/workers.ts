/**
 * `workers: N`: a primary that serves nothing public. It owns the ops listener and the workers' lives (`crew.ts`); the
 * workers share the public listeners, and one balance through the store's leases. On reload new workers join first and the
 * old ones drain in their own time, so that no request fails for it.
 */
import { systemClock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import { countAside } from '../ledger/aside.ts'
import type { Fleet, Readiness } from '../ops/fleet.ts'
import type { PurseId } from '../store/store.ts'
import type { BreakerState, ChannelState } from '../terms/channel.ts'
import { formatMetrics, type Metrics } from '../terms/metrics.ts'
import { Crew } from './crew.ts'
import { Housekeeping } from './housekeeping.ts'
import { prepareStore } from './process-store.ts'
import { openOps, PATIENT_DRAIN_MS, reloadedConfig, run, type ServeParts } from './startup.ts'

export async function servePrimary({ config, options, log, metrics, store }: ServeParts): Promise<void> {
  const crew = new Crew(config, log)
  const addresses = await crew.fill()
  let current = config
  const housekeeping = new Housekeeping({
    store,
    clock: systemClock,
    log,
    retentionMs: () => current.usageRetentionMs,
    setAside: () => countAside(config.journal),
  })
  metrics.observe({ imbalanceMicro: () => housekeeping.imbalance })
  housekeeping.start()
  const ops = await openOps(config, log, store, fleetOf(crew, metrics))
  const drain = async (deadlineMs: number) => {
    housekeeping.stop()
    await crew.drain(deadlineMs)
    await ops.close()
    await store.close()
  }
  run(
    log,
    { ...addresses, ops: ops.address, workers: config.workers },
    {
      async reload() {
        const next = reloadedConfig(current, options, log)
        await prepareStore(store, next, options.env, log)
        await crew.replace(next)
        current = next
        ops.follow(next)
        return next
      },
      stop: () => drain(current.timeouts.drainMs),
      retire() {
        ops.leave()
        return drain(PATIENT_DRAIN_MS)
      },
    },
  )
}

const NO_WORKER: Readiness = { ready: false, store: 'away', reason: 'no answer' }

function fleetOf(crew: Crew, metrics: Metrics): Fleet {
  return {
    async ready() {
      const one = (await crew.firstReady()) ?? NO_WORKER
      return crew.draining ? { ready: false, store: one.store, reason: 'draining' } : one
    },
    metrics: async () => formatMetrics([await metrics.snapshot(), ...(await crew.ask('snapshot'))]),
    async held() {
      const sum = new Map<PurseId, Micro>()
      for (const held of await crew.ask('held'))
        for (const [purse, amount] of held) sum.set(purse, ((sum.get(purse) ?? 0) + amount) as Micro)
      return sum
    },
    holders: () => [...crew.members].flatMap(member => member.holder ?? []),
    async channelStates() {
      const worst = new Map<string, ChannelState>()
      for (const states of await crew.ask('states'))
        for (const [name, state] of states) worst.set(name, worseChannel(worst.get(name), state))
      return worst
    },
    async changed() {
      await crew.ask('follow')
    },
    async settled() {
      await crew.ask('flush')
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
