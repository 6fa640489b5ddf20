/**
 * Asking payment providers back, in one process of a gateway. The code is loaded only when the config has a way to pay.
 */
import { Rounds } from '../base/rounds.ts'
import type { Desk, DeskParts } from '../pay/desk.ts'

const EVERY_MS = 5_000

export class PayRounds {
  readonly #parts: DeskParts
  readonly #rounds: Rounds
  #desk: Promise<Desk> | null = null

  constructor(parts: DeskParts) {
    this.#parts = parts
    this.#rounds = new Rounds(parts.clock, EVERY_MS, () => this.#run())
  }

  start(): void {
    this.#rounds.start()
  }

  stop(): void {
    void this.#rounds.stop()
  }

  async #run(): Promise<void> {
    const { alipay, wechat, card, usdt } = this.#parts.config().pay
    if ((alipay ?? wechat ?? card ?? usdt) === undefined) return
    try {
      this.#desk ??= import('../pay/desk.ts').then(({ Desk }) => new Desk(this.#parts))
      await (await this.#desk).round(() => this.#rounds.stopped)
    } catch (error) {
      if (!this.#rounds.stopped) this.#parts.log.error({ err: error }, 'asking payment providers failed')
    }
  }
}
