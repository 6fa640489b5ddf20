/**
 * The driver for MySQL and for engines that speak its protocol. It runs a transaction on a connection of the pool and
 * retries it: after a pause when the engine reports a deadlock or a conflict, on another connection when one is lost.
 *
 * Connections, waits and statements are bounded. After a time-out the connection is closed, because its state is
 * unknown, and the server rolls its transaction back. The exception is a time-out of COMMIT: then nobody knows whether
 * the transaction took effect, and the caller gets CommitUncertain.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type mysql from 'mysql2/promise'
import {
  CommitUncertain,
  type Dialect,
  type Driver,
  DuplicateKey,
  type OnStatement,
  type Param,
  PING,
  PING_PARAMS,
  type ReadingDriver,
  type Row,
  type RunResult,
  type Transaction,
} from '../base/driver.ts'
import { ConnectionLost, isDead, isUndone, RunAgain } from './mysql-errors.ts'
import { KEPT_STATEMENT_CHARACTERS, statementsOf } from './mysql-inserts.ts'
import { MysqlPool } from './mysql-pool.ts'
import { proveEngine, type ProofSession } from './mysql-proof.ts'
import { type MysqlSettings, parseMysqlUrl } from './mysql-url.ts'
import { StoreUnavailable } from '../base/errors.ts'

const dialect: Dialect = {
  name: 'mysql',
  now: 'UNIX_TIMESTAMP()',
  ignore: 'IGNORE',
  using: index => `FORCE INDEX (${index})`,
  overwrite: (_key, columns) => `ON DUPLICATE KEY UPDATE ${columns.map(c => `${c} = VALUES(${c})`).join(', ')}`,
  raise: (_key, columns) =>
    `ON DUPLICATE KEY UPDATE ${columns.map(c => `${c} = COALESCE(${c}, 0) + COALESCE(VALUES(${c}), 0)`).join(', ')}`,
  nowMs: 'CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)',
}

/**
 * How often a transaction is run when deadlocks and lock waits end it. The pause is 5 to 10 ms, doubled after each run.
 */
const RUNS = 6
const FIRST_PAUSE_MS = 5
/** How many more connections are tried after one turned out dead: after a server's restart the pool is full of them. */
const RECONNECTS = 2
/** One serves most exports: each has it for the time of a slice. */
const READING_CONNECTIONS = 2
/** The bound of a statement in a snapshot or a migration, which may read the whole table of usage. */
const SNAPSHOT_QUERY_MS = 600_000
/** The bound of each statement of a ping, and of its wait for a connection: it is repeated soon, on another connection. */
const PING_MS = 3_000
const SNAPSHOT_LEVEL = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'
const NO_SUCH_TABLE = 1146
/** How long a table that one connection created may stay unseen by the others: OceanBase shows it a moment later. */
const VISIBLE_MS = 3_000
const VISIBLE_PAUSE_MS = 100

class MysqlDriver implements Driver {
  readonly dialect = dialect
  readonly beside = null
  readonly timeoutMs: number
  readonly #pool: MysqlPool
  readonly #queryMs: number
  readonly #onStatement: OnStatement

  constructor(settings: MysqlSettings, onStatement: OnStatement, warn: (message: string) => void) {
    this.#pool = new MysqlPool(settings, warn)
    this.#queryMs = settings.queryMs
    this.timeoutMs = settings.queryMs
    this.#onStatement = onStatement
  }

  /** Parameters with numbers as BIGINT, because the client library would send them as floating-point numbers. */
  #bound(params: readonly Param[]): mysql.ExecuteValues[] {
    return params.map(value => (typeof value === 'number' ? this.#pool.bigint(value) : value)) as mysql.ExecuteValues[]
  }

  async #execute(
    connection: mysql.PoolConnection,
    op: string,
    sql: string,
    values: mysql.ExecuteValues[],
    ms: number,
    rare = false,
  ) {
    try {
      const [result] = await this.#pool.bounded(connection, ms, connection.execute(sql, values))
      this.#onStatement(op, true)
      return result
    } catch (error) {
      this.#onStatement(op, error instanceof DuplicateKey)
      throw error
    } finally {
      if (rare || sql.length > KEPT_STATEMENT_CHARACTERS) connection.unprepare(sql)
    }
  }

