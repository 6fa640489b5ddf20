/**
 * `gateway serve`: prepares store and catalogue, then serves in this process, or in workers of it. Only what is needed
 * then is loaded before the gateway is ready, because a restart should be short.
 */
import type { OperationDeps } from '../operations/deps.ts'
import type { Config } from '../terms/config.ts'
import { createLogger } from '../terms/log.ts'
import { Metrics } from '../terms/metrics.ts'
import { prepareFolders } from './data-paths.ts'
import { openProcessStore, prepareStore } from './process-store.ts'
import type { ServeOptions } from './serve-parts.ts'

/** Resolves when the gateway is ready, with what operations on it need. The gateway ends by a signal. */
export async function serve(config: Config, options: ServeOptions): Promise<OperationDeps> {
  prepareFolders(config, options.configFile)
  const log = createLogger(config.log.level)
  const metrics = new Metrics()
  const store = openProcessStore(config, metrics, log)
  // the store works in a thread of its own, while this one loads the code that follows
  const prepared = prepareStore(store, config, options.env, log)
  prepared.catch(() => {}) // a failure is thrown below, by the await
  const ready =
    config.workers > 1 ? (await import('./workers.ts')).servePrimary : (await import('./serve-alone.ts')).serveAlone
  await prepared
  const operations = await ready({ config, options, log, metrics, store })
  // what the first requests can do without, loaded before somebody needs it
  await Promise.all([metrics.watchProcess(), import('../ops/admin.ts')])
  return operations
}
