/** What a command that failed prints, and the code with which it ends. */
import { ConfigError } from '../config/yaml.ts'
import { OperationError, type OperationFault } from '../operations/error.ts'
import { StoreConflict, StoreUnavailable } from '../store/base/errors.ts'

/** 0 is success. */
export const EXIT = { failed: 1, usage: 2, missing: 3, forbidden: 4, conflict: 5 } as const

const EXIT_OF: Record<OperationFault, number> = {
  invalid: EXIT.usage,
  missing: EXIT.missing,
  gone: EXIT.missing,
  forbidden: EXIT.forbidden,
  conflict: EXIT.conflict,
  full: EXIT.conflict,
  throttled: EXIT.failed,
}

/** Says why, and ends the process. */
export function endFailed(error: unknown): never {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(exitCodeOf(error))
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof OperationError) return EXIT_OF[error.fault]
  return error instanceof StoreConflict ? EXIT.conflict : EXIT.failed
}

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
