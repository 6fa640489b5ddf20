/**
 * The metrics of one process. Requests count into the light tallies of `tallies.ts`; state that other parts keep
 * (holds, breakers, the journal) is read only when somebody scrapes. Then prom-client adds the metrics of the Node
 * process. A snapshot is plain data: those of several processes become one Prometheus text.
 */
import { type Histogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Aggregator, MetricObjectWithValues, Registry } from 'prom-client'
import { VERSION } from '../base/version.ts'
import type { BalanceState } from './channel-seen.ts'
import { GONE_OUTCOMES, METRICS, type MetricRow, READ_ON_ENDS, UNCOVERED_OUTCOMES } from './metric-rows.ts'
import { TOKEN_CLASSES } from '../protocols/words/usage.ts'
import { BASES, type UsageRow } from './usage-row.ts'
import type { BreakerState, ChannelState } from './records.ts'
import { gaugeOfEach, PayTallies, PictureTallies, plainGauge, type Sample, talliesOf } from './tallies.ts'

/** State that other parts of the program keep. Each function is called when the metrics are read. */
export interface Observed {
  holdsOpen(): number
  heldMicro(): number
  /** By what came of them. */
  leaseCalls(): Readonly<Record<string, number>>
  leaseCallsOpen(): number
  storeState(): 'ok' | 'slow' | 'readonly' | 'away'
  journalEntries(): number
  setAside(): { settlements: number; unreadable: number; journals: number }
  clockSkewMs(): number
  settlementLagMs(): number
  channelStates(): Iterable<readonly [string, ChannelState]>
  imbalanceMicro(): number
  /** What is left at upstreams, by the names of channels. */
  balances(): Iterable<readonly [string, BalanceState]>
  connections(): { open: number; refused: Readonly<Record<string, number>> }
  /** The state of the gateway as a whole, which the process that answers operators reads; null in the others. */
  whole(): Promise<WholeState | null>
}

/** What is true of the gateway and its machine, whatever the number of its processes. */
interface WholeState {
  isReady: boolean
  nowMs: number
  freeBytes: Readonly<Record<string, number>>
  backupMs: number | null
}

const NOTHING: Observed = {
  holdsOpen: () => 0,
  heldMicro: () => 0,
  leaseCalls: () => ({}),
  leaseCallsOpen: () => 0,
  storeState: () => 'ok',
  journalEntries: () => 0,
  setAside: () => ({ settlements: 0, unreadable: 0, journals: 0 }),
  clockSkewMs: () => 0,
  settlementLagMs: () => 0,
  channelStates: () => [],
  imbalanceMicro: () => 0,
  balances: () => [],
  connections: () => ({ open: 0, refused: {} }),
  whole: async () => null,
}

type MetricId = keyof typeof METRICS

const STORE_STATES = { ok: 0, slow: 1, readonly: 2, away: 3 }
const TOKENS: ReadonlySet<string> = new Set(TOKEN_CLASSES)

const COUNTED = [
  'requests',
  'refusals',
  'refusalsLost',
  'inflight',
  'overhead',
  'firstByte',
  'channelFirstByte',
  'duration',
  'moneyWait',
  'tokens',
  'usageCounted',
  'finishUnknown',
  'tierUnlisted',
  'pictureUnmatched',
  'charge',
  'cost',
  'costedCharge',
  'disputed',
  'attempts',
  'rests',
  'restsForgotten',
  'hedges',
  'settlements',
  'storeQueries',
  'storeErrors',
  'clientGone',
  'uncovered',
  'readOnsClosed',
  'consoleRequests',
  'adminRefused',
  'translations',
] as const
type CountedId = (typeof COUNTED)[number]

/** The gauges that are read of other parts of the program. */
const READ: Record<
  Exclude<MetricId, CountedId | `pay${string}` | `picture${string}` | `reload${string}` | 'creditsByHand'>,
  (observed: Observed, channels: readonly string[], whole: WholeState | null) => Sample[]
