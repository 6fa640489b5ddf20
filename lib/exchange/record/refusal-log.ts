/**
 * Keeps refusals of known keys in the store for some days, so that an operator finds out why a request was refused. Refusing
 * never waits for it: a refusal is put into a queue, and a moment later the whole queue is written at once. The queue is
 * bounded. What finds no room, or is not taken by the store, is lost and counted by `gateway_refusals_lost_total`.
 *
 * Of each key and reason at most ten are kept in a minute. The store makes sure of it for all gateways together; here the same
 * limit keeps a client that is refused all the time from filling the queue, and a limit for each account one that has many keys.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { Clock } from '../../base/clock.ts'
import { timeOfId } from '../../base/ids.ts'
import type { Store } from '../../store/store.ts'
import type { RefusedRequest } from '../../store/usage/queries.ts'
import { StoreUnavailable } from '../../store/base/errors.ts'
import type { ErrorName } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import type { Metrics } from '../../terms/metrics.ts'
import type { Exchange } from './exchange.ts'
import { addressOf } from './request.ts'

const MOST_WAITING = 1_000
const MOST_A_MINUTE = 10
/** How many pairs of key and reason are told apart in a minute. */
const MOST_COUNTED = 10_000
/** How many of one account are kept in a minute: it fills neither the queue nor what is told apart, so that the refusals of others are kept. */
const MOST_OF_ACCOUNT = 500
const MINUTE_MS = 60_000
const WRITE_AFTER_MS = 200
const AGAIN_AFTER_MS = 1_000

interface Parts {
  store: { refusals: Pick<Store['refusals'], 'record'> }
  clock: Pick<Clock, 'now' | 'after'>
  metrics: Pick<Metrics, 'refusalsLost'>
  log: Pick<Logger, 'error'>
}

export class RefusalLog {
  readonly #parts: Parts
  #waiting: RefusedRequest[] = []
  /** A write is under way, or the timer of the next one runs. */
  #busy = false
  #counted = new Map<string, number>()
  #accounts = new Map<number, number>()
  #minute = 0
  #cancel: (() => void) | null = null
  #writing: Promise<void> | null = null

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Takes note of an exchange that was refused before any upstream was asked for it. */
  note(x: Exchange, { account, key }: KeyEntry, reason: ErrorName): void {
    if (!this.#isWanted(`${key.id} ${reason}`, account.id)) return
    if (this.#waiting.length >= MOST_WAITING) {
      this.#parts.metrics.refusalsLost('queue_full', 1)
      return
    }
    const { id, model, status } = x
    const of = { requestId: id, accountId: account.id, keyId: key.id }
    this.#waiting.push({ ...of, atMs: timeOfId(id), model, reason, status, address: addressOf(x) })
    if (!this.#busy) this.#writeAfter(WRITE_AFTER_MS)
  }

  #isWanted(pair: string, accountId: number): boolean {
    const minute = Math.floor(this.#parts.clock.now() / MINUTE_MS)
    if (minute !== this.#minute) {
      this.#minute = minute
      this.#counted.clear()
      this.#accounts.clear()
    }
    const before = this.#counted.get(pair)
    if (before === MOST_A_MINUTE) return false
    const own = this.#accounts.get(accountId) ?? 0
    if (own === MOST_OF_ACCOUNT || (before === undefined && this.#counted.size >= MOST_COUNTED)) {
      this.#parts.metrics.refusalsLost('queue_full', 1)
      return false
    }
    this.#accounts.set(accountId, own + 1)
    this.#counted.set(pair, (before ?? 0) + 1)
    return true
  }

  #writeAfter(ms: number): void {
    this.#busy = true
    this.#cancel = this.#parts.clock.after(ms, () => {
      this.#writing = this.#write(true)
    })
  }

  /** Never rejects. `again`: what an engine that is away does not take is written later. */
  async #write(again: boolean): Promise<void> {
    this.#cancel = null
    const batch = this.#waiting
    this.#waiting = []
    let isAway = false
    try {
      await this.#parts.store.refusals.record(batch)
    } catch (error) {
      isAway = error instanceof StoreUnavailable
      if (isAway && again) this.#putBack(batch)
      else this.#lose(batch.length, error)
    }
    this.#busy = false
    if (again && this.#waiting.length > 0) this.#writeAfter(isAway ? AGAIN_AFTER_MS : WRITE_AFTER_MS)
  }

  #putBack(batch: readonly RefusedRequest[]): void {
    const room = MOST_WAITING - this.#waiting.length
    if (batch.length > room) this.#parts.metrics.refusalsLost('queue_full', batch.length - room)
    this.#waiting = [...batch.slice(0, room), ...this.#waiting]
  }

  #lose(count: number, error: unknown): void {
    this.#parts.metrics.refusalsLost('store', count)
    this.#parts.log.error({ err: error, refusals: count }, 'refusals are not kept')
  }

  /** Writes what is waiting, once. */
  async stop(): Promise<void> {
    await this.#writing
    this.#cancel?.()
    if (this.#waiting.length > 0) await this.#write(false)
  }
}
