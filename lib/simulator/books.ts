/**
 * What was served, from the upstream's side: totals of everything, and the last requests one by one, so that somebody's
 * books can be compared with what they were told. Usage is counted as it was reported in bytes that went out.
 */
import { noUsage, type Protocol, type Usage } from '../terms/records.ts'

/** `cut`: broken off or ended early on purpose · `gone`: the other side left first · `refused`: an error status, or a reset. */
export type End = 'completed' | 'cut' | 'gone' | 'refused'

/** One request, when it has ended. */
export interface Served {
  /** Counts up from 1 in the order in which requests ended. */
  readonly number: number
  /** `id` of its directive, or null. */
  readonly id: string | null
  readonly protocol: Protocol
  readonly model: string
  readonly stream: boolean
  /** 0 = the connection was dropped before a status. */
  readonly status: number
  readonly end: End
  /** The latest usage reported; null = none was. */
  readonly usage: Usage | null
  /** Output tokens whose text went out, reported or not. */
  readonly delivered: number
}

export interface Stats {
  /** Answered or being answered, token counts not included. */
  readonly requests: number
  readonly open: number
  readonly ends: Readonly<Record<End, number>>
  /** Sum of all that was reported. */
  readonly usage: Readonly<Usage>
  /** The latest, oldest first, at most as many as `records` says. */
  readonly served: readonly Served[]
}

export class Books implements Stats {
  requests = 0
  open = 0
  readonly ends: Record<End, number> = { completed: 0, cut: 0, gone: 0, refused: 0 }
  readonly usage: Usage = noUsage()
  readonly #records: number
  #served: Served[] = []
  #count = 0

  constructor(records: number) {
    this.#records = records
  }

  get served(): readonly Served[] {
    return this.#served.slice(-this.#records)
  }

  begin(): void {
    this.requests++
    this.open++
  }

  end(served: Omit<Served, 'number'>): void {
    this.#total(served.end, served.usage)
    this.#count++
    this.#served.push({ number: this.#count, ...served })
    if (this.#served.length >= 2 * this.#records) this.#served = this.#served.slice(-this.#records)
  }

  /** A prepared answer: in the totals only. */
  endPrepared(usage: Usage | null): void {
    this.#total('completed', usage)
  }

  #total(end: End, usage: Usage | null): void {
    this.open--
    this.ends[end]++
    if (usage === null) return
    for (const name of Object.keys(this.usage) as (keyof Usage)[]) this.usage[name] += usage[name]
  }
}
