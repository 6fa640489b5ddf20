/** The requests of an account as a file of any size, CSV or a JSON object a line. */
import type { Pieces } from '../../store/export-thread.ts'
import type { Language } from '../../base/people.ts'
import { CSV_TYPE } from '../csv.ts'
import { type ExportQuery, toFilter } from './filters.ts'
import type { RequestsOrder } from './requests-file.ts'
import { type Reader, whoseKeys } from './whose.ts'
import type { RequestsDeps } from './own-requests.ts'

export { CSV_TYPE } from '../csv.ts'
export { exportQuery } from './filters.ts'

export type ExportFormat = RequestsOrder['format']
export const EXPORT_TYPES: Record<ExportFormat, string> = {
  csv: CSV_TYPE,
  jsonl: 'application/x-ndjson; charset=utf-8',
}

const WORK = new URL('./requests-file.ts', import.meta.url)

/** The file piece by piece; the caller asks for the next piece when it has room for it. */
export async function ownExport(
  { store, fleet }: RequestsDeps,
  reader: Reader,
  format: ExportFormat,
  sent: ExportQuery,
  language: Language,
): Promise<Pieces> {
  await fleet.settled()
  const whose = await whoseKeys(store, reader, sent) // an unknown key is refused before anything is sent
  const order: RequestsOrder = { format, filter: { ...whose, ...toFilter(sent) }, heads: sent.heads, language }
  return store.export(WORK, order)
}
