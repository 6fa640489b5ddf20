/**
 * Writes an export of requests, in the thread of exports: reads rows, and makes CSV or a JSON object a line of them. The last
 * line says how many there were: a file without it has broken off.
 */
import { latest } from '../../base/lru.ts'
import type { Language } from '../../base/people.ts'
import type { Store } from '../../store/store.ts'
import type { RequestFilter, UsageFilter } from '../../store/usage/queries.ts'
import { CsvTable, FOR_PROGRAMS, forPeople, type Heads, pagesOf } from '../csv.ts'
import { fileColumns, operatorsReceipt, ownReceipt, type SeenRow } from './columns.ts'

const NAMES_KEPT = 10_000
const SLICE = 500

export type ExportFormat = 'csv' | 'jsonl'

/** Plain data, for another thread. The scope says who reads: people of the account, or operators. */
export type ExportOrder = { format: ExportFormat } & (
  | { scope: 'account'; filter: RequestFilter; ascending: boolean; heads: Heads; language: Language }
  /** `filter`: null = of an account that does not exist. */
  | { scope: 'everybody'; filter: Omit<UsageFilter, 'limit'> | null }
)

/** All rows of a filter. Between two slices nothing is held in the store. */
const ownSlices = (store: Store, filter: RequestFilter, ascending: boolean) =>
  pagesOf(async (after: string | null) => {
    const paging = { ascending, limit: SLICE, ...(after === null ? {} : { after }) }
    const { rows, next } = await store.usage.requestPage(filter, paging)
    const keyIds = rows.map(row => row.keyId)
    const labels = await store.keys.labels(filter.accountId, keyIds)
    return { rows: rows.map((row): SeenRow => ({ row, key: labels.get(row.keyId) })), next }
  })

async function* allSlices(store: Store, filter: Omit<UsageFilter, 'limit'>): AsyncGenerator<SeenRow[]> {
  const names = latest<number, string>(NAMES_KEPT)
  const nameOf = async (accountId: number) => {
    const name = names.get(accountId) ?? (await store.accounts.byId(accountId))?.name
    if (name !== undefined) names.set(accountId, name)
    return name
  }
  for await (const rows of store.usage.slices(filter)) {
    const seen: SeenRow[] = []
    for (const row of rows) seen.push({ row, account: await nameOf(row.accountId) })
    yield seen
  }
}

/** The receipt as people read it in a file, without the sentences. */
function ownObject(seen: SeenRow): object {
  const { ended: _, rests_on: __, ...receipt } = ownReceipt(seen)
  return receipt
}

const fileOf = (store: Store, order: ExportOrder) =>
  order.scope === 'account'
    ? {
        table: new CsvTable(fileColumns('people'), forPeople(order.heads, order.language)),
        object: ownObject,
        slices: ownSlices(store, order.filter, order.ascending),
      }
    : {
        table: new CsvTable(fileColumns('operators'), FOR_PROGRAMS),
        object: operatorsReceipt,
        slices: order.filter === null ? [] : allSlices(store, order.filter),
      }

export default async function* (store: Store, order: ExportOrder): AsyncGenerator<string> {
  const { table, object, slices } = fileOf(store, order)
  const isCsv = order.format === 'csv'
  let rows = 0
  if (isCsv) yield table.head()
  for await (const slice of slices) {
    rows += slice.length
    yield isCsv ? table.lines(slice) : slice.map(seen => `${JSON.stringify(object(seen))}\n`).join('')
  }
  yield isCsv ? table.end(rows) : `${JSON.stringify({ count: rows })}\n`
}
