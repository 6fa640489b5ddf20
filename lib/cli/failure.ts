/** The text that the operator reads when a command has failed. */
import { OperationError } from '../operations/error.ts'
import { StoreConflict, StoreUnavailable } from '../store/store.ts'
import { ConfigError } from '../terms/yaml.ts'

/** One line for each problem that the operator can solve; the whole stack when the error is a bug of the program. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof StoreUnavailable)
    return `gateway: the store cannot be used: ${error.message}. Does it run, at the address and under the name and password that \`store\` says?`
  if (error instanceof StoreConflict || error instanceof OperationError) return `gateway: ${error.message}`
  if (error instanceof Error && isExpected(error)) return `gateway: ${error.message}`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/**
 * The system refused (port in use, no permission), or the program threw a plain Error with a text for people. Bugs are
 * of other classes, such as TypeError.
 */
const isExpected = (error: Error): boolean => error.constructor === Error || 'syscall' in error
