/**
 * Makes a report in the thread of exports: calls the operation as the main thread would, and writes its answer out. The
 * first piece says what follows.
 */
import { systemClock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import type { PurseId, Store } from '../store/store.ts'
import { OperationError } from './error.ts'
import { ownStatement } from './own-billing.ts'
import { ownChoices } from './own-choices.ts'
import { ownOverview } from './own-overview.ts'
import { ownRefusals, ownRequests } from './own-requests.ts'
import { ownUsage } from './own-usage.ts'

const REPORTS = {
  overview: ownOverview,
  usage: ownUsage,
  requests: ownRequests,
  refusals: ownRefusals,
  statement: ownStatement,
  choices: ownChoices,
} as const

export type ReportName = keyof typeof REPORTS
type Behind<T extends unknown[]> = T extends [unknown, ...infer R] ? R : never
export type ReportArguments<N extends ReportName> = Behind<Parameters<(typeof REPORTS)[N]>>

/** Plain data, for another thread. */
export interface ReportOrder {
  name: ReportName
  args: readonly unknown[]
  nowMs: number
  /** Of the purses that the report shows, and who holds it. */
  held: Map<PurseId, Micro>
  holders: string[]
}

export type ReportRefusal = Pick<OperationError, 'fault' | 'details' | 'fields'> & {
  message: ConstructorParameters<typeof OperationError>[1]
}

/** The first piece of a report. */
export type ReportHead = 'answered' | 'refused'

type AnyReport = (deps: object, ...args: readonly unknown[]) => Promise<object>

export default async function* (store: Store, order: ReportOrder): AsyncGenerator<string> {
  const { name, args, nowMs, held, holders } = order
  const fleet = { settled: async () => {}, held: async () => held, holders: async () => holders }
  const deps = { store, clock: { ...systemClock, now: () => nowMs }, fleet }
  const made = await (REPORTS[name] as AnyReport)(deps, ...args).then(
    answer => ['answered', answer] as const,
    (error: unknown) => {
      if (!(error instanceof OperationError)) throw error
      const { fault, words, message, details, fields } = error
      return ['refused', { fault, message: words ?? message, details, fields } satisfies ReportRefusal] as const
    },
  )
  yield made[0] satisfies ReportHead
  yield JSON.stringify(made[1])
}
