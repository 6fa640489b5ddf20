/** Connections to MySQL, each set up alike, none waited for longer than its bound. */
import { setTimeout as sleep } from 'node:timers/promises'
import type mysql from 'mysql2/promise'
import { isDead, mapMysqlError, Timeout } from './mysql-errors.ts'
import type { MysqlSettings } from './mysql-url.ts'
import { StoreUnavailable } from './store.ts'

const LOCK_WAIT_SECONDS = 5
const WAITING_FOR_CONNECTION = 1_000
/** Prepared statements that a connection keeps on the server. */
const KEPT_STATEMENTS = 64

const SESSION = [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
  `SET SESSION innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}`,
]

export class MysqlPool {
  /** Made with the first connection: the client library takes longer to load than the embedded store to start. */
  #pool: Promise<mysql.Pool> | null = null
  readonly #settings: MysqlSettings
  /** Connections whose session is set up. */
  readonly #ready = new WeakSet<object>()
  readonly #used = new Set<mysql.PoolConnection>()

  /** A parameter that is sent as BIGINT; once there is a connection. */
  bigint: (value: number) => unknown = value => value

  constructor(settings: MysqlSettings) {
    this.#settings = settings
  }

  async #create(): Promise<mysql.Pool> {
    const { host, port, user, password, database, ssl, pool, connectMs } = this.#settings
    const { default: library } = await import('mysql2/promise')
    this.bigint = value => library.TypedParameter.BIGINT(value)
    return library.createPool({
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

  /** Rejects after `ms`, and then the connection is closed. */
  async bounded<T>(connection: mysql.PoolConnection, ms: number, work: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Timeout(`mysql: no answer in ${ms} ms`)), ms)
    try {
      return await Promise.race([work, late])
    } catch (error) {
      work.catch(() => {})
      const mapped = mapMysqlError(error)
      if (isDead(mapped)) connection.destroy()
      throw mapped
    } finally {
      clearTimeout(timer)
    }
  }

  async #connect(): Promise<mysql.PoolConnection> {
    const { connectMs, queryMs } = this.#settings
    this.#pool ??= this.#create()
    const coming = this.#pool.then(pool => pool.getConnection())
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
      for (const sql of SESSION) await this.bounded(connection, this.#settings.queryMs, connection.query(sql))
      this.#ready.add(inner)
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  /** A connection for the time of `fn`. It goes back to the pool, unless it died.*/
  async using<T>(fn: (connection: mysql.PoolConnection) => Promise<T>): Promise<T> {
    const connection = await this.#connect()
    this.#used.add(connection)
    try {
      return await fn(connection)
    } finally {
      this.#used.delete(connection)
      connection.release()
    }
  }

  /** Does not wait for work in progress: what is not committed rolls back. */
  async close(): Promise<void> {
    for (const connection of this.#used) connection.destroy()
    await Promise.race([this.#pool?.then(pool => pool.end()).catch(() => {}), sleep(1_000, undefined, { ref: false })])
  }
}
