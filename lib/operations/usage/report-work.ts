/**
 * Makes a report in the thread of exports: calls the operation as the main thread would, and writes its answer out, as JSON
 * where it is no file. The first piece says what follows.
 */
import { systemClock } from '../../base/clock.ts'
import type { Micro } from '../../base/money.ts'
import type { Store } from '../../store/store.ts'
import type { PurseId } from '../../store/books/purses.ts'
import { OperationError } from '../error.ts'
import { KeyList } from '../accounts/key-list.ts'
import type { Keeper } from '../accounts/own-keys.ts'
import { Statements } from '../billing/statement.ts'
import type { Sent } from '../read.ts'
import { Requests } from './requests.ts'
import { busiestSenders, refusalCounts, refusedRequests } from './traffic.ts'
import { ownOverview, UsageSums, type UsageDeps } from './usage.ts'

type Of<F extends (...args: never[]) => unknown> = Parameters<F>

/** Each as the main thread would call it, behind what every operation is given. */
const REPORTS = {
  overview: ownOverview,
  usage: (deps: UsageDeps, ...args: Of<UsageSums['own']>) => new UsageSums(deps).own(...args),
  choices: (deps: UsageDeps, ...args: Of<UsageSums['choices']>) => new UsageSums(deps).choices(...args),
  requests: (deps: UsageDeps, ...args: Of<Requests['list']>) => new Requests(deps).list(...args),
  refusals: (deps: UsageDeps, ...args: Of<Requests['refusals']>) => new Requests(deps).refusals(...args),
  statement: (deps: UsageDeps, ...args: Of<Statements['own']>) => new Statements(deps).own(...args),
  keys: (deps: UsageDeps, keeper: Keeper, ...args: Of<KeyList['page']>) => new KeyList(deps, keeper).page(...args),
  log: (deps: UsageDeps, sent: Sent) => new Requests(deps).page(sent),
  refused: refusedRequests,
  refusalCounts,
  senders: busiestSenders,
  totals: (deps: UsageDeps, sent: Sent) => new UsageSums(deps).summary(sent),
} as const

const FILES = {
  usageFile: (deps: UsageDeps, ...args: Of<UsageSums['file']>) => new UsageSums(deps).file(...args),
  statementFile: (deps: UsageDeps, ...args: Of<Statements['file']>) => new Statements(deps).file(...args),
  ledgerFile: (deps: UsageDeps, ...args: Of<Statements['ledgerFile']>) => new Statements(deps).ledgerFile(...args),
  keysFile: (deps: UsageDeps, keeper: Keeper, ...args: Of<KeyList['file']>) => new KeyList(deps, keeper).file(...args),
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
  /** The money that is held of the purses which the report shows, and who holds it. */
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
