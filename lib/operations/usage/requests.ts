/**
 * Requests: pages of them, the receipt of one, those that were refused before an upstream was asked, and exports of any size.
 * People see those of their account, where an id of somebody else is answered as one that does not exist; operators see all,
 * with channels and costs. A key is tried out without asking an upstream.
 */
import { withoutUndefined } from '../../base/objects.ts'
import { type Clock, pause, iso, isoOrNull } from '../../base/clock.ts'
import * as kind from '../../config/scalars.ts'
import { z } from 'zod'
import { isRequestId, timeOfId } from '../../base/ids.ts'
import { formatMicro } from '../../base/money.ts'
import type { Language } from '../../base/people.ts'
import { periodAt } from '../../base/periods.ts'
import { accountPurse } from '../../store/books/purses.ts'
import type { Pieces } from '../../store/export-thread.ts'
import type { AccountKeys, Page } from '../../store/usage/queries.ts'
import type { BookedRow } from '../../store/usage/rows.ts'
import { CLIENT_PROTOCOLS, type Protocol } from '../../protocols/names.ts'
import type { OwnKeys } from '../accounts/own-keys.ts'
import { shownDispute } from '../billing/disputes.ts'
import { CSV_TYPE, JSON_LINES_TYPE } from '../csv.ts'
import type { OperationDeps } from '../deps.ts'
import { OperationError } from '../error.ts'
import { timeText } from '../fields.ts'
import { namesOfAccounts } from '../lookups.ts'
import { type Sent, read } from '../read.ts'
import {
  type SeenRow,
  internalFields,
  operatorsReceipt,
  operatorsRefusal,
  operatorsRow,
  ownReceipt,
  ownRefusal,
  ownRow,
  receiptFields,
  refusalAnswer,
  requestAnswer,
  shownAttempt,
  shownInternal,
} from './columns.ts'
import type { ExportFormat, ExportOrder } from './export-work.ts'
import {
  type ExportQuery,
  type RefusalsQuery,
  type RequestsQuery,
  exportFilter,
  pageFilter,
  toFilter,
  toOperatorsFilter,
  type AccountReader,
  whoseKeys,
  pruning,
} from './filters.ts'
import { addUp, operatorsTotals, ownTotals } from './totals.ts'
import { refusedBeside } from './traffic.ts'
import { reasonWords } from './words.ts'

export type { RefusedAnswer, RequestAnswer } from './columns.ts'
export type { ExportFormat } from './export-work.ts'
export { exportQuery, refusalsQuery, requestIdText, requestsQuery } from './filters.ts'

export const EXPORT_TYPES: Record<ExportFormat, string> = { csv: CSV_TYPE, jsonl: JSON_LINES_TYPE }
const WORK = new URL('./export-work.ts', import.meta.url)

/** Why a list is empty. `filter`: there are rows, and none of them fits. */
const EMPTY_LISTS = ['none_yet', 'filter', 'pruned'] as const
type Empty = (typeof EMPTY_LISTS)[number]

const page = { next: z.string().nullable(), scanned_to: timeText.nullable() }
export const requestsAnswer = z.strictObject({
  data: z.array(requestAnswer),
  ...page,
  /** Why there is nothing at all; null = there is something. */
  empty: z.enum(EMPTY_LISTS).nullable(),
  pruned_before: timeText.nullable(),
  /** The refused request with the id that was asked for. */
  refusal: refusalAnswer.nullable(),
})
export const refusalsAnswer = z.strictObject({ data: z.array(refusalAnswer), ...page })
export const receiptAnswer = z.strictObject({
  request: receiptFields.nullable(),
  refusal: refusalAnswer.nullable(),
  internal: internalFields.nullable(),
})
export type RequestsAnswer = z.output<typeof requestsAnswer>
export type ReceiptAnswer = z.output<typeof receiptAnswer>

const PRUNED_ROWS = 1_000

/** How often live pages look for newer requests, and after which silence they are told that the stream is still there. */
const LOOK_MS = 1_000
const SILENT_MS = 15_000

/** Each export takes its turns at the store; more at once would leave little of it to others. */
const MOST_EXPORTS = 4

/** One request: its receipt, or why it was refused. `pruned`: its row is deleted, and these are the totals of its day. */
type FoundRequest = { row: object } | { pruned: object }

type RequestsDeps = Pick<OperationDeps, 'store'> & { fleet: Pick<OperationDeps['fleet'], 'settled'> }

export class Requests {
  readonly #deps: RequestsDeps
  #exports = 0

