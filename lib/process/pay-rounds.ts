/**
 * Asking payment providers back, in one process of a gateway. The code is loaded only when the config has a way to pay. Bills
 * are compared beside it, because a long one takes minutes, and the chain is read beside both.
 */
import { Rounds } from '../base/rounds.ts'
import type { PaymentParts, PaymentService } from '../pay/service.ts'
import { PAY_WAYS } from '../terms/pay.ts'
import { lazyDesk } from './pay-visits.ts'

const EVERY_MS = 5_000
const BILLS_EVERY_MS = 60_000
/** Blocks become final within two seconds. */
const CHAIN_EVERY_MS = 4_000

export class PayRounds {
  readonly #parts: PaymentParts
  readonly #rounds: Rounds
  readonly #bills: Rounds
  readonly #chain: Rounds
  readonly #desk: () => Promise<PaymentService>

  constructor(parts: PaymentParts) {
    const { clock } = parts
    this.#parts = parts
    this.#desk = lazyDesk(parts)
    this.#rounds = new Rounds(clock, EVERY_MS, () => this.#run(desk => desk.round(() => this.#rounds.stopped)))
    this.#bills = new Rounds(clock, BILLS_EVERY_MS, () => this.#run(desk => desk.bills(() => this.#bills.stopped)))
    this.#chain = new Rounds(clock, CHAIN_EVERY_MS, () => this.#run(desk => desk.chain(() => this.#chain.stopped)))
  }

  start(): void {
    this.#rounds.start()
    this.#bills.start()
    this.#chain.start()
  }

  stop(): void {
    void this.#rounds.stop()
    void this.#bills.stop()
    void this.#chain.stop()
  }

  async #run(work: (desk: PaymentService) => Promise<void>): Promise<void> {
    const config = this.#parts.config()
    if (!PAY_WAYS.some(name => config.pay[name] !== undefined)) return
    try {
      await work(await this.#desk())
    } catch (error) {
      if (!this.#rounds.stopped) this.#parts.log.error({ err: error }, 'asking payment providers failed')
    }
  }
}
