/** What the till is given, and how it says what became of a notice. */
import type { OperationDeps } from '../operations/deps.ts'
import type { HoldConfig } from '../config/pay-schema.ts'
import type { OrderMethod, PayExceptionKind, PayWay, ProofSource } from '../terms/pay.ts'
import { type Act, GATEWAY } from '../base/people.ts'

/** What the till counts. */
export interface PayCounts {
  /** An order was credited this long after the proof was stored. */
  credited(method: PayWay, ms: number): void
  /** A proof came by asking: the callback was lost, or is late. */
  repaired(method: PayWay, source: ProofSource | 'chain'): void
  exception(method: PayWay, kind: PayExceptionKind): void
}

export type TillDeps = OperationDeps & {
  counts: PayCounts
  /** When new payments of a method are held, by the config in force; undefined = never. */
  hold: (method: OrderMethod) => HoldConfig | undefined
}

/**
 * `open`: an exception was written. `held`: the order is credited later. `early`: the notice is about money that is not credited yet, so it must come again.
 */
export type Taken = 'credited' | 'held' | 'known' | 'open' | 'early' | 'ended' | 'none'

/** What a provider proved, the gateway books in its name. */
export const provider = (method: PayWay, operation: string): Act => ({
  actor: { ...GATEWAY, name: method },
  operation,
})
