/**
 * The counters and histograms behind our metrics. They are nested maps of numbers, so that counting under a label that
 * is known already allocates nothing; prom-client would build a text of the labels each time.
 */
import { SECOND_MS } from '../base/clock.ts'
import { METRICS, type MetricRow, PICTURE_OUTCOMES, type PictureOutcome } from './metric-rows.ts'
import type { OrderMethod, PayExceptionKind, ProofSource } from './pay.ts'

type Label = string | number

/** One value of a metric, in the form of prom-client. `metricName` is set for the parts of a histogram. */
export interface Sample {
  labels: Record<string, Label>
  value: number
  metricName?: string
}

/** A sum for each combination of up to two labels; a label that the metric does not have is ''. */
export class Tally {
  readonly #rows = new Map<Label, Map<Label, { value: number }>>()

  add(by: number, first: Label = '', second: Label = ''): void {
    let row = this.#rows.get(first)
    if (row === undefined) this.#rows.set(first, (row = new Map()))
    const sum = row.get(second)
    if (sum === undefined) row.set(second, { value: by })
    else sum.value += by
  }

  samples({ labels }: MetricRow): Sample[] {
    return [...this.#rows].flatMap(([first, row]) =>
      [...row].map(([second, { value }]) => ({ labels: labelled(labels, first, second), value })),
    )
  }
}

/** Upper bounds of the buckets, in seconds: from the gateway's own fraction of a millisecond to the longest answers. */
const BOUNDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 100, 180, 300, 600,
]

class Distribution {
  /** One count per bucket, the last for what is above all bounds. They become cumulative only when they are read. */
  readonly counts = new Float64Array(BOUNDS.length + 1)
  sum = 0
}

export class Histogram {
  readonly #rows = new Map<Label, Distribution>()

  observe(seconds: number, label: Label = ''): void {
    let row = this.#rows.get(label)
    if (row === undefined) this.#rows.set(label, (row = new Distribution()))
    let i = 0
    while (i < BOUNDS.length && seconds > BOUNDS[i]!) i++
    row.counts[i]!++
    row.sum += seconds
  }

  samples({ name, labels: names }: MetricRow): Sample[] {
    return [...this.#rows].flatMap(([label, row]) => {
      const labels = labelled(names, label, '')
      let count = 0
      const buckets = Array.from(row.counts, (n, i) => ({
        labels: { le: BOUNDS[i] ?? '+Inf', ...labels },
        value: (count += n),
        metricName: `${name}_bucket`,
      }))
      return [
        ...buckets,
        { labels, value: row.sum, metricName: `${name}_sum` },
        { labels, value: count, metricName: `${name}_count` },
      ]
    })
  }
}

function labelled([first, second]: readonly string[], a: Label, b: Label): Record<string, Label> {
  if (first === undefined) return {}
  return second === undefined ? { [first]: a } : { [first]: a, [second]: b }
}

type MetricId = keyof typeof METRICS
type Counting<Id extends MetricId> = (typeof METRICS)[Id]['type'] extends 'histogram' ? Histogram : Tally

/** A counter or a histogram for each of some metrics. */
export const talliesOf = <Id extends MetricId>(...ids: Id[]): { readonly [Each in Id]: Counting<Each> } =>
  Object.fromEntries(ids.map(id => [id, METRICS[id].type === 'histogram' ? new Histogram() : new Tally()])) as {
    [Each in Id]: Counting<Each>
  }

/** A gauge with a value for each of some words, which its only label `what` has. */
export const gaugeOfEach = (values: Readonly<Record<string, number>>, label = 'what'): Sample[] =>
  Object.entries(values).map(([word, value]) => ({ labels: { [label]: word }, value }))
export const plainGauge = (value: number): Sample[] => [{ labels: {}, value }]

/** The metrics of payments. */
export class PayTallies {
  readonly #counted = talliesOf('payCallbacks', 'payCreditAge', 'payRepairs', 'payExceptions', 'payEndpointErrors')
  /** The exceptions that wait for a person, the payments that are paid and not credited, and those that are held, at the last count. */
  open = { exceptions: 0, uncredited: 0, held: 0 }
  /** The chain, as the process that reads it has last seen it. */
  chain = { head_block: 0, finalized_lag_blocks: 0, cursor_lag_seconds: 0 }
  /** For how long the certificates of each way to pay were still valid at the last look, in ms. */
  certificates: ReadonlyMap<OrderMethod, number> = new Map()
  /** Payments that people credited without a provider's proof, by the latest audit; in micro-CNY. */
  byHand = 0

  callback(method: OrderMethod, verdict: string): void {
    this.#counted.payCallbacks.add(1, method, verdict)
  }

  credited(method: OrderMethod, ms: number): void {
    this.#counted.payCreditAge.observe(ms / SECOND_MS, method)
  }

  repaired(method: OrderMethod, source: ProofSource): void {
    this.#counted.payRepairs.add(1, method, source)
  }

  exception(method: OrderMethod, kind: PayExceptionKind): void {
    this.#counted.payExceptions.add(1, method, kind)
  }

  /** `endpoint` is the place of the node in the config. */
  endpointError(endpoint: number, kind: string): void {
    this.#counted.payEndpointErrors.add(1, String(endpoint), kind)
  }

  samples(id: Extract<MetricId, `pay${string}`>): Sample[] {
    if (id === 'payCertificate')
      return gaugeOfEach(
        Object.fromEntries([...this.certificates].map(([method, ms]) => [method, Math.round(ms / SECOND_MS)])),
        'method',
      )
    if (id === 'payOpen') return gaugeOfEach(this.open)
    if (id === 'payChain') return gaugeOfEach(this.chain)
    return this.#counted[id].samples(METRICS[id])
  }
}

/** The metrics of pictures that are kept so that answers can link to them. */
export class PictureTallies {
  readonly #counted = talliesOf('pictures', 'picturesDeleted')
  #bytes = 0

  constructor() {
    for (const outcome of PICTURE_OUTCOMES) this.#counted.pictures.add(0, outcome)
  }

  count(outcome: PictureOutcome): void {
    this.#counted.pictures.add(1, outcome)
  }

  /** A sweep deletes pictures whose time is over (`expired`) or to make room (`crowded`), and leaves `bytes`. */
  swept({ expired, crowded, bytes }: { expired: number; crowded: number; bytes: number }): void {
    this.#counted.picturesDeleted.add(expired, 'keep')
    this.#counted.picturesDeleted.add(crowded, 'size')
    this.#bytes = bytes
  }

  samples(id: 'pictures' | 'picturesDeleted' | 'pictureBytes'): Sample[] {
    return id === 'pictureBytes' ? plainGauge(this.#bytes) : this.#counted[id].samples(METRICS[id])
  }
}
