/**
 * The leases of caps and budgets. A limit that renews has a purse for each period, so at the beginning of a period
 * every request would need a lease of a new purse. For the limits in use this process asks for these leases shortly
 * before, some at a time. So hardly a request waits for the store at midnight, and when the store goes away around midnight,
 * requests go on as far as the prepared leases reach. A limit that was not used in the minutes before midnight, or whose
 * lease could not be had because the store was away all that time, needs the store: its requests are refused until it answers.
 */
import type { Clock } from '../base/clock.ts'
import { type Every, type Period, periodAt, periodName } from '../base/periods.ts'
import { Rounds } from '../base/rounds.ts'
import { limitPurse, type PurseId, type Store } from '../store/store.ts'
import { everyAt, type Limit } from '../terms/records.ts'
import type { Lease } from './lease.ts'
import type { Leases } from './leases.ts'

/** `k`: the cap of a key. `b`: the budget of an account. */
export type LimitKind = 'k' | 'b'

const EVERY_MS = 5_000
/**
 * How long before the end of a period the leases of the next one are asked for. A lease that is not used for a minute is
 * given back (`forget.ts`), so an earlier time would be of no use.
 */
const AHEAD_MS = 45_000
/** The most calls of the store at once. */
const AT_ONCE = 8

export interface LimitLeasesOptions {
  store: Store
  clock: Clock
  leases: Leases
  /** The store's time, as this process knows it, in ms since 1970. */
  now: () => number
}

interface Named {
  period: Period
  name: string
}

export class LimitLeases {
  readonly #o: LimitLeasesOptions
  readonly #rounds: Rounds
  /** The two periods of each kind that were computed last: the running one and perhaps the next. */
  readonly #named: Record<Every, Named[]> = { day: [], week: [], month: [] }

  constructor(options: LimitLeasesOptions) {
    this.#o = options
    this.#rounds = new Rounds(options.clock, EVERY_MS, () => this.#prepare())
  }

  start(): void {
    this.#rounds.start()
  }

  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  /** The lease that a request now needs for a cap or budget. */
  of(kind: LimitKind, id: number, limit: Limit): Lease {
    const lease = this.#o.leases.of(this.purse(kind, id, limit))
    lease.limit = limit
    return lease
  }

  /** The purse in which a limit counts now, or at another moment. */
  purse(kind: LimitKind, id: number, limit: Limit, atMs?: number): PurseId {
    if (limit.every === null) return limitPurse(kind, id, null)
    const moment = atMs ?? this.#o.now()
    return limitPurse(kind, id, this.#at(everyAt(limit, moment) as Every, moment).name)
  }

  #at(every: Every, atMs: number): Named {
    for (const known of this.#named[every]) if (atMs >= known.period.beginMs && atMs < known.period.endMs) return known
    const period = periodAt(every, atMs, this.#o.store.zone)
    const named = { period, name: periodName(period) }
    this.#named[every] = [named, ...this.#named[every].slice(0, 1)]
    return named
  }

  /** Asks for leases of the next periods, where they are near. Never rejects. */
  async #prepare(): Promise<void> {
    const due = this.#due()
    const next = async () => {
      for (let pair = due.pop(); pair !== undefined && !this.#rounds.stopped; pair = due.pop())
        await pair[1].prepare(pair[0].ahead)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, next))
  }

  /** The leases of limits whose period ends soon, each with the lease of the next period. */
  #due(): [lease: Lease, next: Lease][] {
    const { leases, now } = this.#o
    const soon = now() + AHEAD_MS
    const due: [Lease, Lease][] = []
    for (const lease of [...leases]) {
      const { limit, purse } = lease
      if (limit === null || limit.every === null) continue
      const [kind, id] = [purse[0] as LimitKind, Number.parseInt(purse.slice(1), 10)]
      if (purse !== this.purse(kind, id, limit)) continue // of an earlier period, or prepared already
      const nextPurse = this.purse(kind, id, limit, soon)
      if (nextPurse === purse) continue
      const next = leases.of(nextPurse)
      if (next.known === null) due.push([lease, next])
    }
    return due
  }
}