> = {
  channelState: (observed, channels) => stateSamples(channels, observed.channelStates()),
  channelKeyState: observed => keyStateSamples(observed.channelStates()),
  channelBalance: observed => balanceSamples(observed.balances()),
  channelBalanceState: observed => balanceStateSamples(observed.balances()),
  attemptsOpen: observed => attemptsOpenSamples(observed.channelStates()),
  holdsOpen: observed => plainGauge(observed.holdsOpen()),
  held: observed => plainGauge(observed.heldMicro()),
  leaseCalls: observed => gaugeOfEach(observed.leaseCalls(), 'result'),
  leaseCallsOpen: observed => plainGauge(observed.leaseCallsOpen()),
  storeState: observed => plainGauge(STORE_STATES[observed.storeState()]),
  settlementLag: observed => plainGauge(observed.settlementLagMs() / 1000),
  journalEntries: observed => plainGauge(observed.journalEntries()),
  setAside: observed => gaugeOfEach(observed.setAside()),
  clockSkew: observed => plainGauge(Math.abs(observed.clockSkewMs()) / 1000),
  imbalance: observed => plainGauge(observed.imbalanceMicro()),
  connections: observed => plainGauge(observed.connections().open),
  connectionsRefused: observed => gaugeOfEach(observed.connections().refused, 'cause'),
  buildInfo: () => [{ labels: { version: VERSION, node: process.version }, value: 1 }],
  ready: (_, __, whole) => gaugeOrNone(whole, ({ isReady }) => Number(isReady)),
  time: (_, __, whole) => gaugeOrNone(whole, ({ nowMs }) => nowMs / 1000),
  diskFree: (_, __, whole) => gaugeOfEach(whole?.freeBytes ?? {}),
  backupTime: (_, __, whole) => gaugeOrNone(whole?.backupMs ?? null, ms => ms / 1000),
}

export class Metrics {
  readonly #counted = talliesOf(...COUNTED)
  readonly pictures = new PictureTallies()
  readonly pay = new PayTallies()
  #process: Promise<Registry> | null = null
  #channels: readonly string[] = []
  #observed: Observed = NOTHING
  #reload: { isInForce: boolean; readMs: number } | null = null

  constructor() {
    for (const basis of BASES) this.#counted.settlements.add(0, basis)
    for (const outcome of GONE_OUTCOMES) this.#counted.clientGone.add(0, outcome)
    for (const outcome of UNCOVERED_OUTCOMES) this.#counted.uncovered.add(0, outcome)
    for (const reason of READ_ON_ENDS) this.#counted.readOnsClosed.add(0, reason)
  }

  inflight(protocol: string, by: number): void {
    this.#counted.inflight.add(by, protocol)
  }

  request(protocol: string, status: number, seconds: number): void {
    this.#counted.requests.add(1, protocol, status)
    this.#counted.duration.observe(seconds, protocol)
  }

  moneyWait(seconds: number): void {
    this.#counted.moneyWait.observe(seconds)
  }

  overhead(seconds: number): void {
    this.#counted.overhead.observe(seconds)
  }

  refusal(name: string): void {
    this.#counted.refusals.add(1, name)
  }

  refusalsLost(cause: 'queue_full' | 'store', count: number): void {
    this.#counted.refusalsLost.add(count, cause)
  }

  /** `model` is the model's name, or `other` when the catalogue does not know it. */
  settlement(model: string, row: UsageRow): void {
    this.#counted.settlements.add(1, row.basis)
    if (row.charge > 0) this.#counted.charge.add(row.charge, model)
    if (row.cost !== null) {
      this.#counted.cost.add(row.cost, row.channel)
      this.#counted.costedCharge.add(row.charge, row.channel)
    }
    if (row.disputed > 0) this.#counted.disputed.add(row.disputed, row.channel)
    for (const line of row.lines)
      if (TOKENS.has(line.class)) this.#counted.tokens.add(line.count, line.model, line.class)
  }

  usageCounted(channel: string): void {
    this.#counted.usageCounted.add(1, channel)
  }

  finishUnknown(channel: string): void {
    this.#counted.finishUnknown.add(1, channel)
  }

  tierUnlisted(model: string): void {
    this.#counted.tierUnlisted.add(1, model)
  }

  pictureUnmatched(model: string): void {
    this.#counted.pictureUnmatched.add(1, model)
  }

  firstByte(protocol: string, channel: string, seconds: number): void {
    this.#counted.firstByte.observe(seconds, protocol)
    this.#counted.channelFirstByte.observe(seconds, channel)
  }

  attempt(channel: string, result: string): void {
    this.#counted.attempts.add(1, channel, result)
  }

  uncovered(outcome: (typeof UNCOVERED_OUTCOMES)[number]): void {
    this.#counted.uncovered.add(1, outcome)
  }

  readOnClosed(reason: (typeof READ_ON_ENDS)[number]): void {
    this.#counted.readOnsClosed.add(1, reason)
  }

