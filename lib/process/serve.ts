/** `gateway serve`: one process, or a primary with workers. */

import type { Config } from '../terms/config.ts'
import { createLogger } from '../terms/log.ts'
import { Metrics } from '../terms/metrics.ts'
import { prepareFolders } from './data-paths.ts'
import { openProcessStore, prepareStore } from './process-store.ts'
import type { ServeOptions } from './startup.ts'

/** Resolves when the gateway is ready. It ends by signal. */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  prepareFolders(config, options.configFile)
  const log = createLogger(config.log.level)
  const metrics = new Metrics()
  const store = openProcessStore(config, metrics, log)
  // the store starts in its own thread while the rest is loaded
  const prepared = prepareStore(store, config, options.env, log)
  prepared.catch(() => {}) // is heard below
  const ready =
    config.workers > 1 ? (await import('./workers.ts')).servePrimary : (await import('./serve-alone.ts')).serveAlone
  await prepared
  await ready({ config, options, log, metrics, store })
  // what the start can do without, before anybody waits for it
  await Promise.all([metrics.watchProcess(), import('../ops/admin.ts')])
}
