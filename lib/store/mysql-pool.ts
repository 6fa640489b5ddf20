/** Connections to MySQL, each set up alike, none waited for longer than its bound. */
import { setTimeout as sleep } from 'node:timers/promises'
import type mysql from 'mysql2/promise'
import { isDead, mapMysqlError, ServerMoved, Timeout } from './mysql-errors.ts'
import type { MysqlSettings } from './mysql-url.ts'
import { StoreUnavailable } from './store.ts'

const LOCK_WAIT_S = 5
const WAITING_FOR_CONNECTION = 1_000
/** Prepared statements that a connection keeps on the server. OceanBase allows a session 50, unless told otherwise. */
const KEPT_STATEMENTS = 32

/** What the books need of a session. */
const SESSION = [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
]
/** What only tunes it. An engine may refuse it. */
const TUNING: { only?: RegExp; sql: string }[] = [
  { sql: `SET SESSION innodb_lock_wait_timeout = ${LOCK_WAIT_S}` },
  // It takes the setting above and does not follow it: waits would end with the statement's own bound.
  { only: /oceanbase/i, sql: `SET SESSION ob_trx_lock_timeout = ${LOCK_WAIT_S * 1_000_000}` },
]

async function tuningOf(say: (sql: string) => Promise<unknown>): Promise<string[]> {
  const [[row]] = (await say('SELECT VERSION() AS version')) as [{ version: string }[]]
  return TUNING.filter(({ only }) => only === undefined || only.test(row!.version)).map(({ sql }) => sql)
}

export class MysqlPool {
  /** Made with the first connection: the client library takes longer to load than the embedded store to start. */
  #pool: Promise<mysql.Pool> | null = null
  readonly #settings: MysqlSettings
  readonly #warn: (message: string) => void
  /** Connections whose session is set up, and the era in which they were made. */
  readonly #eras = new WeakMap<object, number>()
  /** Raised when the address may lead to another server: connections of an earlier era are closed. */
  #era = 0
  /** Settings that this engine takes, as far as is known; null: it was not asked yet. */
  #tuning: readonly string[] | null = null
  readonly #used = new Set<mysql.PoolConnection>()

  /** A parameter that is sent as BIGINT; once there is a connection. */
  bigint: (value: number) => unknown = value => value

  constructor(settings: MysqlSettings, warn: (message: string) => void) {
    this.#settings = settings
    this.#warn = warn
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
      // What was not answered here would not be on the connections beside it, if the server is gone without a word.
      const leaves = mapped instanceof ServerMoved || mapped instanceof Timeout
      if (leaves && this.#eras.get(connection.connection) === this.#era) this.#era++
      throw mapped
    } finally {
      clearTimeout(timer)
    }
  }

  async #connect(): Promise<mysql.PoolConnection> {
    for (;;) {
      const connection = await this.#connection()
      // The pool hands out a new wrapper each time; the connection inside stays.
      const inner = connection.connection
      const era = this.#eras.get(inner)
      if (era === this.#era) return connection
      if (era === undefined) {
        await this.#prepareSession(connection)
        this.#eras.set(inner, this.#era)
        return connection
      }
      connection.destroy()
    }
  }

  async #connection(): Promise<mysql.PoolConnection> {
    const { connectMs, queryMs } = this.#settings
    this.#pool ??= this.#create()
    const coming = this.#pool.then(pool => pool.getConnection())
    const { promise: late, reject } = Promise.withResolvers<never>()
    const waitMs = Math.max(connectMs, queryMs)
    const timer = setTimeout(() => reject(new Timeout(`mysql: no connection in ${waitMs} ms`)), waitMs)
    try {
      return await Promise.race([coming, late])
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
  }

  async #prepareSession(connection: mysql.PoolConnection): Promise<void> {
    const say = (sql: string) => this.bounded(connection, this.#settings.queryMs, connection.query(sql))
    try {
      for (const sql of SESSION) await say(sql)
      this.#tuning ??= await tuningOf(say)
      for (const sql of this.#tuning) await say(sql).catch(error => this.#untuned(sql, error))
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  #untuned(sql: string, error: Error): void {
    if (isDead(error)) throw error
    const left = this.#tuning!.filter(other => other !== sql)
    if (left.length < this.#tuning!.length) this.#warn(`the store goes on without a setting: ${sql}: ${error.message}`)
    this.#tuning = left
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
