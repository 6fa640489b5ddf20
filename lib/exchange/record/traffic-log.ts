/**
 * Counts who sends requests and who is refused, by the hour, and writes the counts of the hour under way into the store again and
 * again: so an operator finds out why somebody was refused, and who asks far more than usual, whichever gateway it was and also after
 * a restart. Memory and rows are bounded whatever clients invent (`lib/base/top-counts.ts`). Counts that the store does not take
 * wait for the next round; beyond some hours the oldest are lost, and counted by `gateway_refusals_lost_total`.
 */
import { networkOf } from '../../base/network.ts'
import { type Clock, HOUR_MS } from '../../base/clock.ts'
import type { ErrorName } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import { Rounds } from '../../base/rounds.ts'
import { TopCounts } from '../../base/top-counts.ts'
import type { Store } from '../../store/store.ts'
import { StoreUnavailable } from '../../store/base/errors.ts'
import type { Metrics } from '../../terms/metrics.ts'
import { REFUSED_BY, type RefusedBy, SENDER_REASON, type Traffic } from '../../terms/traffic.ts'
import type { Exchange } from './exchange.ts'
import { addressOf } from './request.ts'

const ROUND_MS = 5_000
/** How many names of each kind are kept, of refusals with a reason each. */
const MOST_NAMES = 128
const MOST_HOURS = 24

interface Parts {
  store: { traffic: Pick<Store['traffic'], 'put'> }
  clock: Pick<Clock, 'now' | 'after'>
  metrics: Pick<Metrics, 'refusalsLost'>
  log: Pick<Logger, 'error'>
  /** Names this process in the store. */
  holder: string
}

class Hour {
  requests = 0
  readonly refused = new Map<ErrorName, number>()
  readonly senders = new TopCounts(MOST_NAMES)
  readonly by = Object.fromEntries(REFUSED_BY.map(by => [by, new TopCounts(MOST_NAMES)])) as Record<
    RefusedBy,
    TopCounts
  >
  /** Something was counted that the store does not have yet. */
  changed = true

  get refusals(): number {
    return [...this.refused.values()].reduce((sum, count) => sum + count, 0)
  }

  traffic(): Traffic {
    return {
      requests: this.requests,
      refused: Object.fromEntries(this.refused),
      senders: this.senders.table(),
      by: { account: this.by.account.table(), key: this.by.key.table(), address: this.by.address.table() },
    }
  }
}

export class TrafficLog {
  readonly #parts: Parts
  readonly #rounds: Rounds
  /** By the hour since 1970, the oldest first: the one under way, and those that the store has not taken. */
  readonly #hours = new Map<number, Hour>()

  constructor(parts: Parts) {
    this.#parts = parts
    this.#rounds = new Rounds(parts.clock as Clock, ROUND_MS, () => this.#write())
  }

  start(): void {
    this.#rounds.start()
  }

  /** Takes note of an exchange that is over, however it ended. */
  note(x: Exchange, nowMs: number): void {
    const hour = this.#hour(Math.floor(nowMs / HOUR_MS))
    const network = networkOf(addressOf(x))
    hour.changed = true
    hour.requests++
    hour.senders.add(network)
    const { refusal, entry } = x
    if (refusal === null) return
    hour.refused.set(refusal, (hour.refused.get(refusal) ?? 0) + 1)
    hour.by.address.add(network + SENDER_REASON + refusal)
    if (entry === null) return
    hour.by.account.add(entry.account.id + SENDER_REASON + refusal)
    hour.by.key.add(entry.key.id + SENDER_REASON + refusal)
  }

  #hour(number: number): Hour {
    const there = this.#hours.get(number)
    if (there !== undefined) return there
    const [oldest] = this.#hours
    if (oldest !== undefined && this.#hours.size >= MOST_HOURS) {
      this.#parts.metrics.refusalsLost('store', oldest[1].refusals)
      this.#hours.delete(oldest[0])
    }
    const begun = new Hour()
    this.#hours.set(number, begun)
    return begun
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    const { store, clock, log, holder } = this.#parts
    for (const [number, hour] of this.#hours) {
      if (hour.changed) {
        hour.changed = false
        try {
          await store.traffic.put({ hour: number, traffic: hour.traffic() }, holder)
        } catch (error) {
          hour.changed = true
          if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'counts of refusals are not kept')
          return
        }
      }
      if (!hour.changed && number < Math.floor(clock.now() / HOUR_MS)) this.#hours.delete(number)
    }
  }

  /** Writes what is left, once. */
  async stop(): Promise<void> {
    await this.#rounds.stop()
    await this.#write()
  }
}
