/**
 * The store's database in this process: the same SQL as the product's, without its thread, so that a step takes
 * microseconds. One for all seeds; each begins with empty tables.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import {
  type Driver,
  type Param,
  type Row,
  type RunResult,
  type Transaction,
  DuplicateKey,
  PING,
  PING_PARAMS,
} from '../../../lib/store/base/driver.ts'
import { dialect } from '../../../lib/store/engines/sqlite.ts'

const DUPLICATE = new Set([1555, 2067, 2579])

export class Database implements Driver {
  readonly dialect = dialect
  readonly timeoutMs = 5_000
  readonly beside = null
  readonly #db = new DatabaseSync(':memory:')
  readonly #statements = new Map<string, StatementSync>()
  #turn: Promise<unknown> = Promise.resolve()

  /** At once, between transactions: for the checks. */
  read(sql: string, params: readonly Param[] = []): Row[] {
    return this.#statement(sql).all(...params)
  }

  get changeSeq(): number {
    return Number(this.read("SELECT value FROM meta WHERE name = 'changes'")[0]?.['value'])
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) this.#statements.set(sql, (statement = this.#db.prepare(sql)))
    return statement
  }

  readonly #tx: Transaction = {
    query: async (sql, params) => this.read(sql, params),
    run: async (sql, params) => this.#run(sql, params),
    insert: async ({ into, row, end = '' }, rows) => {
      for (const params of rows) this.#run(`${into} VALUES ${row} ${end}`, params)
    },
  }

  #run(sql: string, params: readonly Param[]): RunResult {
    try {
      const { changes, lastInsertRowid } = this.#statement(sql).run(...params)
      return { changes: Number(changes), insertId: Number(lastInsertRowid) }
    } catch (error) {
      if (DUPLICATE.has((error as { errcode?: number }).errcode ?? 0)) throw new DuplicateKey(String(error))
      throw error
    }
  }

  query(_op: string, sql: string, params: readonly Param[]): Promise<Row[]> {
    return this.#exclusive(() => this.#tx.query(sql, params))
  }

  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult> {
    return this.transaction(op, tx => tx.run(sql, params))
  }

  async ping(): Promise<void> {
    await this.run('ping', PING, PING_PARAMS)
  }

  transaction<T>(_op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#exclusive(async () => {
      this.#db.exec('BEGIN')
      try {
        const value = await fn(this.#tx)
        this.#db.exec('COMMIT')
        return value
      } catch (error) {
        this.#db.exec('ROLLBACK')
        throw error
      }
    })
  }

  snapshot<T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.transaction(op, fn)
  }

  async prove(): Promise<void> {}

  async script(statements: readonly string[]): Promise<void> {
    for (const sql of statements) this.#db.exec(sql)
  }

  #exclusive<T>(fn: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(fn)
    this.#turn = result.catch(() => {})
    return result
  }

  /** As after the first migration. */
  clear(): void {
    const tables = this.read("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'meta'")
    for (const { name } of tables) this.#db.exec(`DELETE FROM ${String(name)}`)
    this.#db.exec("UPDATE meta SET value = 0 WHERE name NOT IN ('schema', 'store')")
  }

  async close(): Promise<void> {
    this.#db.close()
  }
}
