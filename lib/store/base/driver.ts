/**
 * The interface between the store and an SQL engine. The files of `sql/` are written once, in SQL that every engine
 * understands; what differs between engines is behind this interface: how a transaction is begun and retried, what an
 * error means, and the few words of `Dialect`. `sqlite.ts` and `mysql.ts` implement it.
 */
import type { Words } from '../../base/people.ts'
import { StoreConflict, StoreUnavailable } from './errors.ts'

/** A number must be a safe integer: every driver binds it as an integer, but for the values of `Transaction.insert`. */
export type Param = string | number | null
export type Row = Record<string, unknown>

export interface RunResult {
  /** How many rows matched, including rows whose values stayed the same. */
  changes: number
  /** The id that the engine gave to an inserted row of a table with an auto-numbered key. */
  insertId: number
}

/** The text of an INSERT of many rows: `into` names table and columns, `row` is the text of one row's values. */
export interface ManyRows {
  into: string
  row: string
  /** What follows the last row: the clause of an upsert. */
  end?: string
}

/** The statements of one open transaction. A caller awaits each before it sends the next. */
export interface Transaction {
  query(sql: string, params: readonly Param[]): Promise<Row[]>
  /** `rare`: this SQL text will hardly be used again, so the server need not keep its prepared statement. */
  run(sql: string, params: readonly Param[], rare?: boolean): Promise<RunResult>
  /**
   * Inserts rows in their order. What is fastest differs: SQLite runs a statement of one row in a loop in its thread, a
   * server gets statements of many rows. Numbers must go into columns of integers, because they are sent as they are.
   */
  insert(sql: ManyRows, rows: readonly (readonly Param[])[]): Promise<void>
}

export interface Dialect {
  name: 'sqlite' | 'mysql'
  /** The word between INSERT and INTO that makes the engine skip a row whose key exists already. */
  ignore: string
  /** The clause that turns an INSERT into an upsert: a row with the same `key` gets the new values of `columns`. */
  overwrite(key: readonly string[], columns: readonly string[]): string
  /** The clause that turns an INSERT into an upsert: a row with the same `key` has the new values of `columns` added, NULL as 0. */
  raise(key: readonly string[], columns: readonly string[]): string
  /** An SQL expression for the engine's clock in ms since 1970. It has one value throughout a statement. */
  nowMs: string
  /**
   * An SQL expression for the engine's clock in seconds since 1970; null when the engine runs on this machine's clock.
   */
  now: string | null
  /** The index hint that follows a table's name and forces the planner to use `index`. */
  using(index: string): string
}

export interface ReadingDriver {
  readonly dialect: Dialect
  /** `op` is the store's method that the statement serves; it labels the metrics. */
  query(op: string, sql: string, params: readonly Param[]): Promise<Row[]>
  /** Runs the reads of `fn` on a snapshot of one moment. They may take minutes and block no writer. */
  snapshot<T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T>
}

/** An UPDATE that changes nothing: an engine that is read-only refuses it too. */
export const PING = 'UPDATE holders SET beat = beat WHERE id = ?'
export const PING_PARAMS: readonly Param[] = ['']

/**
 * Every method that touches the engine throws StoreUnavailable when the engine cannot be reached or is out of service.
 */
export interface Driver extends ReadingDriver {
  /** A statement that has no answer for so long fails with StoreUnavailable. */
  readonly timeoutMs: number
  /** When anybody last wrote into the store, in ms since 1970, as its files have it. Absent, or null = only the engine knows. */
  writtenMs?(): number | null
  /** Resolves when the engine takes writes. It waits behind no other call, and fails after a few seconds. */
  ping(): Promise<void>
  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult>
  /**
   * Runs `fn` in one transaction, which commits when `fn` resolves and rolls back when it throws. After a deadlock or a
   * lost connection the driver calls `fn` again, so `fn` must not change anything outside the transaction. Throws
   * CommitUncertain when the connection broke while COMMIT was under way.
   */
  transaction<T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Runs the function `beside` that the module `work` exports in the thread of the engine, with `args` that can be sent there.
   * So a batch costs this thread one message, and not its statements. null = the engine has no thread of its own. Throws
   * CommitUncertain when the thread ended before it had answered.
   */
  readonly beside: (<T>(op: string, work: URL, args: readonly unknown[]) => Promise<T>) | null
  /** Checks that the engine keeps the promises on which the books rest; throws an Error that names the broken one. */
  prove(): Promise<void>
  /** Runs the statements that make the tables, each of which may be run again without harm. */
  script(statements: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** What a module does beside the engine: it is given a driver and what was sent along. */
export type BesideEngine = (
  driver: Pick<Driver, 'dialect' | 'transaction'>,
  ...args: readonly unknown[]
) => Promise<unknown>

/**
 * Called after every statement except BEGIN, COMMIT and ROLLBACK. `op` is the store's method that the statement served.
 */
export type OnStatement = (op: string, ok: boolean) => void

/** An INSERT or UPDATE failed because a row with the same primary or unique key exists. */
export class DuplicateKey extends Error {
  override name = 'DuplicateKey'
}

/** For a `catch`: a row that exists already becomes a conflict that people are told of; any other error stays what it is. */
export const asConflict =
  (words: string | Words) =>
  (error: unknown): never => {
    throw error instanceof DuplicateKey ? new StoreConflict(words) : error
  }

/** No answer to COMMIT arrived, so nobody knows whether the transaction took effect. */
export class CommitUncertain extends StoreUnavailable {
  override name = 'CommitUncertain'
}

type Rest<F> = F extends (driver: Driver, ...rest: infer R) => infer T ? (...rest: R) => T : never

/** Makes methods of statements, which are functions of a driver. */
export const bound =
  (driver: Driver) =>
  <F extends (driver: Driver, ...rest: never[]) => unknown>(statement: F) =>
    ((...rest: never[]) => statement(driver, ...rest)) as Rest<F>
