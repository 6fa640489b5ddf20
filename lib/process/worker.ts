/** The program of one worker: a serving process that its primary starts, asks and drains by messages. */
import type { RestEvent } from '../channels/rests.ts'
import { createLogger } from '../base/log.ts'
import { Metrics } from '../terms/metrics.ts'
import { Gateway } from './gateway.ts'
import { Primary } from './primary.ts'
import { openProcessStore } from './prepare.ts'
import type { FromWorker, SaidWith, ToWorker, WorkerCalls } from './worker-handle.ts'

const say = (message: FromWorker): void => void process.send?.(message)
const primary = new Primary((id, op) => say({ type: 'ask', id, op }))
let gateway: Gateway | null = null

process.on('message', (message: ToWorker) => {
  if (message.type === 'start') start(message).catch(error => fail(error))
  else if (message.type === 'call') answer(message).catch(error => fail(error))
  else if (message.type === 'answer') primary.hear(message)
  else if (message.type === 'rest') gateway?.health.rests.hear(message.event)
  else drain(message.deadlineMs)
})
// Ctrl-C in a terminal reaches every process of the group, but a worker ends when its primary says so
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('SIGHUP', () => {})
process.on('disconnect', () => drain(0)) // the primary is gone, and with it whoever could stop or reload this worker

async function start({ config, sockets }: Extract<ToWorker, { type: 'start' }>): Promise<void> {
  const log = createLogger(config.log.level)
  const metrics = new Metrics()
  const tellRest = (event: RestEvent) => say({ type: 'rest', event })
  gateway = await Gateway.start(config, log, metrics, openProcessStore(config, metrics, log), tellRest)
  say({ type: 'ready', ...(await gateway.listen(primary, sockets)), holder: gateway.ledger.holder })
  await Promise.all([metrics.watchProcess(), gateway.loadConsole()])
}

async function answer({ id, op, said }: Extract<ToWorker, { type: 'call' }>): Promise<void> {
  say({ type: 'reply', id, value: gateway === null ? undefined : await CALLS[op](gateway, said as never) })
}

const CALLS: {
  [K in keyof WorkerCalls]: (g: Gateway, ...said: SaidWith<K>) => Promise<WorkerCalls[K]> | WorkerCalls[K]
} = {
  snapshot: g => g.metrics.snapshot(),
  held: g => [...g.ledger.held()],
  states: g => [...g.health.states()],
  ready: g => g.ready(),
  order: (g, order) => g.channels.order(order),
  try: (g, trial) => g.channels.try(trial),
  balance: (g, asked) => g.channels.balance(asked),
  follow: async g => {
    await g.follow()
    return null
  },
  flush: async g => {
    await g.ledger.flush()
    return null
  },
}

function drain(deadlineMs: number): void {
  if (gateway === null) process.exit(0)
  gateway.drain(deadlineMs).then(
    () => process.exit(0),
    () => process.exit(1),
  )
}

function fail(error: unknown): void {
  say({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
  process.exit(1)
}
