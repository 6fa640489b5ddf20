/**
 * What the store needs of an SQL engine. Everything above this file is one SQL text for every engine; everything that
 * differs between engines is here: placing a transaction, telling failures apart, and the few words of `Dialect`.
 */
import { StoreUnavailable } from './store.ts'

/** Numbers are whole and safe; money above 2^53 never reaches a statement. */
export type Param = string | number | null
export type Row = Record<string, unknown>

export interface RunResult {
  /** Rows that matched, also when they kept their values. */
  changes: number
  /** The number an auto-numbered row got. */
  insertId: number
}

/** Statements of one transaction, in order. */
export interface Statements {
  query(sql: string, params: readonly Param[]): Promise<Row[]>
  /** `rare`: the text seldom comes again, so that no server need keep it prepared. */
  run(sql: string, params: readonly Param[], rare?: boolean): Promise<RunResult>
}

export interface Dialect {
  name: 'sqlite' | 'mysql'
  /** Placed between INSERT and INTO: a row that is there already is left alone. */
  ignore: string
  /** The end of an INSERT that overwrites `columns` when the row with this `key` is there already. */
  overwrite(key: readonly string[], columns: readonly string[]): string
  /** An expression: the engine's time in seconds since 1970; null: it has no clock but this machine's. */
  now: string | null
  /** Behind a table's name: this index is used, whatever the planner believes of the table. */
  using(index: string): string
}

export interface Driver {
  readonly dialect: Dialect
  query(op: string, sql: string, params: readonly Param[]): Promise<Row[]>
  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult>
  /** All or nothing. `fn` may run several times (deadlocks, lost connections), so it must not keep state outside. */
  transaction<T>(op: string, fn: (tx: Statements) => Promise<T>): Promise<T>
  /** Reads of one moment, allowed to be long, in nobody's way. */
  snapshot<T>(op: string, fn: (tx: Statements) => Promise<T>): Promise<T>
  /** Throws, in words for people, when the engine does not keep a promise on which the books rest. */
  prove(): Promise<void>
  /** Statements of a migration, each repeatable. */
  script(statements: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** Called after every data statement (not begin and commit) with the name of the store's method it served. */
export type OnStatement = (op: string, ok: boolean) => void

/** A row with this primary or unique key is there already. */
export class DuplicateKey extends Error {
  override name = 'DuplicateKey'
}

/** The connection broke while COMMIT was under way: it happened or it did not. */
export class CommitUncertain extends StoreUnavailable {
  override name = 'CommitUncertain'
}
