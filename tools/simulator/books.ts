/**
 * What the simulator has served: totals of everything, and the last requests one by one. A test compares the gateway's
 * books with these. Usage counts as it was reported in bytes that were sent.
 */
import type { Protocol } from '../../lib/protocols/names.ts'
import { noUsage, type Usage } from '../../lib/protocols/words/usage.ts'

/**
 * How a request ended. `cut`: the simulator broke it off or ended it early on purpose. `gone`: the other side left
 * first. `refused`: it got an error status, or its connection was dropped.
 */
export type End = 'completed' | 'cut' | 'gone' | 'refused'

/** One request that has ended. */
export interface Served {
  /** Counts up from 1 in the order in which requests ended. */
  readonly number: number
  /** The `id` of its directive; null = it has none. */
  readonly id: string | null
  readonly protocol: Protocol
  readonly model: string
  readonly stream: boolean
  /** 0 = the connection was dropped before a status. */
  readonly status: number
  readonly end: End
  /** The last usage that was reported; null = none was. */
  readonly usage: Usage | null
  /** Output tokens whose text was sent, whether they were reported or not. */
  readonly delivered: number
}

export interface Stats {
  /** Requests that were answered or are being answered, without counts of tokens. */
  readonly requests: number
  readonly open: number
  readonly ends: Readonly<Record<End, number>>
  /** The sum of all reported usage. */
  readonly usage: Readonly<Usage>
  /** The last requests, oldest first, at most as many as `records` says. */
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

  /** Enters a prepared answer, which is in the totals only. */
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
