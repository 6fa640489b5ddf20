/**
 * The counters and histograms behind our metrics. They are nested maps of numbers, so that counting under a label that
 * is known already allocates nothing; prom-client would build a text of the labels each time.
 */
export type Label = string | number

/** One value of a metric, in the form of prom-client. `metricName` is set for the parts of a histogram. */
export interface Sample {
  labels: Record<string, Label>
  value: number
  metricName?: string
}

/** A sum for each combination of up to two labels; a label that the metric does not have is ''. */
export class Tally {
  readonly #rows = new Map<Label, Map<Label, number>>()

  add(by: number, first: Label = '', second: Label = ''): void {
    let row = this.#rows.get(first)
    if (row === undefined) this.#rows.set(first, (row = new Map()))
    row.set(second, (row.get(second) ?? 0) + by)
  }

  samples(names: readonly string[]): Sample[] {
    return [...this.#rows].flatMap(([first, row]) =>
      [...row].map(([second, value]) => ({ labels: labelled(names, first, second), value })),
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

  observe(seconds: number): void {
    let i = 0
    while (i < BOUNDS.length && seconds > BOUNDS[i]!) i++
    this.counts[i]!++
    this.sum += seconds
  }
}

export class Histogram {
  readonly #rows = new Map<Label, Distribution>()

  observe(seconds: number, label: Label = ''): void {
    let row = this.#rows.get(label)
    if (row === undefined) this.#rows.set(label, (row = new Distribution()))
    row.observe(seconds)
  }

  samples(name: string, names: readonly string[]): Sample[] {
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
