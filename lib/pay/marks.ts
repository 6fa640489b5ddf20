/**
 * What operators are shown of a provider's health: when it last answered a question, when it last did not, and how many
 * callbacks were not believed, by reason. It is in the store, so that every gateway shows the same; and it is written
 * rarely, so that forged callbacks and open pages cost the store nothing.
 */
import type { Clock } from '../base/clock.ts'
import type { Store } from '../store/store.ts'
import type { Logger } from '../base/log.ts'
import type { OrderMethod, PayWay } from '../terms/pay.ts'
import type { Verdict } from './callbacks.ts'
import { DOUBTS, type Doubt, ProviderAway, ProviderRefuses } from './method.ts'

/** A mark of one kind is written at most this often by one process. */
const EVERY_MS = 10_000

/** The names of marks. */
export const ANSWERED = 'query'
export const UNANSWERED = 'query_failed'
export const refusedMark = (doubt: Doubt): string => `refused_${doubt}`
/** Of USDT: the newest block and how many of them are not final; when a node last answered, and when it last did not. */
export const HEAD = 'head'
/** The day whose balances are compared with the deposits, and the last address or `BALANCES_DONE`. */
export const BALANCES = 'balances'
export const BALANCES_DONE = 'done'
export const nodeMark = (node: number): string => `node_${node}`
export const nodeFailedMark = (node: number): string => `node_${node}_failed`

interface MarkDeps {
  store: Store
  clock: Clock
  log: Logger
}

export class PayMarks {
  readonly #deps: MarkDeps
  /** When each was last written. */
  readonly #written = new Map<string, number>()
  /** Callbacks that were not believed and are not written yet; at most methods × doubts. */
  readonly #refused = new Map<string, { method: OrderMethod; doubt: Doubt; count: number }>()

  constructor(deps: MarkDeps) {
    this.#deps = deps
  }

  /** Asks a provider, and notes whether it answered. */
  async asked<T>(method: OrderMethod, ask: () => Promise<T>): Promise<T> {
    try {
      const said = await ask()
      await this.note(method, ANSWERED)
      return said
    } catch (error) {
      if (error instanceof ProviderAway || error instanceof ProviderRefuses) await this.note(method, UNANSWERED)
      throw error
    }
  }

  async note(method: PayWay, what: string, value = ''): Promise<void> {
    const now = this.#deps.clock.monotonic()
    const last = this.#written.get(`${method} ${what}`)
    if (last !== undefined && now - last < EVERY_MS) return
    this.#written.set(`${method} ${what}`, now)
    await this.#write(this.#deps.store.pay.setPayMark(method, what, value))
  }

  /** Counts a callback that was not believed. */
  count(method: OrderMethod, verdict: Verdict): void {
    const doubt = DOUBTS.find(known => known === verdict)
    if (doubt === undefined) return
    if (this.#refused.size === 0) this.#deps.clock.after(EVERY_MS, () => void this.#flush())
    const key = `${method} ${doubt}`
    const { count } = this.#refused.get(key) ?? { count: 0 }
    this.#refused.set(key, { method, doubt, count: count + 1 })
  }

  async #flush(): Promise<void> {
    const counted = [...this.#refused.values()]
    this.#refused.clear()
    for (const { method, doubt, count } of counted)
      await this.#write(this.#deps.store.pay.countPayMark(method, refusedMark(doubt), count))
  }

  /** Nothing depends on a mark, so a store that is away is no reason to fail. */
  async #write(written: Promise<void>): Promise<void> {
    await written.catch(error => this.#deps.log.warn({ err: error }, 'the health of a way to pay cannot be noted'))
  }
}
