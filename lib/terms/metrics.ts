/**
 * The metrics of one process. Requests count into the light tallies of `tallies.ts`; state that other parts keep
 * (holds, breakers, the journal) is read only when somebody scrapes. Then prom-client adds the metrics of the Node
 * process. What becomes of the snapshot stands in `metric-snapshot.ts`.
 */
import type { Registry } from 'prom-client'
import type { ChannelState } from './channel.ts'
import { attemptsOpenSamples, keyStateSamples, stateSamples } from './channel-samples.ts'
import { GONE_OUTCOMES, READ_ON_ENDS, UNCOVERED_OUTCOMES, METRICS } from './metric-rows.ts'
import { AGGREGATORS, promClient, type Snapshot, toValues } from './metric-snapshot.ts'
import { PayTallies } from './pay-tallies.ts'
import { PictureTallies } from './picture-tallies.ts'
import { BASES, TOKEN_CLASSES, type UsageRow } from './records.ts'
import { Histogram, type Sample, Tally } from './tallies.ts'

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
}

const STORE_STATES = { ok: 0, slow: 1, readonly: 2, away: 3 }
const TOKENS: ReadonlySet<string> = new Set(TOKEN_CLASSES)

export class Metrics {
  readonly #requests = new Tally()
  readonly #refusals = new Tally()
  readonly #refusalsLost = new Tally()
  readonly #inflight = new Tally()
  readonly #overhead = new Histogram()
  readonly #firstByte = new Histogram()
  readonly #duration = new Histogram()
  readonly #moneyWait = new Histogram()
  readonly #tokens = new Tally()
  readonly #usageCounted = new Tally()
  readonly #finishUnknown = new Tally()
  readonly #tierUnlisted = new Tally()
  readonly #pictureUnmatched = new Tally()
  readonly pictures = new PictureTallies()
  readonly #charge = new Tally()
  readonly #disputed = new Tally()
  readonly #attempts = new Tally()
  readonly #rests = new Tally()
  readonly #restsForgotten = new Tally()
  readonly #hedges = new Tally()
  readonly #settlements = new Tally()
  readonly #storeQueries = new Tally()
  readonly #storeErrors = new Tally()
  readonly #clientGone = new Tally()
  readonly #uncovered = new Tally()
  readonly #readOnsClosed = new Tally()
  readonly #consoleRequests = new Tally()
  readonly #translations = new Tally()
  readonly pay = new PayTallies()
  #process: Promise<Registry> | null = null
  #channels: readonly string[] = []
  #observed: Observed = NOTHING

  constructor() {
    for (const basis of BASES) this.#settlements.add(0, basis)
    for (const outcome of GONE_OUTCOMES) this.#clientGone.add(0, outcome)
    for (const outcome of UNCOVERED_OUTCOMES) this.#uncovered.add(0, outcome)
    for (const reason of READ_ON_ENDS) this.#readOnsClosed.add(0, reason)
  }

  inflight(protocol: string, by: number): void {
    this.#inflight.add(by, protocol)
  }

  request(protocol: string, status: number, seconds: number): void {
    this.#requests.add(1, protocol, status)
    this.#duration.observe(seconds, protocol)
  }

  moneyWait(seconds: number): void {
    this.#moneyWait.observe(seconds)
  }

  overhead(seconds: number): void {
    this.#overhead.observe(seconds)
  }

  refusal(name: string): void {
    this.#refusals.add(1, name)
  }

  refusalsLost(cause: 'queue_full' | 'store', count: number): void {
    this.#refusalsLost.add(count, cause)
  }

  /** `model` is the model's name, or `other` when the catalogue does not know it. */
  settlement(model: string, row: UsageRow): void {
    this.#settlements.add(1, row.basis)
    if (row.charge > 0) this.#charge.add(row.charge, model)
    if (row.disputed > 0) this.#disputed.add(row.disputed, row.channel)
    for (const line of row.lines) if (TOKENS.has(line.class)) this.#tokens.add(line.count, line.model, line.class)
  }

  usageCounted(channel: string): void {
    this.#usageCounted.add(1, channel)
  }

  finishUnknown(channel: string): void {
    this.#finishUnknown.add(1, channel)
  }

  tierUnlisted(model: string): void {
    this.#tierUnlisted.add(1, model)
  }

  pictureUnmatched(model: string): void {
    this.#pictureUnmatched.add(1, model)
  }

  firstByte(protocol: string, seconds: number): void {
    this.#firstByte.observe(seconds, protocol)
  }

  attempt(channel: string, result: string): void {
    this.#attempts.add(1, channel, result)
  }

  uncovered(outcome: (typeof UNCOVERED_OUTCOMES)[number]): void {
    this.#uncovered.add(1, outcome)
  }

  readOnClosed(reason: (typeof READ_ON_ENDS)[number]): void {
    this.#readOnsClosed.add(1, reason)
  }

  clientGone(outcome: (typeof GONE_OUTCOMES)[number]): void {
    this.#clientGone.add(1, outcome)
  }

  consoleRequest(operation: string, status: number): void {
    this.#consoleRequests.add(1, operation, status)
  }

  /** Of a body that was too large to be translated on the main thread. */
  translation(what: string, outcome: string): void {
    this.#translations.add(1, what, outcome)
  }

