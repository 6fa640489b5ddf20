/** The log of usage and its sums, as they are asked and pruned. Requests are booked by `settle`, which stands with the books. */
import type { Driver, Row } from '../base/driver.ts'
import type {
  AccountKeys,
  AnswerMaker,
  FailingQuery,
  ModelDay,
  ModelFigures,
  ModelHour,
  Page,
  Paging,
  RequestFilter,
  Largest,
  LargestQuery,
  SummaryQuery,
  Sender,
  SendersQuery,
  SummaryRow,
  UsageFilter,
} from './queries.ts'
import { type BookedRow, answerKey } from './rows.ts'
import type { Micro } from '../../base/money.ts'
import { failingHours, modelDays, modelFigures } from './models.ts'
import { attemptsOf, readUsage, usageSlices } from './pages.ts'
import { prunable, pruneUsage, readMark } from './prune.ts'
import { rebuildSums } from './rebuild.ts'
import { requestPage, requestsOfId } from './requests.ts'
import { largestSums, summary } from './summary.ts'
import { count, integer, text } from '../base/text.ts'
import { DAY_HOURS, GRAIN, dayOf, hourOf } from './sums.ts'

/** The usage of all accounts: the log of requests, and its sums. */
export class UsageStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** Newest first. */
  page(filter: UsageFilter): Promise<BookedRow[]> {
    return readUsage(this.#driver, filter)
  }

  /** The attempts of a request that have rows of their own, in the order in which they were given up. */
  attemptsOf(requestId: string): Promise<BookedRow[]> {
    return attemptsOf(this.#driver, requestId)
  }

  /**
   * All rows of a filter, newest first, in slices. A slice is read when the caller asks for it; between two slices nothing
   * is held in the store.
   */
  slices(filter: Omit<UsageFilter, 'limit'>): AsyncGenerator<BookedRow[]> {
    return usageSlices(this.#driver, filter)
  }

  /** Requests, one row for each. A page without account-wide filters takes one range of an index. */
  requestPage(filter: RequestFilter, paging: Paging): Promise<Page<BookedRow>> {
    return requestPage(this.#driver, filter, paging)
  }

  /** Requests with this id, with this id of the client's own, or whose answer has this id; newest first, some dozens. */
  requestsOfId(whose: AccountKeys, id: string): Promise<BookedRow[]> {
    return requestsOfId(this.#driver, whose, id)
  }

  /** Totals of usage, in the order of `by`. Throws SummaryRefused. */
  summary(query: SummaryQuery): Promise<SummaryRow[]> {
    return summary(this.#driver, query)
  }

  /** At most `limit` stacks of such a report, those with the highest charges. */
  largest(query: LargestQuery, limit: number): Promise<Largest> {
    return largestSums(this.#driver, query, limit)
  }

  /** Every account or key that has sent requests lately, and what it usually sends. */
  senders(query: SendersQuery): Promise<Sender[]> {
    return sendersOf(this.#driver, query)
  }

  /** How all models fared since the beginning of an hour. */
  modelFigures(fromMs: number): Promise<ModelFigures[]> {
    return modelFigures(this.#driver, fromMs)
  }

  /** How the models of a group fared, day by day from the day of `fromMs` on, oldest first. */
  modelDays(group: string, fromMs: number): Promise<ModelDay[]> {
    return modelDays(this.#driver, group, fromMs)
  }

  /** Hours in which models of a group failed, newest first. */
  failingHours(group: string, query: FailingQuery): Promise<ModelHour[]> {
    return failingHours(this.#driver, group, query)
  }

  /** Puts sums right that are not what the rows come to, and returns how many were wrong. */
  rebuildSums(): Promise<number> {
    return rebuildSums(this.#driver)
  }

  /** Rows of requests before this moment, in ms since 1970, may have been deleted. */
  prunedBefore(): Promise<number> {
    return readMark({ query: (sql, params) => this.#driver.query('prunedBefore', sql, params) })
  }

  /** What `pruneUsage` would delete in all. */
  prunable(beforeMs: number): Promise<{ rows: number; charge: Micro }> {
    return prunable(this.#driver, beforeMs)
  }

  /** Deletes up to `limit` rows of requests before `beforeMs`, keeps their charges as sums, and returns how many. */
  prune(beforeMs: number, limit: number): Promise<number> {
    return pruneUsage(this.#driver, beforeMs, limit)
  }

  /** null when the account has no usage row with this `answerId`, or the answer cannot be continued. */
  async answerMaker(accountId: number, answerId: string): Promise<AnswerMaker | null> {
    const sql =
      'SELECT channel, upstream_key FROM usage_log WHERE account_id = ? AND answer_id = ? ORDER BY seq DESC LIMIT 1'
    const [row] = await this.#driver.query('answerMaker', sql, [accountId, answerKey(answerId)])
    // Only the newest is looked at: some upstreams give all their answers one id.
    if (row === undefined || row['upstream_key'] === null) return null
    return { channel: text(row, 'channel'), key: text(row, 'upstream_key') }
  }
}

// --- who sends how much

const SENDERS = {
  account: { id: 'account_id', hours: GRAIN.accountHour, days: GRAIN.accountDay },
  key: { id: 'key_id', hours: GRAIN.hour, days: GRAIN.keyDay },
} as const

/** Two ranges of the sums are read: the present by the hour, and the days before it by the day. */
const sendersOf = (driver: Driver, { by, nowMs, nowFromMs, days }: SendersQuery): Promise<Sender[]> =>
  driver.snapshot('senders', async tx => {
    const { id, hours, days: grain } = SENDERS[by]
    const sums = `${id} AS id, SUM(requests) AS requests, SUM(charge) AS charge`
    const range = 'FROM usage_sums WHERE grain = ? AND hour_no >= ?'
    const present = await tx.query(`SELECT ${sums} ${range} GROUP BY ${id}`, [hours, hourOf(nowFromMs)])
    const today = dayOf(hourOf(nowMs))
    const before = await tx.query(
      `SELECT ${sums}, COUNT(DISTINCT hour_no) AS days ${range} AND hour_no < ? GROUP BY ${id}`,
      [grain, today - days * DAY_HOURS, today],
    )
    const usual = new Map(before.map(row => [integer(row, 'id'), { ...sentOf(row), days: count(row, 'days') }]))
    return present.map(row => ({
      id: integer(row, 'id'),
      ...sentOf(row),
      usual: usual.get(integer(row, 'id')) ?? null,
    }))
  })

const sentOf = (row: Row) => ({ requests: count(row, 'requests'), charge: count(row, 'charge') })
