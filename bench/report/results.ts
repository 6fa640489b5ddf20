/** Keeps what was measured: for each workload, figure and subject one value per round, in the order of the rounds. */
import type { Figure } from './figures.ts'
import { median } from './statistics.ts'

export class Results {
  readonly #values = new Map<string, number[]>()
  readonly #workloads = new Map<string, Set<Figure>>()

  add(workload: string, subject: string, figure: Figure, value: number): void {
    const at = place(workload, subject, figure)
    const rounds = this.#values.get(at)
    if (rounds === undefined) this.#values.set(at, [value])
    else rounds.push(value)
    const figures = this.#workloads.get(workload)
    if (figures === undefined) this.#workloads.set(workload, new Set([figure]))
    else figures.add(figure)
  }

  get workloads(): string[] {
    return [...this.#workloads.keys()]
  }

  figures(workload: string): Figure[] {
    return [...(this.#workloads.get(workload) ?? [])]
  }

  rounds(workload: string, subject: string, figure: Figure): readonly number[] {
    return this.#values.get(place(workload, subject, figure)) ?? []
  }

  /** The median over the rounds; null = not measured. */
  median(workload: string, subject: string, figure: Figure): number | null {
    const rounds = this.rounds(workload, subject, figure)
    return rounds.length === 0 ? null : median(rounds)
  }

  /**
   * The median of `compare(value, floor)` over the rounds. Comparing within each round keeps drift between rounds out.
   */
  compared(
    workload: string,
    figure: Figure,
    subjects: readonly [subject: string, floor: string],
    compare: (value: number, floor: number) => number,
  ): number | null {
    const [values, floors] = subjects.map(subject => this.rounds(workload, subject, figure))
    const pairs = Math.min(values?.length ?? 0, floors?.length ?? 0)
    if (pairs === 0) return null
    return median(Array.from({ length: pairs }, (_, i) => compare(values?.[i] as number, floors?.[i] as number)))
  }
}

const place = (...parts: string[]): string => parts.join('\n')
