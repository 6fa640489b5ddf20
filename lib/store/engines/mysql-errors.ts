/**
 * What an error of an engine that speaks MySQL's protocol means to the store: one row for each error number. A row says
 * how the driver reacts, whether a COMMIT that fails with this error has certainly been rolled back, what the error
 * means, and which manual says so. `mapMysqlError` turns an error of the client library into one of the store's error
 * classes by this table.
 */
import { DuplicateKey } from '../base/driver.ts'
import { StoreUnavailable } from '../base/errors.ts'

interface MysqlError extends Error {
  code?: string
  errno?: number
  fatal?: boolean
  sqlState?: string
}

/**
 * The driver's reaction.
 * `again`: roll the transaction back and run it again after a pause.
 * `reconnect`: close this connection and run the transaction again on a new one.
 * `moved`: as `reconnect`, and close all other connections too, because the address may lead to another server by now.
 * `later`: give up with StoreUnavailable; a retry at once would not help.
 * `taken`: give up with DuplicateKey.
 */
type Cure = 'again' | 'reconnect' | 'moved' | 'later' | 'taken'

/**
 * What a COMMIT that failed with this error did. `undone`: it certainly had no effect. `open`: nobody knows. An error
 * without a row counts as `open`.
 */
type Commit = 'undone' | 'open'

type ErrorRow = [errno: number, cure: Cure, commit: Commit, meaning: string, source: string]

const MYSQL = 'MySQL server error reference'
const CLIENT = 'MySQL client error reference'
const MARIADB = 'MariaDB error codes'
const TIDB = 'TiDB manual, error codes'
const OCEANBASE = 'OceanBase source, ob_errno.def'
const GALERA = 'Galera manual'

export const MYSQL_ERRORS: readonly ErrorRow[] = [
  [1020, 'again', 'undone', 'the record changed since it was read', MARIADB],
  [1021, 'later', 'open', 'the disk is full', MYSQL],
  [1040, 'later', 'open', 'too many connections', MYSQL],
  [1041, 'later', 'open', 'out of resources; Vitess: transactions are throttled', MYSQL],
  [1047, 'moved', 'open', 'Galera: the node has no quorum or is not in step', GALERA],
  [1053, 'reconnect', 'open', 'the server is shutting down', MYSQL],
  [1062, 'taken', 'undone', 'duplicate key', MYSQL],
  [1077, 'later', 'open', 'normal shutdown', MYSQL],
  [1078, 'later', 'open', 'the server got a signal', MYSQL],
  [1079, 'later', 'open', 'shutdown complete', MYSQL],
  [1080, 'reconnect', 'open', 'the server forces this connection to close', MYSQL],
  [1114, 'later', 'open', 'the table is full', MYSQL],
  [1152, 'reconnect', 'open', 'aborted connection', MYSQL],
  [1158, 'reconnect', 'open', 'reading from the connection failed', MYSQL],
  [1159, 'reconnect', 'open', 'reading from the connection took too long', MYSQL],
  [1160, 'reconnect', 'open', 'writing to the connection failed', MYSQL],
  [1161, 'reconnect', 'open', 'writing to the connection took too long', MYSQL],
  [1203, 'later', 'open', 'too many connections of this user; Vitess: a pool is used up', MYSQL],
  [1205, 'again', 'undone', 'a lock was waited for too long', MYSQL],
  [1206, 'later', 'undone', 'too many locks', MYSQL],
  [1213, 'again', 'undone', 'deadlock; Galera: another node changed the same row', MYSQL],
  [1226, 'later', 'open', 'the user has used up a resource', MYSQL],
  [1290, 'moved', 'undone', 'the server is read-only', MYSQL],
  [1317, 'later', 'open', 'the statement was killed; Vitess: the transaction was ended', MYSQL],
  [1412, 'again', 'undone', 'the table was redefined', MYSQL],
  [1461, 'reconnect', 'undone', 'too many prepared statements; those of a closed connection are freed', MYSQL],
  [1586, 'taken', 'undone', 'duplicate key', MYSQL],
  [1615, 'again', 'undone', 'a statement must be prepared again', MYSQL],
  [1792, 'moved', 'undone', 'the transaction is read-only', MYSQL],
  [1836, 'moved', 'undone', 'the server is in read-only mode', MYSQL],
  [1927, 'reconnect', 'open', 'the connection was killed', MARIADB],
  [1969, 'later', 'open', 'the statement took too long', MARIADB],
  [2002, 'later', 'open', 'no connection', CLIENT],
  [2003, 'later', 'open', 'no connection', CLIENT],
  [2006, 'reconnect', 'open', 'the server has gone away', CLIENT],
  [2013, 'reconnect', 'open', 'the connection was lost', CLIENT],
  [2055, 'reconnect', 'open', 'the connection was lost', CLIENT],
  [3024, 'later', 'open', 'the statement took too long', MYSQL],
  [3032, 'moved', 'open', 'the server is offline', MYSQL],
  [3101, 'again', 'undone', 'group replication rolled it back', MYSQL],
  [3169, 'reconnect', 'open', 'the session was killed', MYSQL],
  // one number for time-outs of a statement, of a transaction and of a call between nodes, and for "result is unknown"
  [4012, 'again', 'open', 'OceanBase: a time-out', OCEANBASE],
  [4031, 'reconnect', 'open', 'the server closed an idle connection', MYSQL],
  [4038, 'moved', 'open', 'OceanBase: this node is not the leader', OCEANBASE],
  [5930, 'reconnect', 'undone', 'OceanBase: too many prepared statements of this session', OCEANBASE],
  [6001, 'again', 'undone', 'OceanBase: what was read has changed', OCEANBASE],
  [6002, 'again', 'undone', 'OceanBase: the transaction was rolled back', OCEANBASE],
  [6005, 'again', 'undone', 'OceanBase: a row could not be locked', OCEANBASE],
  [8002, 'again', 'undone', 'TiDB: conflict at the commit of a locking read', TIDB],
  [8005, 'again', 'undone', 'TiDB: write conflict, the transaction is stale', TIDB],
  [8022, 'again', 'undone', 'TiDB: the commit failed and was rolled back', TIDB],
  [8028, 'again', 'undone', 'TiDB: the schema changed meanwhile', TIDB],
  // TiDB closes the connection when it does not know a commit's outcome; treating these as open is the safe side
  [9001, 'again', 'open', 'TiDB: the placement driver took too long', TIDB],
  [9002, 'again', 'open', 'TiDB: the storage took too long', TIDB],
  [9003, 'again', 'open', 'TiDB: the storage is busy', TIDB],
  [9004, 'again', 'open', 'TiDB: a lock could not be resolved', TIDB],
  [9005, 'again', 'open', 'TiDB: a region is unavailable', TIDB],
  [9007, 'again', 'undone', 'TiDB: write conflict', TIDB],
]

