/**
 * Counts names of which there may be far more than memory may hold, such as addresses of an attack: the Space-Saving sketch of
 * Metwally, Agrawal and El Abbadi (2005). It keeps a fixed number of names. A new name takes the place of the smallest, and its
 * count, which is from then on the error of its own: counts are never too small, and at most their error too large. A name that is
 * not kept has at most the count of the smallest that is.
 */

/** What a sketch knows: plain data, which is kept in the store and added up with that of other processes and hours. */
export interface TopTable {
  /** The largest first. `error`: by how much the count may be too large. */
  rows: (readonly [name: string, count: number, error: number])[]
  /** A name that has no row was counted at most so often. */
  floor: number
}

interface Counted {
  count: number
  error: number
}

const largestFirst = (a: TopTable['rows'][number], b: TopTable['rows'][number]): number =>
  b[1] - a[1] || (a[0] < b[0] ? -1 : 1)

export class TopCounts {
  readonly #most: number
  readonly #counted = new Map<string, Counted>()

  /** `most`: how many names are kept. */
  constructor(most: number) {
    this.#most = most
  }

  add(name: string): void {
    const there = this.#counted.get(name)
    if (there !== undefined) there.count++
    else if (this.#counted.size < this.#most) this.#counted.set(name, { count: 1, error: 0 })
    else {
      const [smallest, { count }] = this.#smallest()
      this.#counted.delete(smallest)
      this.#counted.set(name, { count: count + 1, error: count })
    }
  }

  #smallest(): [name: string, counted: Counted] {
    let found: [string, Counted] | null = null
    for (const one of this.#counted) if (found === null || one[1].count < found[1].count) found = one
    return found as [string, Counted]
  }

  table(): TopTable {
    const rows = [...this.#counted].map(([name, { count, error }]) => [name, count, error] as const).sort(largestFirst)
    return { rows, floor: rows.length < this.#most ? 0 : (rows.at(-1)?.[1] ?? 0) }
  }
}

/** What several sketches know together. A name that one of them has not kept may have been counted there as often as its floor. */
export function mergedTop(tables: readonly TopTable[]): TopTable {
  const floor = tables.reduce((sum, table) => sum + table.floor, 0)
  const all = new Map<string, Counted>()
  for (const table of tables)
    for (const [name, count, error] of table.rows) {
      const there = all.get(name) ?? { count: floor, error: floor }
      // the table's floor stood for what it had not kept, and now is known
      all.set(name, { count: there.count + count - table.floor, error: there.error + error - table.floor })
    }
  return { rows: [...all].map(([name, { count, error }]) => [name, count, error] as const).sort(largestFirst), floor }
}
