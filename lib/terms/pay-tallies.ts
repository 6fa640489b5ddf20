/** What is counted of payments, in the form of `tallies.ts`. */
import type { OrderMethod, PayExceptionKind, ProofSource } from './pay.ts'
import { Histogram, Tally } from './tallies.ts'

const SECOND_MS = 1_000

export class PayTallies {
  readonly callbacks = new Tally()
  readonly creditAge = new Histogram()
  readonly repairs = new Tally()
  readonly exceptions = new Tally()
  /** What a person has to look at, and what is paid and not credited, when they were last counted. */
  open = { exceptions: 0, uncredited: 0 }

  callback(method: OrderMethod, verdict: string): void {
    this.callbacks.add(1, method, verdict)
  }

  credited(method: OrderMethod, ms: number): void {
    this.creditAge.observe(ms / SECOND_MS, method)
  }

  repaired(method: OrderMethod, source: ProofSource): void {
    this.repairs.add(1, method, source)
  }

  exception(method: OrderMethod, kind: PayExceptionKind): void {
    this.exceptions.add(1, method, kind)
  }
}
