/**
 * The right to an uncovered request: one whose account can pay what is held for it, and not the worst case. An account has one
 * such request open at a time, over all gateways, so that it can end below zero by one answer, and not by as many as it asks for
 * at once. The store gives the right for half a minute; it is renewed while the request is open, given back when it ends, and
 * that of a dead process ends by itself.
 */
import type { Clock } from '../../base/clock.ts'
import { Rounds } from '../../base/rounds.ts'
import type { StoreHealth } from '../../store/health.ts'
import type { Store } from '../../store/store.ts'
import { StoreUnavailable } from '../../store/base/errors.ts'
import type { Logger } from '../../base/log.ts'

const LEASE_MS = 30_000
const RENEW_MS = 10_000

interface Parts {
  store: Pick<Store, 'uncovered'>
  clock: Clock
  health: StoreHealth
  log: Pick<Logger, 'error'>
}

export class Uncovered {
  readonly #parts: Parts
  readonly #rounds: Rounds
  /** Accounts whose right this process has or asks for → the ticket. */
  readonly #open = new Map<number, string>()
  /** Rights on their way back. */
  readonly #giving = new Map<number, Promise<void>>()

  constructor(parts: Parts) {
    this.#parts = parts
    this.#rounds = new Rounds(parts.clock, RENEW_MS, () => this.#renew())
  }

  start(): void {
    this.#rounds.start()
  }

  async stop(): Promise<void> {
    await this.#rounds.stop()
    await Promise.all(this.#giving.values())
  }

  /** The number of such requests that are open here. */
  get size(): number {
    return this.#open.size
  }

  /** True when this process has a request of the account open that is not covered. */
  has(accountId: number): boolean {
    return this.#open.has(accountId)
  }

  /**
   * Takes the right for the exchange with this id. False: another request of the account has it. Throws StoreUnavailable when the
   * store does not answer in time; a right that it gives after that goes back.
   */
  async take(accountId: number, ticket: string): Promise<boolean> {
    const { health } = this.#parts
    if (this.#open.has(accountId)) return false
    if (health.state !== 'ok') throw new StoreUnavailable(`the store is ${health.state}`)
    this.#open.set(accountId, ticket)
    const asked = this.#take(accountId, ticket)
    try {
      return await health.within(health.watch(asked))
    } catch (error) {
      void asked.then(taken => taken && this.give(accountId, ticket)).catch(() => {})
      throw error
    }
  }

  async #take(accountId: number, ticket: string): Promise<boolean> {
    let taken = false
    try {
      await this.#giving.get(accountId)
      taken = await this.#parts.store.uncovered.take(accountId, ticket, LEASE_MS)
      return taken
    } finally {
      if (!taken) this.#open.delete(accountId)
    }
  }

  /** Gives the right back, if this exchange has it. */
  give(accountId: number, ticket: string): void {
    if (this.#open.get(accountId) !== ticket) return
    this.#open.delete(accountId)
    const giving = this.#give(accountId, ticket).finally(() => {
      if (this.#giving.get(accountId) === giving) this.#giving.delete(accountId)
    })
    this.#giving.set(accountId, giving)
  }

  async #give(accountId: number, ticket: string): Promise<void> {
    try {
      await this.#parts.store.uncovered.giveBack(accountId, ticket)
    } catch (error) {
      this.#failed(error) // it ends by itself
    }
  }

  async #renew(): Promise<void> {
    if (this.#open.size === 0) return
    try {
      await this.#parts.store.uncovered.keep([...this.#open.values()], LEASE_MS)
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) this.#parts.log.error({ err: error }, 'the store failed at a right')
  }
}
