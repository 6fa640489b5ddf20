/** The commands about usage. They read the store that the config names, and end. */
import { prune, wouldPrune } from '../operations/usage/prune.ts'
import { Usage } from '../operations/usage/usage.ts'
import type { ExportFormat } from '../operations/usage/usage-export.ts'
import { type Said, writeAll } from './say.ts'
import { rowsTable, totalsTable } from './usage-tables.ts'
import { NOBODY, withStoreOf } from './with-store.ts'

type Env = NodeJS.ProcessEnv
type Filters = Record<string, string>

export interface Shown {
  json: boolean
  terminal: boolean
}

const asJson = (value: object): Said => ({ data: `${JSON.stringify(value)}\n`, talk: [] })

export const exportUsage = (
  configFile: string,
  env: Env,
  filters: Filters,
  format: ExportFormat,
  out: NodeJS.WritableStream,
): Promise<void> =>
  withStoreOf(configFile, env, async store =>
    writeAll(await new Usage({ store, fleet: NOBODY }).export(format, filters), out),
  )

/** A page of requests, or with the filter `by` their totals. */
export const showUsage = (configFile: string, env: Env, filters: Filters, { json, terminal }: Shown): Promise<Said> =>
  withStoreOf(configFile, env, async store => {
    const usage = new Usage({ store, fleet: NOBODY })
    if (filters['by'] !== undefined) {
      const answer = await usage.summary(filters)
      if (json) return asJson(answer)
      return { data: totalsTable(answer.data, filters['by'].split(','), terminal), talk: [] }
    }
    const answer = await usage.page(filters)
    if (json) return asJson(answer)
    const talk = answer.next === null ? [] : [`there may be more: --after ${answer.next}`]
    return { data: rowsTable(answer.data, terminal), talk }
  })

export const showRequest = (configFile: string, env: Env, id: string): Promise<string> =>
  withStoreOf(configFile, env, async store => {
    const found = await new Usage({ store, fleet: NOBODY }).request(id)
    return JSON.stringify('row' in found ? found.row : found, null, 2)
  })

export const rebuildRollups = (configFile: string, env: Env, json: boolean): Promise<Said> =>
  withStoreOf(configFile, env, async store => {
    const corrected = await store.usage.rebuildSums()
    if (json) return asJson({ corrected })
    const text =
      corrected === 0 ? 'ok: every sum is what the rows come to' : `${corrected} sums were wrong, and are right now`
    return { data: `${text}\n`, talk: [] }
  })

export const pruneUsage = (
  configFile: string,
  env: Env,
  before: string,
  { dryRun, json }: { dryRun: boolean; json: boolean },
): Promise<Said> =>
  withStoreOf(configFile, env, async store => {
    if (!dryRun) {
      const rows = await prune(store, before)
      return json ? asJson({ deleted: rows }) : { data: `${rows} rows deleted\n`, talk: [] }
    }
    const would = await wouldPrune(store, before)
    if (json) return asJson(would)
    return { data: `${would.rows} rows would be deleted, which charged ${would.charge} CNY together\n`, talk: [] }
  })