  #statements(connection: mysql.PoolConnection, op: string, ms: number): Transaction {
    return {
      query: async (sql, params) =>
        (await this.#execute(connection, op, sql, this.#bound(params), ms)) as unknown as Row[],
      run: async (sql, params, rare) =>
        runResult(await this.#execute(connection, op, sql, this.#bound(params), ms, rare)),
      insert: async (many, rows) => {
        for (const { sql, params, rare } of statementsOf(many, rows, this.#pool.takesJson === true))
          await this.#execute(connection, op, sql, params, ms, rare)
      },
    }
  }

  /** Retries `fn` after a pause when it throws RunAgain, and on another connection when it throws ConnectionLost. */
  async #persist<T>(fn: () => Promise<T>): Promise<T> {
    let reconnects = 0
    for (let run = 1; ; run++) {
      try {
        return await fn()
      } catch (error) {
        if (error instanceof RunAgain && run < RUNS) {
          await sleep(FIRST_PAUSE_MS * 2 ** (run - 1) * (1 + Math.random()))
        } else if (!(error instanceof ConnectionLost) || ++reconnects > RECONNECTS) {
          throw error instanceof RunAgain ? new StoreUnavailable(error.message, { cause: error }) : error
        }
      }
    }
  }

  query(op: string, sql: string, params: readonly Param[]): Promise<Row[]> {
    return this.#persist(() => this.#pool.using(c => this.#statements(c, op, this.#queryMs).query(sql, params)))
  }

  ping(): Promise<void> {
    const ms = Math.min(PING_MS, this.#queryMs)
    const ping = async (tx: Transaction) => void (await tx.run(PING, PING_PARAMS))
    return this.#persist(() =>
      this.#pool.usingOwn(ms, c => this.#transact(c, this.#statements(c, 'ping', ms), ping, ms)),
    )
  }

  /** Runs in a transaction of its own, so that a lost connection leaves the outcome open only at the COMMIT. */
  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult> {
    return this.transaction(op, tx => tx.run(sql, params))
  }

  transaction<T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#persist(() => this.#pool.using(c => this.#transact(c, this.#statements(c, op, this.#queryMs), fn)))
  }

  async #transact<T>(
    connection: mysql.PoolConnection,
    tx: Transaction,
    fn: (tx: Transaction) => Promise<T>,
    ms = this.#queryMs,
  ): Promise<T> {
    const command = (sql: string) => this.#pool.bounded(connection, ms, connection.query(sql))
    await command('START TRANSACTION')
    let value: T
    try {
      value = await fn(tx)
    } catch (error) {
      if (!isDead(error)) await command('ROLLBACK').catch(() => connection.destroy())
      throw error
    }
    try {
      await command('COMMIT')
    } catch (error) {
      connection.destroy()
      // Some errors (deadlock, read-only server) say for certain that nothing was committed; others leave it open.
      throw isUndone(error) ? error : new CommitUncertain((error as Error).message, { cause: error })
    }
    return value
  }

  snapshot<T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#persist(() =>
      this.#pool.using(async connection => {
        await this.#pool.bounded(connection, this.#queryMs, connection.query(SNAPSHOT_LEVEL))
        return this.#transact(connection, this.#statements(connection, op, SNAPSHOT_QUERY_MS), fn)
      }),
    )
  }

  async prove(): Promise<void> {
    for (let waitedMs = 0; ; waitedMs += VISIBLE_PAUSE_MS) {
      try {
        return await this.#persist(() =>
          this.#pool.using(one => this.#pool.using(two => proveEngine(this.#session(one), this.#session(two)))),
        )
      } catch (error) {
        if ((error as { errno?: number }).errno !== NO_SUCH_TABLE || waitedMs >= VISIBLE_MS) throw error
        await sleep(VISIBLE_PAUSE_MS)
      }
    }
  }

  #session(connection: mysql.PoolConnection): ProofSession {
    const command = async (sql: string) => {
      await this.#pool.bounded(connection, this.#queryMs, connection.query(sql))
    }
    return {
      ...this.#statements(connection, 'prove', this.#queryMs),
      async begin(level) {
        if (level === 'snapshot') await command(SNAPSHOT_LEVEL)
        await command('START TRANSACTION')
      },
      commit: () => command('COMMIT'),
      rollback: () => command('ROLLBACK'),
    }
  }

  script(statements: readonly string[]): Promise<void> {
    return this.#persist(() =>
      this.#pool.using(async connection => {
        for (const sql of statements) await this.#pool.bounded(connection, SNAPSHOT_QUERY_MS, connection.query(sql))
      }),
    )
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

const runResult = (result: unknown): RunResult => {
  const { affectedRows, insertId } = result as mysql.ResultSetHeader
  return { changes: affectedRows, insertId }
}

/** Opens the driver for a URL that `parseMysqlUrl` accepts. It connects at its first use. */
export const openMysql = (url: string, onStatement: OnStatement, warn: (message: string) => void): Driver =>
  new MysqlDriver(parseMysqlUrl(url), onStatement, warn)

/** For a thread that reads: with few connections of its own. */
export const openMysqlToRead = (url: string, onStatement: OnStatement): ReadingDriver =>
  new MysqlDriver({ ...parseMysqlUrl(url), pool: READING_CONNECTIONS }, onStatement, () => {})
