/**
 * The connection pool for MySQL, with one more connection for pings, which so never wait behind other calls. It prepares the session of each new connection (isolation level, sql_mode, time zone, lock
 * waits), bounds every wait by a time-out, and closes connections that may lead to the wrong server.
 *
 * The last works by a generation number. Each connection remembers the generation in which it was made. An error that
 * suggests that the server is gone or has become a replica raises the pool's number; from then on a connection of an
 * older generation is closed instead of being handed out, because a load balancer or DNS name may lead to another
 * server now.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type mysql from 'mysql2/promise'
import { isDead, mapMysqlError, ServerMoved, Timeout } from './mysql-errors.ts'
import { takesJson } from './mysql-inserts.ts'
import type { MysqlSettings } from './mysql-url.ts'
import { StoreUnavailable } from '../base/errors.ts'

const LOCK_WAIT_S = 5
/** The most calls that may wait for a connection. */
const MOST_WAITING = 1_000
/** Prepared statements that a connection keeps on the server. OceanBase's default limit for a session is 50. */
const KEPT_STATEMENTS = 32

/** Settings without which the books would be wrong: an engine that refuses one cannot be used. */
const SESSION = [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
  // Local time has an hour that comes twice, and the store's clock is made of it.
  "SET SESSION time_zone = '+00:00'",
]
/** Settings that only make waits shorter: an engine may refuse them. */
const TUNING: { only?: RegExp; sql: string }[] = [
  { sql: `SET SESSION innodb_lock_wait_timeout = ${LOCK_WAIT_S}` },
  // OceanBase accepts the setting above and ignores it; only this one keeps lock waits shorter than the query time-out.
  { only: /oceanbase/i, sql: `SET SESSION ob_trx_lock_timeout = ${LOCK_WAIT_S * 1_000_000}` },
]

async function tuningOf(send: (sql: string) => Promise<unknown>): Promise<string[]> {
  const [[row]] = (await send('SELECT VERSION() AS version')) as [{ version: string }[]]
  return TUNING.filter(({ only }) => only === undefined || only.test(row!.version)).map(({ sql }) => sql)
}

/** A number of places. Whoever finds none waits in a line, and leaves it when he has waited too long. */
class Places {
  #free: number
  readonly #line = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  async take(ms: number): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return
    }
    if (this.#line.size >= MOST_WAITING) throw new StoreUnavailable('mysql: too many calls wait for a connection')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#line.add(resolve)
    const timer = setTimeout(() => {
      this.#line.delete(resolve)
      reject(new Timeout(`mysql: no connection in ${ms} ms`))
    }, ms)
    try {
      await promise
    } finally {
      clearTimeout(timer)
    }
  }

  give(): void {
    const [next] = this.#line
    if (next === undefined) this.#free++
    else {
      this.#line.delete(next)
      next()
    }
  }
}

export class MysqlPool {
  /** The library's pool, created with the first connection, because loading the client library takes long. */
  #pool: Promise<mysql.Pool> | null = null
  readonly #settings: MysqlSettings
  readonly #warn: (message: string) => void
  /** The generation of each connection whose session has been prepared. */
  readonly #generations = new WeakMap<object, number>()
  /** Raised when the address may lead to another server. */
  #generation = 0
  /** The tuning statements that this engine has not refused; null before the first connection has asked it. */
  #tuning: readonly string[] | null = null
  readonly #used = new Set<mysql.PoolConnection>()
  readonly #places: Places
  readonly #ownPlace = new Places(1)

  /** Whether the engine takes rows as JSON; null before the first connection has asked it. */
  takesJson: boolean | null = null

  /** Wraps a number so that it is sent as BIGINT. Set when the library is loaded, so before any statement is sent. */
  bigint: (value: number) => unknown = value => value

