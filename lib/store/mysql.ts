/**
 * MySQL and what speaks its protocol. Everything is bounded: connections, the wait for one, each statement. After a
 * time-out the connection is closed, because nobody knows what it is doing; the server then rolls back, unless COMMIT
 * was on its way: that is the one case (`CommitUncertain`) that the store above must be able to bear.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import mysql from 'mysql2/promise'
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
import { ConnectionLost, mapMysqlError, RunAgain, Timeout } from './mysql-errors.ts'
import { type MysqlSettings, parseMysqlUrl } from './mysql-url.ts'
import { StoreUnavailable } from './store.ts'

const dialect: Dialect = {
  name: 'mysql',
  ignore: 'IGNORE',
  overwrite: (_key, columns) => `ON DUPLICATE KEY UPDATE ${columns.map(c => `${c} = VALUES(${c})`).join(', ')}`,
}

/** Runs of one transaction after deadlocks and lock waits, and what it waits in between: 5 to 10 ms, doubled each time. */
const RUNS = 6
const FIRST_PAUSE_MS = 5
/** Fresh connections tried after one that turned out dead: a server that restarted leaves a pool of them. */
const RECONNECTS = 2
/** A snapshot reads a whole table of usage. */
const SNAPSHOT_QUERY_MS = 600_000
const LOCK_WAIT_SECONDS = 5
const WAITING_FOR_CONNECTION = 1_000
/** Texts longer than this are forgotten by the server after use, as they seldom come again and take much memory. */
const KEPT_STATEMENT_CHARACTERS = 16_384
const KEPT_STATEMENTS = 64

const SESSION = [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
  `SET SESSION innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}`,
]

/** Bound as integers: the client would send a JavaScript number as a floating-point number. */
const bound = (params: readonly Param[]) =>
  params.map(value => (typeof value === 'number' ? mysql.TypedParameter.BIGINT(value) : value))

class MysqlDriver implements Driver {
  readonly dialect = dialect
  readonly #pool: mysql.Pool
  readonly #settings: MysqlSettings
  readonly #onStatement: OnStatement
  /** Connections whose session is set up. */
  readonly #ready = new WeakSet<object>()
  readonly #used = new Set<mysql.PoolConnection>()