  constructor(deps: RequestsDeps) {
    this.#deps = deps
  }

  /** For operators: one page, newest first. `next` is the `after` of the following page; null on the last page. */
  async page(sent: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { account, limit, after, ...filter } = read(pageFilter, sent)
    const wanted = await this.#wanted(account, filter)
    if (wanted === null) return { data: [], next: null }
    const rows = await store.usage.page({ ...wanted, limit, ...withoutUndefined({ after }) })
    const names = await namesOfAccounts(
      store,
      rows.map(row => row.accountId),
    )
    const data = rows.map(row => operatorsRow({ row, account: names.get(row.accountId) }))
    return { data, next: rows.length === limit ? (rows.at(-1) as BookedRow).requestId : null }
  }

  /** For people: the same of their account, in the order that they want. A page looks at a bounded number of rows. */
  async list(reader: AccountReader, sent: RequestsQuery): Promise<RequestsAnswer> {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const whose = await whoseKeys(store, reader, sent)
    const { id, after, limit, sort } = sent
    const ascending = sort === 'time'
    const found: Page<BookedRow> =
      id === undefined
        ? await store.usage.requestPage(
            { ...whose, ...toFilter(sent) },
            { ...withoutUndefined({ after }), limit, ascending },
          )
        : { rows: await store.usage.requestsOfId(whose, id, ascending), next: null, scannedToMs: null }
    const prunedMs = await store.usage.prunedBefore()
    const isEmpty = found.rows.length === 0 && found.next === null && after === undefined
    return {
      data: (await this.#seen(whose.accountId, found.rows)).map(ownRow),
      next: found.next,
      scanned_to: isoOrNull(found.scannedToMs),
      empty: isEmpty ? await this.#whyEmpty(reader, sent, prunedMs) : null,
      pruned_before: prunedMs === 0 ? null : iso(prunedMs),
      refusal: id === undefined ? null : await this.#ownRefusal(whose, id),
    }
  }

  /**
   * Server-sent events: `changed` when there are newer requests or refusals than before, with the id of the newest, which says
   * that the list is to be asked for again. Ends when `isOver` says so. `reader` is asked every time, because keys may be new.
   */
  async *live(reader: () => Promise<AccountReader>, clock: Clock, isOver: () => boolean): AsyncGenerator<string> {
    let known = await this.#newest(await reader())
    let silentMs = 0
    yield ': begun\n\n'
    while (!isOver()) {
      await pause(clock, LOOK_MS)
      silentMs += LOOK_MS
      const newest = await this.#newest(await reader())
      if (newest !== known) yield `event: changed\ndata: ${newest}\n\n`
      else if (silentMs >= SILENT_MS) yield ': nothing new\n\n'
      else continue
      known = newest
      silentMs = 0
    }
  }

  async #newest({ account, keyIds }: AccountReader): Promise<string> {
    const { store } = this.#deps
    const whose = { accountId: account.id, keyIds }
    const [asked, refused] = await Promise.all([
      store.usage.requestPage(whose, { limit: 1 }),
      store.refusals.page(whose, { limit: 1 }),
    ])
    const ids = [asked.rows[0]?.requestId ?? '', refused.rows[0]?.requestId ?? '']
    return ids.sort().at(-1) as string
  }

  async refusals(reader: AccountReader, sent: RefusalsQuery): Promise<z.output<typeof refusalsAnswer>> {
    const { store } = this.#deps
    const { after, limit, sort, from: fromMs, to: toMs, model, reason } = sent
    const whose = await whoseKeys(store, reader, sent)
    const filter = { ...whose, ...withoutUndefined({ fromMs, toMs, model, reason }) }
    const paging = { ...withoutUndefined({ after }), limit, ascending: sort === 'time' }
    const { rows, next, scannedToMs } = await store.refusals.page(filter, paging)
    const labels = await this.#labelsOf(whose.accountId, rows)
    return { data: rows.map(row => ownRefusal(row, labels.get(row.keyId))), next, scanned_to: isoOrNull(scannedToMs) }
  }

