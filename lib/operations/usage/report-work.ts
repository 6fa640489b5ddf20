/**
 * Makes a report in the thread of exports: calls the operation as the main thread would, and writes its answer out, as JSON
 * where it is no file. The first piece says what follows.
 */
import { systemClock } from '../../base/clock.ts'
import type { Micro } from '../../base/money.ts'
import type { Store } from '../../store/store.ts'
import type { PurseId } from '../../store/books/purses.ts'
import type { Account } from '../../terms/records.ts'
import { OperationError } from '../error.ts'
import { Statements } from '../billing/statement.ts'
import { ownChoices } from './own-choices.ts'
import { ownOverview } from './own-overview.ts'
import { ownRefusals, ownRequests } from './own-requests.ts'
import { ownUsage } from './own-usage.ts'
import { ownUsageFile } from './own-usage-file.ts'
import type { Sent } from '../read.ts'
import { Usage } from './usage.ts'

type StatementDeps = ConstructorParameters<typeof Statements>[0]
type LogDeps = ConstructorParameters<typeof Usage>[0]

const REPORTS = {
  overview: ownOverview,
  usage: ownUsage,
  requests: ownRequests,
  refusals: ownRefusals,
  statement: (deps: StatementDeps, account: Account, month: string) => new Statements(deps).own(account, month),
  choices: ownChoices,
  log: (deps: LogDeps, sent: Sent) => new Usage(deps).page(sent),
  totals: (deps: LogDeps, sent: Sent) => new Usage(deps).summary(sent),
} as const

const FILES = {
  usageFile: ownUsageFile,
  statementFile: (deps: StatementDeps, ...args: Parameters<Statements['file']>) => new Statements(deps).file(...args),
} as const

export type ReportName = keyof typeof REPORTS
export type FileName = keyof typeof FILES
type Behind<T extends unknown[]> = T extends [unknown, ...infer R] ? R : never
export type ReportArguments<N extends ReportName | FileName> = Behind<Parameters<(typeof REPORTS & typeof FILES)[N]>>

/** Plain data, for another thread. */
export interface ReportOrder {
  name: ReportName | FileName
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

type AnyReport = (deps: object, ...args: readonly unknown[]) => Promise<object | AsyncGenerator<string>>

export default async function* (store: Store, order: ReportOrder): AsyncGenerator<string> {
  const { name, args, nowMs, held, holders } = order
  const fleet = { settled: async () => {}, held: async () => held, holders: async () => holders }
  const deps = { store, clock: { ...systemClock, now: () => nowMs }, fleet }
  const made = await ({ ...REPORTS, ...FILES }[name] as AnyReport)(deps, ...args).then(
    answer => ['answered', answer] as const,
    (error: unknown) => {
      if (!(error instanceof OperationError)) throw error
      const { fault, words, message, details, fields } = error
      return ['refused', { fault, message: words ?? message, details, fields } satisfies ReportRefusal] as const
    },
  )
  yield made[0] satisfies ReportHead
  const [, answer] = made
  if (Symbol.asyncIterator in answer) yield* answer
  else yield JSON.stringify(answer)
}
