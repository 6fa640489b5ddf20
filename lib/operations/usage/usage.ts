/**
 * Operations on usage: pages of the log, totals, exports of any size, and one request by its id.
 * `usage-filter.ts` has what callers may send, `usage-shown.ts` what they see.
 */
import { isRequestId, timeOfId } from '../../base/ids.ts'
import { latest } from '../../base/lru.ts'
import { periodAt } from '../../base/periods.ts'
import { SummaryRefused } from '../../store/usage/queries.ts'
import type { BookedRow } from '../../store/usage/rows.ts'
import type { Pieces } from '../../store/export-thread.ts'
import type { OperationDeps } from '../deps.ts'
import { shownDispute } from '../billing/disputes.ts'
import { OperationError } from '../error.ts'
import { read, type Sent } from '../read.ts'
import { type ExportFormat, exportUsage } from './usage-export.ts'
import { exportFilter, pageFilter, storeFilter, summaryFilter } from './usage-filter.ts'
import { shownAttempt, shownReceipt, shownRefusal, shownRow, shownTotals } from './usage-shown.ts'

const NAMES_KEPT = 10_000
/** Each export takes its turns at the store; more at once would leave little of it to others. */
const MOST_EXPORTS = 4

type UsageDeps = Pick<OperationDeps, 'store'> & { fleet: Pick<OperationDeps['fleet'], 'settled'> }

/** One request: its receipt, or why it was refused. `pruned`: its row is deleted, and these are the totals of its day. */
export type FoundRequest = { row: object } | { pruned: object }

export class Usage {
  readonly #deps: UsageDeps
  /** Names by account id. They may be kept, because accounts are neither renamed nor deleted. */
  readonly #names = latest<number, string>(NAMES_KEPT)
  #exports = 0

  constructor(deps: UsageDeps) {
    this.#deps = deps
  }

  /** One page. `next` is the value of `after` with which the caller gets the following page; null on the last page. */
  async page(sent: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { account, limit, after, ...filter } = read(pageFilter, sent)
    const wanted = await this.#wanted(account, filter)
    if (wanted === null) return { data: [], next: null }
    const rows = await store.usage.page({ ...wanted, limit, ...(after === undefined ? {} : { after }) })
    const names = await this.#namesOf(rows.map(row => row.accountId))
    const data = rows.map(row => shownRow(row, names.get(row.accountId)))
    return { data, next: rows.length === limit ? (rows.at(-1) as BookedRow).requestId : null }
  }

  async summary(sent: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { account, by, zone = store.zone, ...filter } = read(summaryFilter, sent)
    const wanted = await this.#wanted(account, filter)
    if (wanted === null) return { data: [] }
    const rows = await store.usage.summary({ ...wanted, by, zone }).catch(refused)
    const accountAt = by.indexOf('account')
    const names = await this.#namesOf(accountAt === -1 ? [] : rows.map(row => row.by[accountAt] as number))
    return { data: rows.map(row => shownTotals(by, row, names)) }
  }

  /** An export piece by piece; the caller asks for the next piece when it has room for it, and ends it in any case. */
  async export(format: ExportFormat, sent: Sent): Promise<Pieces> {
    const { account, ...filter } = read(exportFilter, sent)
    await this.#deps.fleet.settled()
    const wanted = await this.#wanted(account, filter)
    if (this.#exports >= MOST_EXPORTS)
      throw new OperationError('conflict', `${MOST_EXPORTS} exports are under way: wait for one of them to end`)
    const pieces = exportUsage(this.#deps.store, format, wanted)
    this.#exports++
    void pieces.ended.then(() => this.#exports--)
    return pieces
  }

  /** Throws OperationError `missing` when nothing is known of the request. */
  async request(id: string): Promise<FoundRequest> {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { request_id: requestId = '' } = read(exportFilter, { request_id: id })
    const [row] = await store.usage.page({ requestId, limit: 1 })
    if (row !== undefined) {
      const account = (await this.#namesOf([row.accountId])).get(row.accountId)
      const disputed = row.disputed > 0 ? await store.disputes.byRequest(requestId) : null
      return {
        row: {
          ...shownReceipt(row, account),
          dispute: disputed === null ? null : shownDispute(disputed),
          uncharged: (await store.usage.attemptsOf(requestId)).map(shownAttempt),
        },
      }
    }
    const refusal = await store.refusals.byRequest(requestId)
    if (refusal !== null) {
      const names = await this.#namesOf([refusal.accountId])
      return { row: shownRefusal(refusal, names.get(refusal.accountId)) }
    }
    const atMs = timeOfId(requestId)
    if (!isRequestId(requestId) || atMs >= (await store.usage.prunedBefore()))
      throw new OperationError('missing', `there is no request ${requestId}`)
    return { pruned: await this.#dayOf(atMs) }
  }

  async #dayOf(atMs: number): Promise<object> {
    const { store } = this.#deps
    const { zone } = store
    const { beginMs: fromMs, endMs: toMs } = periodAt('day', atMs, zone)
    const by = ['day'] as const
    const [day] = await store.usage.summary({ by, zone, fromMs, toMs })
    return day === undefined ? {} : shownTotals(by, day, new Map())
  }

  /** The filter as the store takes it; null when it names an account that does not exist. */
  async #wanted(name: string | undefined, filter: Parameters<typeof storeFilter>[0]) {
    const account = name === undefined ? undefined : await this.#deps.store.accounts.byName(name)
    return account === null ? null : storeFilter(filter, account?.id)
  }

  async #namesOf(ids: readonly number[]): Promise<Map<number, string>> {
    const names = new Map<number, string>()
    for (const id of new Set(ids)) {
      const name = this.#names.get(id) ?? (await this.#deps.store.accounts.byId(id))?.name
      if (name === undefined) continue
      this.#names.set(id, name)
      names.set(id, name)
    }
    return names
  }
}

const FIELDS = { zone: 'zone', rows: 'by', period: 'from' } as const

function refused(error: unknown): never {
  throw error instanceof SummaryRefused
    ? new OperationError('invalid', `${FIELDS[error.what]}: ${error.message}`)
    : error
}
