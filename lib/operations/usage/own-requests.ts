/**
 * The requests of an account, one row for each, the receipt of one, and those that were refused before an upstream was
 * asked. An id that is not the account's is answered as one that does not exist.
 */
import { isRequestId, timeOfId } from '../../base/ids.ts'
import { periodAt } from '../../base/periods.ts'
import type { Store } from '../../store/store.ts'
import type { AccountKeys, Page } from '../../store/usage/queries.ts'
import type { BookedRow } from '../../store/usage/rows.ts'
import { accountPurse } from '../../store/books/purses.ts'
import type { OperationDeps } from '../deps.ts'
import { OperationError } from '../error.ts'
import { present, type RefusalsQuery, type RequestsQuery, toFilter } from './filters.ts'
import { iso, shownInternal, shownReceipt, shownRefusal, shownRequest } from './own-shown.ts'
import { addUp, shownTotals } from './totals-shown.ts'
import { type Reader, whoseKeys } from './whose.ts'

export { refusalsQuery, requestIdText, requestsQuery } from './filters.ts'

export type RequestsDeps = Pick<OperationDeps, 'store'> & { fleet: Pick<OperationDeps['fleet'], 'settled'> }

/** Why a list is empty. `filter`: there are rows, and none of them fits. */
export const EMPTY = ['none_yet', 'filter', 'pruned'] as const
type Empty = (typeof EMPTY)[number]

const labelsOf = (store: Store, accountId: number, rows: readonly { keyId: number }[]) =>
  store.keys.labels(
    accountId,
    rows.map(row => row.keyId),
  )

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms))

const shownPage = <T, S>({ rows, next, scannedToMs }: Page<T>, show: (row: T) => S) => ({
  data: rows.map(show),
  next,
  scanned_to: isoOrNull(scannedToMs),
})

/** `prunedMs`: rows of before this moment are deleted. */
async function whyEmpty(
  { store }: RequestsDeps,
  { account }: Reader,
  { after: _, limit: __, ...filter }: RequestsQuery,
  prunedMs: number,
): Promise<Empty> {
  const { to, ...rest } = present(filter)
  if (prunedMs > 0 && to !== undefined && to <= prunedMs) return 'pruned'
  if (to !== undefined || Object.keys(rest).length > 0) return 'filter'
  const [purse] = await store.books.purses([accountPurse(account.id)])
  return prunedMs > 0 && (purse?.spent ?? 0) > 0 ? 'pruned' : 'none_yet'
}

export async function ownRequests(deps: RequestsDeps, reader: Reader, sent: RequestsQuery) {
  const { store, fleet } = deps
  await fleet.settled()
  const whose = await whoseKeys(store, reader, sent)
  const { id, after, limit } = sent
  const page: Page<BookedRow> =
    id === undefined
      ? await store.usage.requestPage({ ...whose, ...toFilter(sent) }, { ...present({ after }), limit })
      : { rows: await store.usage.requestsOfId(whose, id), next: null, scannedToMs: null }
  const labels = await labelsOf(store, whose.accountId, page.rows)
  const prunedMs = await store.usage.prunedBefore()
  const isEmpty = page.rows.length === 0 && page.next === null && after === undefined
  return {
    ...shownPage(page, row => shownRequest(row, labels)),
    /** Why there is nothing at all; null = there is something. */
    empty: isEmpty ? await whyEmpty(deps, reader, sent, prunedMs) : null,
    pruned_before: prunedMs === 0 ? null : iso(prunedMs),
    /** The refused request with the id that was asked for. */
    refusal: id === undefined ? null : await refusalOf(store, whose, id),
  }
}

async function refusalOf(store: Store, { accountId, keyIds }: AccountKeys, id: string) {
  const refusal = await store.refusals.byRequest(id)
  if (refusal === null || refusal.accountId !== accountId) return null
  if (keyIds !== null && !keyIds.includes(refusal.keyId)) return null
  return shownRefusal(refusal, await labelsOf(store, accountId, [refusal]))
}

export async function ownRefusals({ store }: RequestsDeps, reader: Reader, sent: RefusalsQuery) {
  const { after, limit, from: fromMs, to: toMs, model, reason } = sent
  const whose = await whoseKeys(store, reader, sent)
  const filter = { ...whose, ...present({ fromMs, toMs, model, reason }) }
  const page = await store.refusals.page(filter, { ...present({ after }), limit })
  const labels = await labelsOf(store, whose.accountId, page.rows)
  return shownPage(page, row => shownRefusal(row, labels))
}

/** When the versions of prices in a receipt came into force. */
async function pricesSince(store: Store, row: BookedRow) {
  const since = new Map<string, number>()
  for (const { model, priceVersion } of row.lines) {
    const name = `${priceVersion} ${model}`
    if (priceVersion === null || since.has(name)) continue
    const [version] = await store.catalogue.priceVersions(model, { before: priceVersion + 1, limit: 1 })
    if (version?.version === priceVersion) since.set(name, version.atMs)
  }
  return (model: string, version: number) => since.get(`${version} ${model}`)
}

/** `internal`: whether the reader is an operator, who sees channels and costs too. */
export async function ownReceipt(deps: RequestsDeps, reader: Reader, id: string, internal: boolean) {
  const { store, fleet } = deps
  await fleet.settled()
  const whose = await whoseKeys(store, reader, {})
  const row = (await store.usage.requestsOfId(whose, id)).find(found => found.requestId === id)
  if (row !== undefined) {
    const labels = await labelsOf(store, whose.accountId, [row])
    const request = shownReceipt(row, labels, await pricesSince(store, row))
    return { request, refusal: null, internal: internal ? shownInternal(row, await store.usage.attemptsOf(id)) : null }
  }
  const refusal = await refusalOf(store, whose, id)
  if (refusal !== null) return { request: null, refusal, internal: null }
  if (isRequestId(id) && timeOfId(id) < (await store.usage.prunedBefore()))
    throw await prunedDay(store, whose, timeOfId(id))
  throw new OperationError('missing', { zh: '没有这个请求', en: 'there is no such request' })
}

/** Says what the account's requests of that day come to, because their rows are deleted. */
async function prunedDay(store: Store, { accountId, keyIds }: AccountKeys, atMs: number): Promise<OperationError> {
  const { zone } = store
  const { beginMs: fromMs, endMs: toMs } = periodAt('day', atMs, zone)
  const keys = keyIds === null ? {} : { keyIds }
  const rows = await store.usage.summary({ accountId, ...keys, by: [], zone, fromMs, toMs, attempts: 'without' })
  const { requests, charge } = shownTotals(addUp(rows))
  const words = {
    zh: '这一天的请求明细已删除,只保留当天合计',
    en: 'the requests of that day are deleted; its totals are kept',
  }
  return new OperationError('gone', words, { day_from: iso(fromMs), zone, requests: String(requests), charge })
}
