/** Exports of the usage log. `usage-file.ts` makes them, in a thread of its own. */
import type { Store } from '../../store/store.ts'
import type { Pieces } from '../../store/export-thread.ts'
import type { UsageFilter } from '../../store/usage/queries.ts'
import type { ExportFormat, UsageOrder } from './usage-file.ts'

export type { ExportFormat } from './usage-file.ts'
export const EXPORT_TYPES: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/x-ndjson; charset=utf-8',
}

const WORK = new URL('./usage-file.ts', import.meta.url)

export const exportUsage = (store: Store, format: ExportFormat, filter: Omit<UsageFilter, 'limit'> | null): Pieces =>
  store.export(WORK, { format, filter } satisfies UsageOrder)