  /**
   * For operators: one request of whatever account, with its attempts and its dispute. Throws OperationError `missing` when
   * nothing is known of it.
   */
  async one(id: string): Promise<FoundRequest> {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { request_id: requestId = '' } = read(exportFilter, { request_id: id })
    const [row] = await store.usage.page({ requestId, limit: 1 })
    if (row !== undefined) {
      const disputed = row.disputed > 0 ? await store.disputes.byRequest(requestId) : null
      return {
        row: {
          ...operatorsReceipt({ row, account: (await namesOfAccounts(store, [row.accountId])).get(row.accountId) }),
          dispute: disputed === null ? null : shownDispute(disputed),
          uncharged: (await store.usage.attemptsOf(requestId)).map(shownAttempt),
        },
      }
    }
    const refusal = await store.refusals.byRequest(requestId)
    if (refusal !== null) {
      const names = await namesOfAccounts(store, [refusal.accountId])
      return { row: operatorsRefusal(refusal, names.get(refusal.accountId)) }
    }
    if (!(await this.#isPruned(requestId))) throw await this.#unknown(requestId)
    const { zone, fromMs, toMs } = this.#dayOf(requestId)
    const by = ['day'] as const
    const [day] = await store.usage.summary({ by, zone, fromMs, toMs })
    return { pruned: day === undefined ? {} : operatorsTotals(by, day, new Map()) }
  }

  /** For people. `internal`: whether the reader is an operator, who sees channels and costs too. */
  async receipt(reader: AccountReader, id: string, internal: boolean): Promise<ReceiptAnswer> {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const whose = await whoseKeys(store, reader, {})
    const row = (await store.usage.requestsOfId(whose, id)).find(found => found.requestId === id)
    if (row !== undefined) {
      const [seen] = await this.#seen(whose.accountId, [row])
      const request = ownReceipt({ ...seen!, since: await this.#pricesSince(row) })
      return {
        request,
        refusal: null,
        internal: internal ? shownInternal(row, await store.usage.attemptsOf(id)) : null,
      }
    }
    const refusal = await this.#ownRefusal(whose, id)
    if (refusal !== null) return { request: null, refusal, internal: null }
    if (await this.#isPruned(id)) throw await this.#prunedDay(whose, id)
    throw new OperationError('missing', { zh: '没有这个请求', en: 'there is no such request' })
  }

  /** For operators: an export piece by piece; the caller asks for the next piece when it has room for it, and ends it in any case. */
  async exportAll(format: ExportFormat, sent: Sent): Promise<Pieces> {
    const { account, ...filter } = read(exportFilter, sent)
    await this.#deps.fleet.settled()
    const wanted = await this.#wanted(account, filter)
    if (this.#exports >= MOST_EXPORTS)
      throw new OperationError('conflict', `${MOST_EXPORTS} exports are under way: wait for one of them to end`)
    const pieces = this.#export({ scope: 'everybody', format, filter: wanted })
    this.#exports++
    void pieces.ended.then(() => this.#exports--)
    return pieces
  }

  /** For people: an unknown key is refused before anything is sent. */
  async export(reader: AccountReader, format: ExportFormat, sent: ExportQuery, language: Language): Promise<Pieces> {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const whose = await whoseKeys(store, reader, sent)
    const filter = { ...whose, ...toFilter(sent) }
    return this.#export({
      scope: 'account',
      format,
      filter,
      ascending: sent.sort === 'time',
      heads: sent.heads,
      language,
    })
  }

  /** The rows that `prune` would delete, and what they charged. */
  async prunable(before: string) {
    const { rows, charge } = await this.#deps.store.usage.prunable(read(pruning, { before }).before)
    return { rows, charge: formatMicro(charge) }
  }

  /** Deletes old rows now, and not only when they are older than `usage_retention`; in slices, so that others use the store in between. `said` is told how many are gone. */
  async prune(before: string, said: (rows: number) => void = () => {}): Promise<number> {
    const { before: beforeMs } = read(pruning, { before })
    let rows = 0
    for (let slice = PRUNED_ROWS; slice === PRUNED_ROWS; said(rows)) {
      slice = await this.#deps.store.usage.prune(beforeMs, PRUNED_ROWS)
      rows += slice
    }
    return rows
  }

  #export(order: ExportOrder): Pieces {
    return this.#deps.store.export(WORK, order)
  }

  /** The filter as the store takes it; null when it names an account that does not exist. */
  async #wanted(name: string | undefined, filter: Parameters<typeof toOperatorsFilter>[0]) {
    const account = name === undefined ? undefined : await this.#deps.store.accounts.byName(name)
    return account === null ? null : toOperatorsFilter(filter, account?.id)
  }

  #labelsOf(accountId: number, rows: readonly { keyId: number }[]) {
    const ids = rows.map(row => row.keyId)
    return this.#deps.store.keys.labels(accountId, ids)
  }

  async #seen(accountId: number, rows: readonly BookedRow[]): Promise<SeenRow[]> {
    const labels = await this.#labelsOf(accountId, rows)
    return rows.map(row => ({ row, key: labels.get(row.keyId) }))
  }

  async #ownRefusal({ accountId, keyIds }: AccountKeys, id: string) {
    const refusal = await this.#deps.store.refusals.byRequest(id)
    if (refusal === null || refusal.accountId !== accountId) return null
    if (keyIds !== null && !keyIds.includes(refusal.keyId)) return null
    return ownRefusal(refusal, (await this.#labelsOf(accountId, [refusal])).get(refusal.keyId))
  }

  /** `prunedMs`: rows of before this moment are deleted. */
  async #whyEmpty({ account }: AccountReader, sent: RequestsQuery, prunedMs: number): Promise<Empty> {
    const { after: _, limit: __, sort: ___, to, ...rest } = withoutUndefined(sent)
    if (prunedMs > 0 && to !== undefined && to <= prunedMs) return 'pruned'
    if (to !== undefined || Object.keys(rest).length > 0) return 'filter'
    const [purse] = await this.#deps.store.books.purses([accountPurse(account.id)])
    return prunedMs > 0 && (purse?.spent ?? 0) > 0 ? 'pruned' : 'none_yet'
  }

  /** Tells when the versions of prices in a receipt came into force. */
  async #pricesSince(row: BookedRow) {
    const since = new Map<string, number>()
    for (const { model, priceVersion } of row.lines) {
      const name = `${priceVersion} ${model}`
      if (priceVersion === null || since.has(name)) continue
      const [version] = await this.#deps.store.catalogue.priceVersions(model, { before: priceVersion + 1, limit: 1 })
      if (version?.version === priceVersion) since.set(name, version.atMs)
    }
    return (model: string, version: number) => since.get(`${version} ${model}`)
  }

