/** What the calls of the console are given: what every operation is, and what only people need. */
import type { OperationDeps } from '../../operations/deps.ts'
import type { Config } from '../../terms/config.ts'

export interface ConsoleDeps extends OperationDeps {
  /** The config in force. A function, because a reload may change it. */
  config: () => Config
}