  clientGone(outcome: (typeof GONE_OUTCOMES)[number]): void {
    this.#counted.clientGone.add(1, outcome)
  }

  /** Counts a call of the admin API that was not let in. */
  adminRefused(reason: 'token' | 'throttled'): void {
    this.#counted.adminRefused.add(1, reason)
  }

  consoleRequest(operation: string, status: number): void {
    this.#counted.consoleRequests.add(1, operation, status)
  }

  /** Counts a body that was too large to be translated on the main thread. */
  translation(what: string, outcome: string): void {
    this.#counted.translations.add(1, what, outcome)
  }

  rest(channel: string, scope: 'account' | 'others' | 'all'): void {
    this.#counted.rests.add(1, channel, scope)
  }

  restForgotten(): void {
    this.#counted.restsForgotten.add(1)
  }

  hedge(outcome: 'won' | 'lost'): void {
    this.#counted.hedges.add(1, outcome)
  }

  storeStatement(op: string, ok: boolean): void {
    this.#counted.storeQueries.add(1, op)
    this.#counted.storeErrors.add(ok ? 0 : 1, op)
  }

  /**
   * Names the channels of the catalogue, so that each has a state from the start, and none once it has left the
   * catalogue.
   */
  setChannels(names: readonly string[]): void {
    this.#channels = names
  }

  /** What is given replaces what was given before of the same names. */
  observe(observed: Partial<Observed>): void {
    this.#observed = { ...this.#observed, ...observed }
  }

  /** The config of this moment is in force: that of the start, or one that was reloaded. */
  configRead(nowMs: number): void {
    this.#reload = { isInForce: true, readMs: nowMs }
  }

