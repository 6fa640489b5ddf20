/**
 * The end of a way to pay whose config has certificates. Operators are told ahead of it; after it nothing is ordered, while what was
 * ordered before is still credited, refunded and compared as long as the provider answers.
 */
import type { Logger } from '../terms/log.ts'
import type { OrderMethod } from '../terms/pay.ts'
import { type PayMethod, ProviderRefuses, type Validity } from './method.ts'

const DAY_MS = 86_400_000
const SOON_MS = 30 * DAY_MS

const RENEW = 'get new certificates from the provider, and put them into the config'

/** Throws ProviderRefuses after the end. Whether it is too early, the provider decides: it has the better clock. */
export function checkNotEnded({ untilMs }: Validity, nowMs: number): void {
  if (nowMs > untilMs)
    throw new ProviderRefuses(`the certificates of the config ended at ${new Date(untilMs).toISOString()}: ${RENEW}`)
}

/** Whether operators have to do something about it. */
export const endsSoon = ({ untilMs }: Validity, nowMs: number): boolean => nowMs > untilMs - SOON_MS

/** Tells operators of certificates that end soon, have ended, or are not valid yet: once a day, and when others are in their place. */
export class ValidityWatch {
  readonly #log: Logger
  readonly #told = new Map<OrderMethod, { validity: Validity; atMs: number }>()

  constructor(log: Logger) {
    this.#log = log
  }

  look(methods: Iterable<PayMethod>, nowMs: number): void {
    for (const { name, validity } of methods) {
      const told = this.#told.get(name)
      if (validity == null || (told?.validity === validity && nowMs - told.atMs < DAY_MS)) continue
      this.#told.set(name, { validity, atMs: nowMs })
      this.#tell(name, validity, nowMs)
    }
  }

  #tell(method: OrderMethod, validity: Validity, nowMs: number): void {
    const [from, until] = [validity.fromMs, validity.untilMs].map(ms => new Date(ms).toISOString())
    if (nowMs > validity.untilMs) this.#log.error({ method, until }, `certificates have ended: ${RENEW}`)
    else if (endsSoon(validity, nowMs)) this.#log.warn({ method, until }, `certificates end soon: ${RENEW}`)
    else if (nowMs < validity.fromMs)
      this.#log.error({ method, from }, 'certificates are not valid yet: is the clock of this machine right?')
  }
}
