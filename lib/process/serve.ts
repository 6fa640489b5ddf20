/**
 * The command `gateway serve`: prepares the store and the catalogue, then serves in this process, or in workers that this
 * process starts. Code that is not needed to become ready is loaded after that, because a restart should be short.
 */
import type { OperationDeps } from '../operations/deps.ts'
import type { Config } from '../config/config.ts'
import { createLogger } from '../base/log.ts'
import { Metrics } from '../terms/metrics.ts'
import { prepareFolders } from './data-paths.ts'
import { openProcessStore, prepareStore, type ServeOptions } from './prepare.ts'

/** Starts the gateway. Resolves when it is ready, with what operations on it need. A signal ends the gateway later. */
export async function serveGateway(config: Config, options: ServeOptions): Promise<OperationDeps> {
  prepareFolders(config, options.configFile)
  const log = createLogger(config.log.level)
  const metrics = new Metrics()
  const store = openProcessStore(config, metrics, log)
  // the store works in a thread of its own, while this one loads the code that follows
  const prepared = prepareStore(store, config, options.env, log)
  prepared.catch(() => {}) // a failure is thrown below, by the await
  const ready =
    config.workers > 1
      ? (await import('./serve-workers.ts')).servePrimary
      : (await import('./serve-alone.ts')).serveAlone
  await prepared
  const operations = await ready({ config, options, log, metrics, store })
  // the first requests do not need these two, so they are loaded only now, but before somebody asks for them
  await Promise.all([metrics.watchProcess(), import('../admin/server.ts').then(({ loadAdmin }) => loadAdmin())])
  return operations
}