/** Error 1105 is MySQL's "unknown error": only its text says what happened. */
const UNKNOWN = 1105
type TextRow = [text: RegExp, cure: Cure, commit: Commit, meaning: string, source: string]
const VITESS = 'Vitess source, vterrors'

const MYSQL_TEXTS: readonly TextRow[] = [
  [
    /operation not allowed in state (NOT_SERVING|SHUTTING_DOWN)/,
    'moved',
    'open',
    'Vitess: a tablet is leaving',
    VITESS,
  ],
  [/(wrong|invalid) tablet type/, 'moved', 'open', 'Vitess: another tablet is the primary now', VITESS],
  [/primary is not serving|no healthy tablet|tablet not found/i, 'moved', 'open', 'Vitess: no primary', VITESS],
  [/code = (Unavailable|CLUSTER_EVENT)/i, 'moved', 'open', 'Vitess: a tablet is away', VITESS],
  [
    /code = Aborted|transaction \S+ (ended|not found|in use: for tx killer)/,
    'again',
    'open',
    'Vitess: rolled back',
    VITESS,
  ],
  [/\[try again later\]/, 'again', 'open', 'TiDB before 3.0: write conflict', TIDB],
]

/** Codes of the client library and the operating system that say: the connection ended, or was never made. */
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
/** The SQLSTATE class of connection errors. */
const CONNECTION_CLASS = '08'

const BY_NUMBER = new Map(MYSQL_ERRORS.map(([errno, cure, commit]) => [errno, { cure, commit }]))

function rowOf({ errno = 0, code = '', sqlState = '', fatal, message }: MysqlError) {
  const text = errno === UNKNOWN ? MYSQL_TEXTS.find(([pattern]) => pattern.test(message)) : undefined
  if (text !== undefined) return { cure: text[1], commit: text[2] }
  // OceanBase's numbers above 8000 mean "close this connection", while TiDB uses the same numbers for conflicts. The
  // SQLSTATE tells them apart.
  const connectionError = errno > 8000 && sqlState.startsWith(CONNECTION_CLASS)
  const row = connectionError ? undefined : BY_NUMBER.get(errno)
  if (row !== undefined) return row
  if (connectionError || LOST_CODES.has(code)) return { cure: 'reconnect', commit: 'open' } as const
  return fatal === true ? ({ cure: 'later', commit: 'open' } as const) : null
}

/** A statement, or the wait for a connection, took longer than its bound. */
export class Timeout extends StoreUnavailable {
  override name = 'Timeout'
}

/** A deadlock, lock time-out or write conflict: the transaction has no effect and may run again. */
export class RunAgain extends Error {
  override name = 'RunAgain'
}

/** The connection cannot be used any more; another one may work. */
export class ConnectionLost extends StoreUnavailable {
  override name = 'ConnectionLost'
}

/** The server refuses writes (read-only, not the leader): after a fail-over another server may have its place. */
export class ServerMoved extends ConnectionLost {
  override name = 'ServerMoved'
  override readonly readsOnly = true
}

/** Whether the connection on which this error occurred must be closed. */
export const isDead = (error: unknown): boolean => error instanceof Timeout || error instanceof ConnectionLost

/** Whether a COMMIT that failed with this error certainly had no effect. */
export const isUndone = (error: unknown): boolean =>
  rowOf(((error as Error).cause ?? error) as MysqlError)?.commit === 'undone'

const CLASSES = {
  again: RunAgain,
  reconnect: ConnectionLost,
  moved: ServerMoved,
  later: StoreUnavailable,
  taken: DuplicateKey,
}

/** Turns an error of the client library into one of the store's classes, with the original as its `cause`. */
export function mapMysqlError(error: unknown): Error {
  if (error instanceof StoreUnavailable || error instanceof RunAgain || error instanceof DuplicateKey) return error
  const { code, errno, message } = error as MysqlError
  const text = `mysql: ${message} (${code ?? errno})`
  if (code === 'ETIMEDOUT') return new Timeout(text, { cause: error })
  const row = rowOf(error as MysqlError)
  if (row !== null) return new CLASSES[row.cure](text, { cause: error })
  return error instanceof Error ? error : new Error(text)
}