  /** Says of an id that could be ours why nothing is known of it. */
  async #unknown(id: string): Promise<OperationError> {
    const why = isRequestId(id) ? `: ${await refusedBeside(this.#deps, timeOfId(id))}` : ''
    return new OperationError('missing', `there is no request ${id}${why}`)
  }

  async #isPruned(id: string): Promise<boolean> {
    return isRequestId(id) && timeOfId(id) < (await this.#deps.store.usage.prunedBefore())
  }

  #dayOf(id: string) {
    const { zone } = this.#deps.store
    const { beginMs: fromMs, endMs: toMs } = periodAt('day', timeOfId(id), zone)
    return { zone, fromMs, toMs }
  }

  /** Says what the account's requests of that day come to, because their rows are deleted. */
  async #prunedDay({ accountId, keyIds }: AccountKeys, id: string): Promise<OperationError> {
    const day = this.#dayOf(id)
    const keys = keyIds === null ? {} : { keyIds }
    const rows = await this.#deps.store.usage.summary({ accountId, ...keys, by: [], ...day, attempts: 'without' })
    const { requests, charge } = ownTotals(addUp(rows))
    const words = {
      zh: '这一天的请求明细已删除，只保留当天合计',
      en: 'the requests of that day are deleted; its totals are kept',
    }
    const details = { day_from: iso(day.fromMs), zone: day.zone, requests: String(requests), charge }
    return new OperationError('gone', words, details)
  }
}

export const testForm = z.strictObject({ model: kind.modelName, protocol: kind.oneOf(...CLIENT_PROTOCOLS) })

/** A request that a serving process is asked to try out. */
interface KeyTrial {
  keyHash: string
  address: string
  model: string
  protocol: Protocol
  english: boolean
}
/** Finds the stage that would refuse it; null = none would. */
export type DryRun = (trial: KeyTrial) => Promise<{
  stage: string | null
  /** The error that a client would be answered with, by its name. */
  reason: string | null
  status: number | null
  message: string | null
}>

export async function testKey(
  keys: OwnKeys,
  id: string,
  dryRun: DryRun,
  { model, protocol }: z.output<typeof testForm>,
  { ip, language }: { ip: string; language: Language },
) {
  const { hash } = await keys.find(id)
  const trial = { keyHash: hash, address: ip, model, protocol, english: language === 'en' }
  const { stage, reason, status, message } = await dryRun(trial)
  /** The reason in both languages: the texts that clients read are promised to them, most in Chinese alone. */
  const why = reason === null ? null : reasonWords(reason).why
  return { ok: stage === null, stage, status, message, why, address: ip }
}