  reloadRefused(): void {
    if (this.#reload !== null) this.#reload.isInForce = false
  }

  /**
   * Begins to collect the metrics of the Node process. The first call loads prom-client, so that the start need not
   * wait for it.
   */
  watchProcess(): Promise<Registry> {
    this.#process ??= promClient().then(client => {
      const register = new client.Registry()
      client.collectDefaultMetrics({ register, eventLoopMonitoringPrecision: NO_SAMPLES_MS })
      for (const name of MISNAMED) register.removeSingleMetric(name)
      watchLoop(client, register)
      return register
    })
    return this.#process
  }

  async snapshot(): Promise<Snapshot> {
    const whole = await this.#observed.whole()
    const own = (Object.keys(METRICS) as MetricId[]).map(id => toValues(METRICS[id], this.#samples(id, whole)))
    const ofProcess = (await (await this.watchProcess()).getMetricsAsJSON()) as Snapshot
    return [...own, ...ofProcess.map(values => ({ ...values, aggregator: AGGREGATORS[values.aggregator] ?? 'sum' }))]
  }

  #samples(id: MetricId, whole: WholeState | null): Sample[] {
    if (id in READ) return READ[id as keyof typeof READ](this.#observed, this.#channels, whole)
    if (id === 'reloadSuccess') return gaugeOrNone(this.#reload, ({ isInForce }) => Number(isInForce))
    if (id === 'reloadTime') return gaugeOrNone(this.#reload, ({ readMs }) => readMs / 1000)
    if (id === 'creditsByHand') return plainGauge(this.pay.byHand)
    if (id === 'pictures' || id === 'picturesDeleted' || id === 'pictureBytes') return this.pictures.samples(id)
    if (id in this.#counted) return this.#counted[id as CountedId].samples(METRICS[id])
    return this.pay.samples(id as Extract<MetricId, `pay${string}`>)
  }
}

/** Absent where nobody knows the value: 0 would be one. */
const gaugeOrNone = <T>(of: T | null, value: (of: T) => number): Sample[] => (of === null ? [] : plainGauge(value(of)))

const STATE_VALUES: Record<BreakerState, number> = { closed: 0, half_open: 1, open: 2 }

type ChannelStates = Iterable<readonly [string, ChannelState]>

function stateSamples(channels: readonly string[], all: ChannelStates): Sample[] {
  const states = new Map(all)
  return channels.map(channel => ({
    labels: { channel },
    value: STATE_VALUES[states.get(channel)?.state ?? 'closed'],
  }))
}

const balanceSamples = (all: Iterable<readonly [string, BalanceState]>): Sample[] =>
  [...all].flatMap(([channel, { amount, currency }]) =>
    amount === null ? [] : { labels: { channel, currency }, value: amount },
  )

const BALANCE_STATES = { ok: 0, low: 1, unknown: 2 }

const balanceStateSamples = (all: Iterable<readonly [string, BalanceState]>): Sample[] =>
  [...all].flatMap(([channel, { state, isWatched }]) =>
    isWatched ? { labels: { channel }, value: BALANCE_STATES[state] } : [],
  )

/** The breakers of keys, for channels that have several. The label is the key's position, from 1, and not the key. */
const keyStateSamples = (all: ChannelStates): Sample[] =>
  [...all].flatMap(([channel, { keys }]) =>
    keys.length < 2
      ? []
      : keys.map((state, i) => ({ labels: { channel, key: String(i + 1) }, value: STATE_VALUES[state] })),
  )

const attemptsOpenSamples = (all: ChannelStates): Sample[] =>
  [...all].map(([channel, { open }]) => ({ labels: { channel }, value: open }))

type Values = MetricObjectWithValues<{ value: number; labels: object }>

/** All metrics of one process as plain data, which can be sent to another process. Money is in micro-CNY. */
export type Snapshot = Values[]

const MICROS = 1_000_000

const promClient = () => import('prom-client')

/** Gauges with names of counters, which checkers of metrics complain of; `…_resources`, `_handles` and `_requests` by type have the same. */
const MISNAMED = ['handles', 'requests', 'resources'].map(kind => `nodejs_active_${kind}_total`)
/** prom-client samples the event loop by a timer. With this interval it never does, because the timer would wake an idle process. */
const NO_SAMPLES_MS = 2 ** 31 - 1
/** The figures of the event loop that prom-client takes from its own samples, in ns: by the part of their name that differs. */
const LAGS: Readonly<Record<string, (delays: Histogram) => number>> = {
  min: delays => delays.min,
  max: delays => delays.max,
  mean: delays => delays.mean,
  stddev: delays => delays.stddev,
  p50: delays => delays.percentile(50),
  p90: delays => delays.percentile(90),
  p99: delays => delays.percentile(99),
}

/**
 * Replaces these figures by those of samples that are taken at each turn of the loop: how long the turn took, without the
 * wait for something to do. They begin anew with each reading. A Node before 26 has such samples by a timer only.
 */
function watchLoop({ Gauge }: typeof import('prom-client'), register: Registry): void {
  const delays = monitorEventLoopDelay({ samplePerIteration: true })
  delays.enable()
  setTimeout(() => delays.reset(), LOOP_BEGINS_MS).unref() // the first sample has the wait in it
  for (const [part, of] of Object.entries(LAGS)) {
    const name = `nodejs_eventloop_lag_${part}_seconds`
    const { help, aggregator } = register.getSingleMetric(name) as unknown as { help: string; aggregator: Aggregator }
    register.removeSingleMetric(name)
    new Gauge({
      name,
      help,
      aggregator,
      registers: [register],
      collect() {
        this.set(delays.count === 0 ? 0 : of(delays) / NS)
        if (part === LAST) delays.reset() // prom-client asks for them in the order in which they were made
      },
    })
  }
}
const LAST = Object.keys(LAGS).at(-1)
const LOOP_BEGINS_MS = 1000
const NS = 1e9

/**
 * How the metrics of Node itself are combined over several processes: prom-client's own choice → ours. We show the
 * greatest where prom-client would average, because one blocked process would be lost in the average lag of idle ones;
 * and the smallest where it would omit the value: the start time is that of the oldest process. What is not listed is
 * summed.
 */
const AGGREGATORS: Partial<Record<Aggregator, Aggregator>> = {
  average: 'max',
  omit: 'min',
  min: 'min',
  max: 'max',
  first: 'first',
}

const toValues = ({ name, help, type, aggregator }: MetricRow, values: Sample[]): Values =>
  ({ name, help, type, aggregator, values }) as unknown as Values

const MONEY = (Object.values(METRICS) as MetricRow[]).filter(row => row.money).map(row => row.name)

/** The Prometheus text for several processes together: sums, but the greatest of states, lags and imbalances. */
export async function formatMetrics(snapshots: readonly Snapshot[]): Promise<string> {
  const { AggregatorRegistry } = await promClient()
  const registry = AggregatorRegistry.aggregate(snapshots as Snapshot[])
  for (const name of MONEY) {
    const { values } = registry.getSingleMetric(name) as unknown as Values
    for (const sample of values) sample.value /= MICROS
  }
  return registry.metrics()
}