  constructor(settings: MysqlSettings, warn: (message: string) => void) {
    this.#settings = settings
    this.#warn = warn
    this.#places = new Places(settings.pool)
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
      connectionLimit: pool + 1,
      maxIdle: Math.ceil(pool / 2),
      idleTimeout: 60_000,
      queueLimit: MOST_WAITING,
      charset: 'utf8mb4_bin',
      timezone: 'Z',
      supportBigNumbers: true,
      maxPreparedStatements: KEPT_STATEMENTS,
    })
  }

  /**
   * The result of `work`, which runs on `connection`. Throws Timeout after `ms`. After a time-out, or any other error
   * that leaves the connection unusable, the connection is closed. Errors are mapped by `mapMysqlError`.
   */
  async bounded<T>(connection: mysql.PoolConnection, ms: number, work: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Timeout(`mysql: no answer in ${ms} ms`)), ms)
    try {
      return await Promise.race([work, late])
    } catch (error) {
      work.catch(() => {})
      const mapped = mapMysqlError(error)
      if (isDead(mapped)) connection.destroy()
      // A server that died without closing its connections lets every one of them time out, so one time-out retires
      // all.
      const retireAll = mapped instanceof ServerMoved || mapped instanceof Timeout
      if (retireAll && this.#generations.get(connection.connection) === this.#generation) this.#generation++
      throw mapped
    } finally {
      clearTimeout(timer)
    }
  }

  /** Gives the place that was taken for the connection back when there is none. */
  async #connect(places: Places, ms: number): Promise<mysql.PoolConnection> {
    await places.take(ms)
    for (;;) {
      const asked = this.#generation
      const connection = await this.#connection(places, ms)
      // The library hands out a new wrapper each time, so the connection inside the wrapper is what is remembered.
      const inner = connection.connection
      const generation = this.#generations.get(inner)
      if (generation === this.#generation) return connection
      if (generation === undefined) {
        await this.#prepareSession(connection, ms).catch(error => {
          places.give()
          throw error
        })
        // The number of the moment before it was made: if it was raised since, this connection is an old one already.
        this.#generations.set(inner, asked)
        if (asked === this.#generation) return connection
      }
      connection.destroy()
    }
  }

  /** A connection that comes too late has the place until then. */
  async #connection(places: Places, ms: number): Promise<mysql.PoolConnection> {
    this.#pool ??= this.#create()
    const coming = this.#pool.then(pool => pool.getConnection())
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Timeout(`mysql: no connection in ${ms} ms`)), ms)
    try {
      return await Promise.race([coming, late])
    } catch (error) {
      coming
        .then(
          late => late.release(),
          () => {},
        )
        .finally(() => places.give())
      const mapped = mapMysqlError(error)
      throw mapped instanceof StoreUnavailable ? mapped : new StoreUnavailable(mapped.message, { cause: mapped })
    } finally {
      clearTimeout(timer)
    }
  }

  async #prepareSession(connection: mysql.PoolConnection, ms: number): Promise<void> {
    const send = (sql: string) => this.bounded(connection, ms, connection.query(sql))
    try {
      for (const sql of SESSION) await send(sql)
      this.#tuning ??= await tuningOf(send)
      for (const sql of this.#tuning) await send(sql).catch(error => this.#dropTuning(sql, error))
      this.takesJson ??= await takesJson((sql, params) => this.bounded(connection, ms, connection.execute(sql, params)))
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  /** The engine refused a tuning statement: it is not tried on later connections, and the operator hears of it once. */
  #dropTuning(sql: string, error: Error): void {
    if (isDead(error)) throw error
    const left = this.#tuning!.filter(other => other !== sql)
    if (left.length < this.#tuning!.length) this.#warn(`the store goes on without a setting: ${sql}: ${error.message}`)
    this.#tuning = left
  }

  /** Lends a connection to `fn`. Afterwards it goes back to the pool, unless it was closed. */
  using<T>(fn: (connection: mysql.PoolConnection) => Promise<T>): Promise<T> {
    const { connectMs, queryMs } = this.#settings
    return this.#lend(this.#places, Math.max(connectMs, queryMs), fn)
  }

  /** Lends the connection that is kept for pings to `fn`, as `using` does any other. `ms` bounds the wait for it. */
  usingOwn<T>(ms: number, fn: (connection: mysql.PoolConnection) => Promise<T>): Promise<T> {
    return this.#lend(this.#ownPlace, ms, fn)
  }

  async #lend<T>(places: Places, ms: number, fn: (connection: mysql.PoolConnection) => Promise<T>): Promise<T> {
    const connection = await this.#connect(places, ms)
    this.#used.add(connection)
    try {
      return await fn(connection)
    } finally {
      this.#used.delete(connection)
      connection.release()
      places.give()
    }
  }

  /** Closes all connections without waiting for open transactions; the server rolls those back. */
  async close(): Promise<void> {
    for (const connection of this.#used) connection.destroy()
    await Promise.race([this.#pool?.then(pool => pool.end()).catch(() => {}), sleep(1_000, undefined, { ref: false })])
  }
}
