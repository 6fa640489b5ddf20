/** What is counted of payments, in the form of `tallies.ts`. A part of the metrics. */

import { METRICS } from './metric-rows.ts'
import type { OrderMethod, PayExceptionKind, PayWay, ProofSource } from './pay.ts'
import { Histogram, type Sample, Tally } from './tallies.ts'

const SECOND_MS = 1_000

export class PayTallies {
  readonly callbacks = new Tally()
  readonly creditAge = new Histogram()
  readonly repairs = new Tally()
  readonly exceptions = new Tally()
  /** What a person has to look at, what is paid and not credited, and what is held, when they were last counted. */
  open = { exceptions: 0, uncredited: 0, held: 0 }
  /** The chain, as the process that reads it has last seen it. */
  chain = { head_block: 0, finalized_lag_blocks: 0, cursor_lag_seconds: 0 }
  /** For how long the certificates of each way to pay are still valid, when it was last looked at, in ms. */
  certificates: ReadonlyMap<OrderMethod, number> = new Map()
  readonly endpointErrors = new Tally()
  /** Payments that people credited without a provider's proof, by the latest audit; in micro-CNY. */
  byHand = 0

  callback(method: OrderMethod, verdict: string): void {
    this.callbacks.add(1, method, verdict)
  }

  credited(method: PayWay, ms: number): void {
    this.creditAge.observe(ms / SECOND_MS, method)
  }

  repaired(method: PayWay, source: ProofSource | 'chain'): void {
    this.repairs.add(1, method, source)
  }

  exception(method: PayWay, kind: PayExceptionKind): void {
    this.exceptions.add(1, method, kind)
  }

  /** `endpoint`: which of the nodes, by its place in the config. */
  endpointError(endpoint: number, kind: string): void {
    this.endpointErrors.add(1, String(endpoint), kind)
  }

  samples(id: Extract<keyof typeof METRICS, `pay${string}`>): Sample[] {
    const { name, labels } = METRICS[id]
    switch (id) {
      case 'payCallbacks':
        return this.callbacks.samples(labels)
      case 'payCreditAge':
        return this.creditAge.samples(name, labels)
      case 'payRepairs':
        return this.repairs.samples(labels)
      case 'payExceptions':
        return this.exceptions.samples(labels)
      case 'payEndpointErrors':
        return this.endpointErrors.samples(labels)
      case 'payCertificate':
        return [...this.certificates].map(([method, ms]) => ({ labels: { method }, value: Math.round(ms / SECOND_MS) }))
      case 'payOpen':
        return each(this.open)
      case 'payChain':
        return each(this.chain)
    }
  }
}

const each = (values: Record<string, number>): Sample[] =>
  Object.entries(values).map(([what, value]) => ({ labels: { what }, value }))
