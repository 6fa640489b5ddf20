/** The commands about usage. They read the store that the config names, and end. */
import { once } from 'node:events'
import { prune, wouldPrune } from '../operations/prune.ts'
import { Usage } from '../operations/usage.ts'
import type { ExportFormat } from '../operations/usage-export.ts'
import { NOBODY, withStoreOf } from './with-store.ts'

type Env = NodeJS.ProcessEnv
type Filters = Record<string, string>

/** An export goes out as fast as it is taken. */
async function writeAll(pieces: AsyncIterable<string>, out: NodeJS.WritableStream): Promise<void> {
  for await (const piece of pieces) if (!out.write(piece)) await once(out, 'drain')
}

/** One JSON object a line. */
const lines = (rows: readonly object[]): string => rows.map(row => `${JSON.stringify(row)}\n`).join('')

/** `format`: an export; null: a page, or with `by` the totals. */
export const showUsage = (
  configFile: string,
  env: Env,
  filters: Filters,
  format: ExportFormat | null,
  out: NodeJS.WritableStream,
): Promise<void> =>
  withStoreOf(configFile, env, async store => {
    const usage = new Usage({ store, fleet: NOBODY })
    if (format !== null) return writeAll(await usage.export(format, filters), out)
    const { data } = filters['by'] === undefined ? await usage.page(filters) : await usage.summary(filters)
    await writeAll(
      (async function* () {
        yield lines(data)
      })(),
      out,
    )
  })

export const showRequest = (configFile: string, env: Env, id: string): Promise<string> =>
  withStoreOf(configFile, env, async store => {
    const found = await new Usage({ store, fleet: NOBODY }).request(id)
    return JSON.stringify('row' in found ? found.row : found, null, 2)
  })

export const rebuildRollups = (configFile: string, env: Env): Promise<string> =>
  withStoreOf(configFile, env, async store => {
    const wrong = await store.rebuildSums()
    return wrong === 0 ? 'ok: every sum is what the rows come to' : `${wrong} sums were wrong, and are right now`
  })

export const pruneUsage = (configFile: string, env: Env, before: string, dryRun: boolean): Promise<string> =>
  withStoreOf(configFile, env, async store => {
    if (!dryRun) return `${await prune(store, before)} rows deleted`
    const { rows, charge } = await wouldPrune(store, before)
    return `${rows} rows would be deleted, which charged ${charge} CNY together`
  })
