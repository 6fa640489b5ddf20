/** What a failure of MySQL, MariaDB, TiDB or Vitess means to the store. */
import { DuplicateKey } from './driver.ts'
import { StoreUnavailable } from './store.ts'

interface MysqlError extends Error {
  code?: string
  errno?: number
  fatal?: boolean
}

const DUPLICATE = new Set([1062, 1586])
/** Lock wait, deadlock, and TiDB's write conflict, retryable transaction, and changed schema. */
const AGAIN = new Set([1205, 1213, 8002, 8022, 8028, 9007])
/**
 * Server going, full, or read-only: too many connections (server, user), shutdown, cannot connect, server gone, lost;
 * read-only (option, transaction, mode), killed statement, time-outs, disk full, TiDB's busy regions.
 */
const UNAVAILABLE = new Set([
  1021, 1040, 1041, 1053, 1077, 1078, 1079, 1080, 1114, 1152, 1158, 1159, 1160, 1161, 1203, 1226, 1290, 1317, 1792,
  1836, 1927, 1969, 2002, 2003, 2006, 2013, 2055, 3024, 3032, 4031, 9001, 9002, 9003, 9004, 9005,
])
/** The connection ended, or was never made; nothing that began on it will be committed unless COMMIT was sent. */
const LOST_CODES = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
const LOST = new Set([1053, 1080, 1152, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 2055, 4031])

/** A statement or a wait took longer than its bound. */
export class Timeout extends StoreUnavailable {
  override name = 'Timeout'
}

/** A lock could not be had; the transaction was or must be rolled back and may be run again. */
export class RunAgain extends Error {
  override name = 'RunAgain'
}

/** The connection is gone. */
export class ConnectionLost extends StoreUnavailable {
  override name = 'ConnectionLost'
}

/** The connection cannot be used any more. */
export const isDead = (error: unknown): boolean => error instanceof Timeout || error instanceof ConnectionLost

export function mapMysqlError(error: unknown): Error {
  const { code, errno = 0, fatal, message } = error as MysqlError
  if (error instanceof StoreUnavailable || error instanceof RunAgain || error instanceof DuplicateKey) return error
  const text = `mysql: ${message} (${code ?? errno})`
  if (DUPLICATE.has(errno)) return new DuplicateKey(text, { cause: error })
  if (AGAIN.has(errno)) return new RunAgain(text, { cause: error })
  if (code === 'ETIMEDOUT') return new Timeout(text, { cause: error })
  if (LOST_CODES.has(code ?? '') || LOST.has(errno)) return new ConnectionLost(text, { cause: error })
  if (UNAVAILABLE.has(errno) || fatal === true) return new StoreUnavailable(text, { cause: error })
  return error instanceof Error ? error : new Error(text)
}
