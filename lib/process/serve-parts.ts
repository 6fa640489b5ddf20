/** What `gateway serve` is started with, and what it has built before anything listens. */
import type { Store } from '../store/store.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../base/log.ts'
import type { Metrics } from '../terms/metrics.ts'

/** Kept, because a reload reads the file again, with the variables of the same environment. */
export interface ServeOptions {
  configFile: string
  env: NodeJS.ProcessEnv
}

export interface ServeParts {
  config: Config
  options: ServeOptions
  log: Logger
  metrics: Metrics
  store: Store
}
