/**
 * The end of a way to pay whose config has certificates. Operators are told ahead of it; after it nothing is ordered, while what was
 * ordered before is still credited, refunded and compared as long as the provider answers.
 */
import type { Logger } from '../base/log.ts'
import type { OrderMethod } from '../terms/pay.ts'
import { type PayMethod, ProviderRefuses, type Validity } from './method.ts'

const DAY_MS = 86_400_000
const SOON_MS = 30 * DAY_MS

/** Throws ProviderRefuses after the end. Whether it is too early, the provider decides: it has the better clock. */
export function checkNotEnded(validity: Validity, nowMs: number): void {
  if (nowMs > validity.untilMs) throw new ProviderRefuses((remarkOn(validity, nowMs) as Remark).text)
}

/** Whether operators have to do something about it. */
export const endsSoon = ({ untilMs }: Validity, nowMs: number): boolean => nowMs > untilMs - SOON_MS

interface Remark {
  level: 'warn' | 'error'
  text: string
}

/** What operators are told; null = nothing. */
export function remarkOn(validity: Validity, nowMs: number): Remark | null {
  const [from, until] = [validity.fromMs, validity.untilMs].map(ms => new Date(ms).toISOString())
  const renew = 'get new ones from the provider, and put them into the config'
  if (nowMs > validity.untilMs) return { level: 'error', text: `the certificates have ended at ${until}: ${renew}` }
  if (endsSoon(validity, nowMs)) return { level: 'warn', text: `the certificates end at ${until}: ${renew}` }
  if (nowMs >= validity.fromMs) return null
  return { level: 'error', text: `the certificates are valid from ${from}: is the clock of this machine right?` }
}

/** How long the certificates of each way to pay are still valid, in ms. */
export const leftOf = (methods: Iterable<PayMethod>, nowMs: number): Map<OrderMethod, number> =>
  new Map([...methods].flatMap(({ name, validity }) => (validity == null ? [] : [[name, validity.untilMs - nowMs]])))

/** Tells operators once a day, and when other certificates are in their place. */
export class ValidityWatch {
  readonly #log: Logger
  readonly #told = new Map<OrderMethod, { validity: Validity; atMs: number }>()

  constructor(log: Logger) {
    this.#log = log
  }

  look(methods: Iterable<PayMethod>, nowMs: number): void {
    for (const { name: method, validity } of methods) {
      const told = this.#told.get(method)
      if (validity == null || (told?.validity === validity && nowMs - told.atMs < DAY_MS)) continue
      this.#told.set(method, { validity, atMs: nowMs })
      const remark = remarkOn(validity, nowMs)
      if (remark !== null) this.#log[remark.level]({ method }, remark.text)
    }
  }
}
