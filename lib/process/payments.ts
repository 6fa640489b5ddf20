/**
 * Payments in one process of a gateway: the addresses of the callbacks of payment providers, and the rounds in which they are
 * asked back. The code is loaded at the first callback, and only when the config has a way to pay.
 */
import { Rounds } from '../base/rounds.ts'
import type { Config } from '../config/config.ts'
import type { Pages } from '../exchange/listener/server.ts'
import type { CallbackServer } from '../pay/callback-server.ts'
import type { PaymentParts, PaymentService } from '../pay/service.ts'
import { CHECKOUT_METHODS, PAY_METHODS } from '../terms/pay.ts'

/** Returns a function that makes the desk at its first call. */
export function lazyDesk(parts: PaymentParts): () => Promise<PaymentService> {
  let desk: Promise<PaymentService> | null = null
  return () => (desk ??= import('../pay/service.ts').then(({ PaymentService }) => new PaymentService(parts)))
}

const METHOD = /^\/pay\/([\w-]+)\/?$/

export function payVisits({ clock, log, config }: PaymentParts, desk: () => Promise<PaymentService>): Pages {
  let server: Promise<CallbackServer> | null = null
  const load = async () => {
    const [{ CallbackServer }, opened] = await Promise.all([import('../pay/callback-server.ts'), desk()])
    return new CallbackServer(opened, clock, log)
  }
  return (req, res) => {
    const name = METHOD.exec(req.url as string)?.[1]
    if (name === undefined || req.method !== 'POST' || !isConfigured(config(), name)) return false
    ;(server ??= load())
      .then(loaded => loaded.serve(name, req, res))
      .catch(error => {
        log.error({ err: error }, 'callbacks cannot be taken')
        res.destroy()
      })
    return true
  }
}

/** Whether there is a way to pay of this name, and the config has its section. */
const isConfigured = ({ pay }: Config, name: string): boolean =>
  CHECKOUT_METHODS.some(method => method === name && pay[method] !== undefined)

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
    if (!PAY_METHODS.some(name => config.pay[name] !== undefined)) return
    try {
      await work(await this.#desk())
    } catch (error) {
      if (!this.#rounds.stopped) this.#parts.log.error({ err: error }, 'asking payment providers failed')
    }
  }
}
