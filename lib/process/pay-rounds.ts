/**
 * Asking payment providers back, in one process of a gateway. The code is loaded only when the config has a way to pay. Bills
 * are compared beside it, because a long one takes minutes.
 */
import { Rounds } from '../base/rounds.ts'
import type { Desk, DeskParts } from '../pay/desk.ts'
import { PAY_METHODS } from '../terms/pay.ts'
import { isConfigured, lazyDesk } from './pay-visits.ts'

const EVERY_MS = 5_000
const BILLS_EVERY_MS = 60_000

export class PayRounds {
  readonly #parts: DeskParts
  readonly #rounds: Rounds
  readonly #bills: Rounds
  readonly #desk: () => Promise<Desk>

  constructor(parts: DeskParts) {
    const { clock } = parts
    this.#parts = parts
    this.#desk = lazyDesk(parts)
    this.#rounds = new Rounds(clock, EVERY_MS, () => this.#run(desk => desk.round(() => this.#rounds.stopped)))
    this.#bills = new Rounds(clock, BILLS_EVERY_MS, () => this.#run(desk => desk.bills(() => this.#bills.stopped)))
  }

  start(): void {
    this.#rounds.start()
    this.#bills.start()
  }

  stop(): void {
    void this.#rounds.stop()
    void this.#bills.stop()
  }

  async #run(work: (desk: Desk) => Promise<void>): Promise<void> {
    const config = this.#parts.config()
    if (!PAY_METHODS.some(name => isConfigured(config, name))) return
    try {
      await work(await this.#desk())
    } catch (error) {
      if (!this.#rounds.stopped) this.#parts.log.error({ err: error }, 'asking payment providers failed')
    }
  }
}