  constructor(settings: MysqlSettings, onStatement: OnStatement) {
    this.#settings = settings
    this.#onStatement = onStatement
    const { host, port, user, password, database, ssl, pool, connectMs } = settings
    this.#pool = mysql.createPool({
      host,
      port,
      user,
      password,
      database,
      ...(ssl === null ? {} : { ssl }),
      connectTimeout: connectMs,
      connectionLimit: pool,
      maxIdle: Math.ceil(pool / 2),
      idleTimeout: 60_000,
      queueLimit: WAITING_FOR_CONNECTION,
      charset: 'utf8mb4_bin',
      timezone: 'Z',
      supportBigNumbers: true,
      maxPreparedStatements: KEPT_STATEMENTS,
    })
  }

  /** Rejects after `ms`, and the connection is good for nothing after that. */
  async #bounded<T>(connection: mysql.PoolConnection, ms: number, work: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Timeout(`mysql: no answer in ${ms} ms`)), ms)
    try {
      return await Promise.race([work, late])
    } catch (error) {
      work.catch(() => {})
      const mapped = mapMysqlError(error)
      if (mapped instanceof Timeout || mapped instanceof ConnectionLost) connection.destroy()
      throw mapped
    } finally {
      clearTimeout(timer)
    }
  }

  async #connect(): Promise<mysql.PoolConnection> {
    const { connectMs, queryMs } = this.#settings
    const coming = this.#pool.getConnection()
    const { promise: late, reject } = Promise.withResolvers<never>()
    const waitMs = Math.max(connectMs, queryMs)
    const timer = setTimeout(() => reject(new Timeout(`mysql: no connection in ${waitMs} ms`)), waitMs)
    let connection: mysql.PoolConnection
    try {
      connection = await Promise.race([coming, late])
    } catch (error) {
      coming.then(
        late => late.release(),
        () => {},
      )
      const mapped = mapMysqlError(error)
      throw mapped instanceof StoreUnavailable ? mapped : new StoreUnavailable(mapped.message, { cause: mapped })
    } finally {
      clearTimeout(timer)
    }
    await this.#prepareSession(connection)
    return connection
  }

  async #prepareSession(connection: mysql.PoolConnection): Promise<void> {
    // The pool hands out a new wrapper each time; the connection inside stays.
    const inner = connection.connection
    if (this.#ready.has(inner)) return
    try {
      for (const sql of SESSION) await this.#bounded(connection, this.#settings.queryMs, connection.query(sql))
      this.#ready.add(inner)
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  /** A connection for the time of `fn`. Whatever goes wrong inside a transaction is rolled back by closing it. */
  async #using<T>(fn: (connection: mysql.PoolConnection) => Promise<T>): Promise<T> {
    const connection = await this.#connect()
    this.#used.add(connection)
    try {
      return await fn(connection)
    } finally {
      this.#used.delete(connection)
      connection.release()
    }
  }

  async #execute(connection: mysql.PoolConnection, op: string, sql: string, params: readonly Param[], ms: number) {
    try {
      const [result] = await this.#bounded(connection, ms, connection.execute(sql, bound(params)))
      if (sql.length > KEPT_STATEMENT_CHARACTERS) connection.unprepare(sql)
      this.#onStatement(op, true)
      return result
    } catch (error) {
      this.#onStatement(op, error instanceof DuplicateKey)
      throw error
    }
  }

  #statements(connection: mysql.PoolConnection, op: string, ms: number): Statements {
    return {
      query: async (sql, params) => (await this.#execute(connection, op, sql, params, ms)) as unknown as Row[],
      run: async (sql, params) => runResult(await this.#execute(connection, op, sql, params, ms)),
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
    const { queryMs } = this.#settings
    return this.#persist(() => this.#using(c => this.#statements(c, op, queryMs).query(sql, params)))
  }

  /** In a transaction of its own, so that a lost connection leaves no doubt but at the commit. */
  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult> {
    return this.transaction(op, tx => tx.run(sql, params))
  }

  transaction<T>(op: string, fn: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#persist(() => this.#using(c => this.#transact(c, this.#statements(c, op, this.#settings.queryMs), fn)))
  }

  async #transact<T>(connection: mysql.PoolConnection, tx: Statements, fn: (tx: Statements) => Promise<T>): Promise<T> {
    const command = (sql: string) => this.#bounded(connection, this.#settings.queryMs, connection.query(sql))
    await command('START TRANSACTION')
    let value: T
    try {
      value = await fn(tx)
    } catch (error) {
      await command('ROLLBACK').catch(() => connection.destroy())
      throw error
    }
    try {
      await command('COMMIT')
    } catch (error) {
      connection.destroy()
      // An answer that says no (deadlock, read-only) is certain; silence is not.
      if (error instanceof RunAgain) throw error
      if (error instanceof Timeout || error instanceof ConnectionLost) {
        throw new CommitUncertain((error as Error).message, { cause: error })
      }
      throw error
    }
    return value
  }

  snapshot<T>(op: string, fn: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#persist(() =>
      this.#using(async connection => {
        await this.#bounded(
          connection,
          this.#settings.queryMs,
          connection.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'),
        )
        return this.#transact(connection, this.#statements(connection, op, SNAPSHOT_QUERY_MS), fn)
      }),
    )
  }

  script(statements: readonly string[]): Promise<void> {
    return this.#persist(() =>
      this.#using(async connection => {
        for (const sql of statements) await this.#bounded(connection, SNAPSHOT_QUERY_MS, connection.query(sql))
      }),
    )
  }

  /** Does not wait for work in progress: what is not committed rolls back. */
  async close(): Promise<void> {
    for (const connection of this.#used) connection.destroy()
    await Promise.race([this.#pool.end().catch(() => {}), sleep(1_000, undefined, { ref: false })])
  }
}

const runResult = (result: unknown): RunResult => {
  const { affectedRows, insertId } = result as mysql.ResultSetHeader
  return { changes: affectedRows, insertId }
}

/** See `parseMysqlUrl`. Connects at the first use. */
export const openMysql = (url: string, onStatement: OnStatement): Driver =>
  new MysqlDriver(parseMysqlUrl(url), onStatement)
