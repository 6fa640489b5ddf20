/** What the operator reads when a command failed. */
import { StoreConflict, StoreUnavailable } from '../store/store.ts'
import { ConfigError } from '../terms/yaml.ts'

/** One line for each problem when it is the operator's to solve; the whole stack when it is a bug of ours. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof StoreUnavailable)
    return `gateway: the store cannot be used: ${error.message}. Does it run, at the address and under the name and password that \`store\` says?`
  if (error instanceof StoreConflict) return `gateway: ${error.message}`
  if (error instanceof Error && isExpected(error)) return `gateway: ${error.message}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** The system said no (port in use, no permission), or our own code did, in words for people: bugs have classes of their own. */
const isExpected = (error: Error): boolean => error.constructor === Error || 'syscall' in error
