/** Counting that costs next to nothing: nested maps of numbers, no text made and nothing allocated for a known label. */
export type Label = string | number

/** One value of a metric, as prom-client writes it. */
export interface Sample {
  labels: Record<string, Label>
  value: number
  metricName?: string
}

/** Values under up to two labels; '' where there is none. */
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

/** Upper bounds in seconds: from a fraction of a millisecond of our own to the longest answers. */
const BOUNDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 100, 180, 300, 600,
]

class Distribution {
  /** Per bound, and one for what is above all of them; summed up only when read. */
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
