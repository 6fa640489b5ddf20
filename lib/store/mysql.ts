/**
 * MySQL and what speaks its protocol. Everything is bounded: connections, the wait for one, each statement. After a
 * time-out the connection is closed, because nobody knows what it is doing; the server then rolls back, unless COMMIT
 * was on its way: that is the one case (`CommitUncertain`) that the store above must be able to bear.
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
  type Row,
  type RunResult,
  type Statements,
} from './driver.ts'
import { ConnectionLost, isDead, isUndone, RunAgain } from './mysql-errors.ts'
import { MysqlPool } from './mysql-pool.ts'
import { proveEngine, type Session } from './mysql-proof.ts'
import { type MysqlSettings, parseMysqlUrl } from './mysql-url.ts'
import { StoreUnavailable } from './store.ts'

const dialect: Dialect = {
  name: 'mysql',
  now: 'UNIX_TIMESTAMP()',
  ignore: 'IGNORE',
  using: index => `FORCE INDEX (${index})`,
  overwrite: (_key, columns) => `ON DUPLICATE KEY UPDATE ${columns.map(c => `${c} = VALUES(${c})`).join(', ')}`,
}

/** Runs of one transaction after deadlocks and lock waits, and what it waits in between: 5 to 10 ms, doubled each time. */
const RUNS = 6
const FIRST_PAUSE_MS = 5
/** Fresh connections tried after one that turned out dead: a server that restarted leaves a pool of them. */
const RECONNECTS = 2
/** A snapshot reads a whole table of usage. */
const SNAPSHOT_QUERY_MS = 600_000
/** Texts longer than this are forgotten by the server after use, as they seldom come again and take much memory. */
const KEPT_STATEMENT_CHARACTERS = 20_000
const SNAPSHOT_LEVEL = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'
const COLUMN_EXISTS = 1060
const INDEX_EXISTS = 1061

class MysqlDriver implements Driver {
  readonly dialect = dialect
  readonly #pool: MysqlPool
  readonly #queryMs: number
  readonly #onStatement: OnStatement

  constructor(settings: MysqlSettings, onStatement: OnStatement, warn: (message: string) => void) {
    this.#pool = new MysqlPool(settings, warn)
    this.#queryMs = settings.queryMs
    this.#onStatement = onStatement
  }

  /** Numbers as integers: the client library would send floating-point ones. */
  #bound(params: readonly Param[]): mysql.ExecuteValues[] {
    return params.map(value => (typeof value === 'number' ? this.#pool.bigint(value) : value)) as mysql.ExecuteValues[]
  }

  async #execute(
    connection: mysql.PoolConnection,
    op: string,
    sql: string,
    params: readonly Param[],
    ms: number,
    rare = false,
  ) {
    try {
      const [result] = await this.#pool.bounded(connection, ms, connection.execute(sql, this.#bound(params)))
      this.#onStatement(op, true)
      return result
    } catch (error) {
      this.#onStatement(op, error instanceof DuplicateKey)
      throw error
    } finally {
      if (rare || sql.length > KEPT_STATEMENT_CHARACTERS) connection.unprepare(sql)
    }
  }

  #statements(connection: mysql.PoolConnection, op: string, ms: number): Statements {
    return {
      query: async (sql, params) => (await this.#execute(connection, op, sql, params, ms)) as unknown as Row[],
      run: async (sql, params, rare) => runResult(await this.#execute(connection, op, sql, params, ms, rare)),
    }
  }

  /** Runs what may be run again: on another connection when one is lost, after a pause when locks are in the way. */
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

  /** In a transaction of its own, so that a lost connection leaves no doubt but at the commit. */
  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult> {
    return this.transaction(op, tx => tx.run(sql, params))
  }

  transaction<T>(op: string, fn: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#persist(() => this.#pool.using(c => this.#transact(c, this.#statements(c, op, this.#queryMs), fn)))
  }

  async #transact<T>(connection: mysql.PoolConnection, tx: Statements, fn: (tx: Statements) => Promise<T>): Promise<T> {
    const command = (sql: string) => this.#pool.bounded(connection, this.#queryMs, connection.query(sql))
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
      // An answer that says no (deadlock, read-only) is certain; silence and other answers are not.
      throw isUndone(error) ? error : new CommitUncertain((error as Error).message, { cause: error })
    }
    return value
  }

  snapshot<T>(op: string, fn: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#persist(() =>
      this.#pool.using(async connection => {
        await this.#pool.bounded(connection, this.#queryMs, connection.query(SNAPSHOT_LEVEL))
        return this.#transact(connection, this.#statements(connection, op, SNAPSHOT_QUERY_MS), fn)
      }),
    )
  }

  prove(): Promise<void> {
    return this.#persist(() =>
      this.#pool.using(one => this.#pool.using(two => proveEngine(this.#session(one), this.#session(two)))),
    )
  }

  #session(connection: mysql.PoolConnection): Session {
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
        for (const sql of statements) {
          const done = this.#pool.bounded(connection, SNAPSHOT_QUERY_MS, connection.query(sql))
          await done.catch(overlookRepeated)
        }
      }),
    )
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

/** MySQL has no CREATE INDEX IF NOT EXISTS, nor that for columns. */
function overlookRepeated(error: Error & { errno?: number }): void {
  if (error.errno !== INDEX_EXISTS && error.errno !== COLUMN_EXISTS) throw error
}

const runResult = (result: unknown): RunResult => {
  const { affectedRows, insertId } = result as mysql.ResultSetHeader
  return { changes: affectedRows, insertId }
}

/** See `parseMysqlUrl`. Connects at the first use. */
export const openMysql = (url: string, onStatement: OnStatement, warn: (message: string) => void): Driver =>
  new MysqlDriver(parseMysqlUrl(url), onStatement, warn)
