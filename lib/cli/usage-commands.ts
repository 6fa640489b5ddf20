/** The commands about usage. They judge what was typed, read the store that the config names, and end. */
import { systemClock } from '../base/clock.ts'
import { type ExportFormat, Requests } from '../operations/usage/requests.ts'
import { writeAll, type CommandOutput, type Column, table } from './output.ts'
import { NOBODY, withStoreOf } from './with-store.ts'
import { exportFilter, pageFilter, pruning, summaryFilter } from '../operations/usage/filters.ts'
import { read } from '../operations/read.ts'
import { UsageSums } from '../operations/usage/usage.ts'

type Env = NodeJS.ProcessEnv
type Filters = Record<string, string>

export interface HowShown {
  json: boolean
  terminal: boolean
}

const asJson = (value: object): CommandOutput => ({ data: `${JSON.stringify(value)}\n`, talk: [] })

export const writeUsageFile = (
  configFile: string,
  env: Env,
  filters: Filters,
  format: ExportFormat,
  out: NodeJS.WritableStream,
): Promise<void> => {
  read(exportFilter, filters)
  return withStoreOf(configFile, env, async store =>
    writeAll(await new Requests({ store, fleet: NOBODY }).exportAll(format, filters), out),
  )
}

/** A page of requests, or with the filter `by` their totals. */
export const showUsage = (
  configFile: string,
  env: Env,
  filters: Filters,
  { json, terminal }: HowShown,
): Promise<CommandOutput> => {
  read(filters['by'] === undefined ? pageFilter : summaryFilter, filters)
  return withStoreOf(configFile, env, async store => {
    if (filters['by'] !== undefined) {
      const answer = await new UsageSums({ store, clock: systemClock, fleet: NOBODY }).summary(filters)
      if (json) return asJson(answer)
      return { data: totalsTable(answer.data, filters['by'].split(','), terminal), talk: [] }
    }
    const answer = await new Requests({ store, fleet: NOBODY }).page(filters)
    if (json) return asJson(answer)
    const talk = answer.next === null ? [] : [`there may be more: --after ${answer.next}`]
    return { data: rowsTable(answer.data, terminal), talk }
  })
}

export const showRequest = (configFile: string, env: Env, id: string): Promise<string> =>
  withStoreOf(configFile, env, async store => {
    const found = await new Requests({ store, fleet: NOBODY }).one(id)
    return JSON.stringify('row' in found ? found.row : found, null, 2)
  })

export const rebuildRollups = (configFile: string, env: Env, json: boolean): Promise<CommandOutput> =>
  withStoreOf(configFile, env, async store => {
    const corrected = await store.usage.rebuildSums()
    if (json) return asJson({ corrected })
    const text =
      corrected === 0 ? 'ok: every sum is what the rows come to' : `${corrected} sums were wrong, and are right now`
    return { data: `${text}\n`, talk: [] }
  })

export const judgePruning = (before: string): void => void read(pruning, { before })

export const pruneRows = (
  configFile: string,
  env: Env,
  before: string,
  { dryRun, json }: { dryRun: boolean; json: boolean },
): Promise<CommandOutput> =>
  withStoreOf(configFile, env, async store => {
    const requests = new Requests({ store, fleet: NOBODY })
    if (!dryRun) {
      const rows = await requests.prune(before)
      return json ? asJson({ deleted: rows }) : { data: `${rows} rows deleted\n`, talk: [] }
    }
    const would = await requests.prunable(before)
    if (json) return asJson(would)
    return { data: `${would.rows} rows would be deleted, which charged ${would.charge} CNY together\n`, talk: [] }
  })

type Row = Readonly<Record<string, unknown>>

const NONE = '-'
const NUMBERS = new Set(
  'key status requests errors input cache_read output pieces charge cost margin cost_known_share'.split(' '),
)
const columnsOf = (names: readonly string[]): Column[] =>
  names.map(name => ({ name: name.replace('_', ' '), ...(NUMBERS.has(name) ? { right: true } : {}) }))
const cells = (rows: readonly Row[], names: readonly string[]): string[][] =>
  rows.map(row => names.map(name => String(row[name] ?? NONE)))

const ROW = 'request_id at account key model channel status outcome input cache_read output pieces charge cost'.split(
  ' ',
)
const TOTALS = 'requests errors input cache_read output pieces charge cost margin cost_known_share'.split(' ')

export const rowsTable = (rows: readonly Row[], terminal: boolean): string =>
  table(columnsOf(ROW), cells(rows, ROW), terminal)

/** `by` names the first columns. */
export function totalsTable(rows: readonly Row[], by: readonly string[], terminal: boolean): string {
  const names = [...by, ...TOTALS]
  return table(columnsOf(names), cells(rows, names), terminal)
}