  rest(channel: string, scope: 'account' | 'others' | 'all'): void {
    this.#rests.add(1, channel, scope)
  }

  restForgotten(): void {
    this.#restsForgotten.add(1)
  }

  hedge(outcome: 'won' | 'lost'): void {
    this.#hedges.add(1, outcome)
  }

  storeStatement(op: string, ok: boolean): void {
    this.#storeQueries.add(1, op)
    this.#storeErrors.add(ok ? 0 : 1, op)
  }

  /**
   * Names the channels of the catalogue, so that each has a state from the start, and none once it has left the
   * catalogue.
   */
  setChannels(names: readonly string[]): void {
    this.#channels = names
  }

  observe(observed: Partial<Observed>): void {
    this.#observed = { ...NOTHING, ...observed }
  }

  /**
   * Begins to collect the metrics of the Node process. The first call loads prom-client, so that the start need not
   * wait for it.
   */
  watchProcess(): Promise<Registry> {
    this.#process ??= promClient().then(({ collectDefaultMetrics, Registry }) => {
      const register = new Registry()
      collectDefaultMetrics({ register })
      return register
    })
    return this.#process
  }

  async snapshot(): Promise<Snapshot> {
    const own = (Object.keys(METRICS) as (keyof typeof METRICS)[]).map(id => toValues(METRICS[id], this.#samples(id)))
    const ofProcess = (await (await this.watchProcess()).getMetricsAsJSON()) as Snapshot
    return [...own, ...ofProcess.map(values => ({ ...values, aggregator: AGGREGATORS[values.aggregator] ?? 'sum' }))]
  }

  #samples(id: keyof typeof METRICS): Sample[] {
    const { name, labels } = METRICS[id]
    const observed = this.#observed
    switch (id) {
      case 'requests':
        return this.#requests.samples(labels)
      case 'refusals':
        return this.#refusals.samples(labels)
      case 'refusalsLost':
        return this.#refusalsLost.samples(labels)
      case 'inflight':
        return this.#inflight.samples(labels)
      case 'overhead':
        return this.#overhead.samples(name, labels)
      case 'firstByte':
        return this.#firstByte.samples(name, labels)
      case 'duration':
        return this.#duration.samples(name, labels)
      case 'tokens':
        return this.#tokens.samples(labels)
      case 'usageCounted':
        return this.#usageCounted.samples(labels)
      case 'finishUnknown':
        return this.#finishUnknown.samples(labels)
      case 'tierUnlisted':
        return this.#tierUnlisted.samples(labels)
      case 'pictureUnmatched':
        return this.#pictureUnmatched.samples(labels)
      case 'pictures':
      case 'picturesDeleted':
      case 'pictureBytes':
        return this.pictures.samples(id)
      case 'charge':
        return this.#charge.samples(labels)
      case 'disputed':
        return this.#disputed.samples(labels)
      case 'attempts':
        return this.#attempts.samples(labels)
      case 'channelState':
        return stateSamples(this.#channels, observed.channelStates())
      case 'channelKeyState':
        return keyStateSamples(observed.channelStates())
      case 'attemptsOpen':
        return attemptsOpenSamples(observed.channelStates())
      case 'rests':
        return this.#rests.samples(labels)
      case 'restsForgotten':
        return this.#restsForgotten.samples(labels)
      case 'hedges':
        return this.#hedges.samples(labels)
      case 'holdsOpen':
        return plain(observed.holdsOpen())
      case 'held':
        return plain(observed.heldMicro())
      case 'moneyWait':
        return this.#moneyWait.samples(name, labels)
      case 'leaseCalls':
        return Object.entries(observed.leaseCalls()).map(([result, value]) => ({ labels: { result }, value }))
      case 'leaseCallsOpen':
        return plain(observed.leaseCallsOpen())
      case 'storeState':
        return plain(STORE_STATES[observed.storeState()])
      case 'settlements':
        return this.#settlements.samples(labels)
      case 'settlementLag':
        return plain(observed.settlementLagMs() / 1000)
      case 'journalEntries':
        return plain(observed.journalEntries())
      case 'setAside':
        return Object.entries(observed.setAside()).map(([what, value]) => ({ labels: { what }, value }))
      case 'clockSkew':
        return plain(Math.abs(observed.clockSkewMs()) / 1000)
      case 'storeQueries':
        return this.#storeQueries.samples(labels)
      case 'storeErrors':
        return this.#storeErrors.samples(labels)
      case 'translations':
        return this.#translations.samples(labels)
      case 'uncovered':
        return this.#uncovered.samples(labels)
      case 'readOnsClosed':
        return this.#readOnsClosed.samples(labels)
      case 'clientGone':
        return this.#clientGone.samples(labels)
      case 'consoleRequests':
        return this.#consoleRequests.samples(labels)
      case 'payCallbacks':
      case 'payCreditAge':
      case 'payRepairs':
      case 'payExceptions':
      case 'payCertificate':
      case 'payOpen':
      case 'payChain':
      case 'payEndpointErrors':
        return this.pay.samples(id)
      case 'creditsByHand':
        return plain(this.pay.byHand)
      case 'imbalance':
        return plain(observed.imbalanceMicro())
    }
  }
}

const plain = (value: number): Sample[] => [{ labels: {}, value }]
