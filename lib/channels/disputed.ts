/**
 * Rests of channels that report more than their requests can have caused. Such reports are not charged (`lib/pricing/bound.ts`), but
 * whoever runs the gateway may have to pay for them.
 *
 *   own     The account whose request it was does not ask the channel for the model for a minute, where another channel can serve it.
 *   all     Nobody does for a minute, when reports for five accounts, at least twenty and a tenth of all that the channel answered
 *           for the model, were too large within ten minutes. One customer alone closes no channel to others.
 *
 * None of these takes the last channel that can serve a model: wrong reports cost less than no answers.
 *
 * Each process counts what it has seen itself; the rests that follow are known to all of its gateway.
 */
import { latest } from '../base/lru.ts'
import { type Health, placeOf } from './health.ts'
import type { Candidate, Route } from '../world/table.ts'
import { SlidingCount } from '../base/sliding-count.ts'

const REST_MS = 60_000
const WINDOW_MS = 600_000
const FEWEST_ACCOUNTS = 5
const FEWEST_ANSWERS = 20
const SHARE = 0.1
const MOST_CHANNELS = 10_000
const MOST_MODELS = 1000

class Counts {
  readonly answers = new SlidingCount(WINDOW_MS)
  readonly disputed = new SlidingCount(WINDOW_MS)
  /** The time at which each of the latest accounts was last concerned. */
  readonly accounts = latest<number, number>(FEWEST_ACCOUNTS)

  /** True when there are so many, so often, that it is the channel and not its customers. */
  concernsAll(nowMs: number): boolean {
    const disputed = this.disputed.sum(nowMs)
    if (disputed < FEWEST_ANSWERS || disputed < SHARE * this.answers.sum(nowMs)) return false
    let accounts = 0
    for (const atMs of this.accounts.values()) if (nowMs - atMs < WINDOW_MS) accounts++
    return accounts >= FEWEST_ACCOUNTS
  }
}

/** An answer, by its account, and the ways by which requests reach the channel for the model. */
interface DisputedAnswer {
  account: number
  candidate: Candidate
  /** The way of this request; null = it can only be sent where it was. */
  route: Route | null
  /** All ways on which the channel is asked for the model. */
  routes: () => Iterable<Route>
}

export class DisputeRests {
  readonly #health: Health
  readonly #channels = latest<string, ReturnType<typeof latest<string, Counts>>>(MOST_CHANNELS)

  constructor(health: Health) {
    this.#health = health
  }

  /** An answer was charged, whatever it reported. */
  answered({ channel, upstreamModel }: Candidate, nowMs: number): void {
    this.#countsOf(channel.name, upstreamModel).answers.add(nowMs)
  }

  /** An answer reported too much, too. Returns `kept` when all should rest, and nobody else could serve the model. */
  disputed({ account, candidate, route, routes }: DisputedAnswer): 'rests' | 'kept' | null {
    const { channel, upstreamModel } = candidate
    const now = this.#health.clock.monotonic()
    const counts = this.#countsOf(channel.name, upstreamModel)
    counts.disputed.add(now)
    counts.accounts.set(account, now)
    if (counts.concernsAll(now)) {
      for (const one of routes()) if (!this.#hasOther(one, channel.name, null, now)) return 'kept'
      this.#health.rests.rest(null, channel.name, upstreamModel, REST_MS, 'disputed')
      return 'rests'
    }
    if (route === null || !this.#hasOther(route, channel.name, account, now)) return null
    this.#health.rests.rest(account, channel.name, upstreamModel, REST_MS, 'disputed')
    return 'rests'
  }

  #countsOf(channel: string, model: string): Counts {
    let models = this.#channels.get(channel)
    if (models === undefined) this.#channels.set(channel, (models = latest<string, Counts>(MOST_MODELS)))
    let counts = models.get(model)
    if (counts === undefined) models.set(model, (counts = new Counts()))
    return counts
  }

  /** True when another channel can serve the account; null = everybody. */
  #hasOther({ tiers }: Route, channel: string, account: number | null, nowMs: number): boolean {
    return tiers.some(tier => tier.some(one => one.channel.name !== channel && this.#isUsable(one, account, nowMs)))
  }

  #isUsable({ channel, upstreamModel }: Candidate, account: number | null, nowMs: number): boolean {
    const health = this.#health.of(channel)
    if (!channel.enabled || !health.mayAsk(nowMs)) return false
    const rests = (key: string) =>
      this.#health.rests.restOf({ channel: channel.name, key, model: upstreamModel }, account ?? NOBODY, nowMs) !== null
    return !rests('') && health.keys.some(key => !rests(placeOf(health, key, upstreamModel).key))
  }
}

/** No account has this id: what rests for it rests for all. */
const NOBODY = -1
