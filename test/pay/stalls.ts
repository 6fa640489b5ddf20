/**
 * Stops a gateway in the middle of a transaction of its store, at a row that it is about to write: a trigger of the engine
 * keeps the statement from ending. So a test can kill the process at a point that it has chosen, without anything in the
 * gateway that knows of tests.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Test } from 'tap'
import { statement } from '../support/mysql-server.ts'
import { startMariadb } from '../support/mariadb.ts'
import { until } from '../support/wait.ts'
import { sqliteStore } from './engines.ts'

/** `when`: a condition on the row `NEW`. */
export interface Stall {
  table: string
  when: string
}

export interface StallingStore {
  url: string
  /** Whether several transactions can stand at once: SQLite has one writer. */
  manyAtOnce: boolean
  /** Whoever writes such a row from now on stands. */
  set(stalls: readonly Stall[]): Promise<void>
  /** Resolves when so many stand. */
  reached(count: number): Promise<void>
  /** Nobody stands any more, and what stood is undone. On SQLite the processes that stood must have been killed. */
  clear(): Promise<void>
}

const STEADY = 20

/** A walk over more numbers than a test waits for. A trigger takes no common table expression, but a view that has one. */
const ENDLESS =
  'CREATE VIEW endless AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e12) SELECT i FROM n'

async function sqlite(t: Test): Promise<StallingStore> {
  const url = await sqliteStore(t)
  const using = <T>(busyMs: number, fn: (db: DatabaseSync) => T): T => {
    const db = new DatabaseSync(url.slice('sqlite:'.length), { timeout: busyMs })
    try {
      return fn(db)
    } finally {
      db.close()
    }
  }
  const isHeld = (): boolean => {
    try {
      using(0, db => db.exec('BEGIN IMMEDIATE; ROLLBACK'))
      return false
    } catch {
      return true
    }
  }
  return {
    url,
    manyAtOnce: false,
    set: async stalls =>
      using(5_000, db => {
        db.exec(ENDLESS)
        for (const { table, when } of stalls)
          db.exec(
            `CREATE TRIGGER stall_${table} BEFORE INSERT ON ${table} WHEN ${when} BEGIN SELECT COUNT(*) FROM endless; END`,
          )
      }),
    async reached() {
      let held = 0
      await until('a transaction stands', () => (held = isHeld() ? held + 1 : 0) >= STEADY)
    },
    clear: async () =>
      using(30_000, db => {
        const triggers = db
          .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'stall%'")
          .all()
        for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
        db.exec('DROP VIEW endless')
      }),
  }
}

async function mariadb(t: Test): Promise<StallingStore> {
  const server = await startMariadb()
  t.teardown(() => server.stop())
  const set = new Set<string>()
  const sql = (text: string) => statement(server.port, `${text}`) as Promise<{ id: number }[]>
  const standing = () => sql("SELECT id FROM information_schema.processlist WHERE state = 'User sleep'")
  return {
    url: server.url,
    manyAtOnce: true,
    async set(stalls) {
      for (const { table, when } of stalls) {
        await sql(
          `CREATE TRIGGER gateway.stall_${table} BEFORE INSERT ON gateway.${table} FOR EACH ROW BEGIN IF ${when} THEN DO SLEEP(600); END IF; END`,
        )
        set.add(table)
      }
    },
    reached: count => until(`${count} transactions stand`, async () => (await standing()).length === count),
    async clear() {
      for (const table of set) {
        const drop = `SET STATEMENT lock_wait_timeout = 1 FOR DROP TRIGGER gateway.stall_${table}`
        await until('nobody stands', async () => {
          for (const { id } of await standing()) await sql(`KILL ${id}`).catch(() => {}) // it may be gone
          return sql(drop).then(
            () => true,
            () => false,
          )
        })
      }
      set.clear()
    },
  }
}

export const STALLING: [engine: string, open: (t: Test) => Promise<StallingStore>][] = [
  ['SQLite', sqlite],
  ['MariaDB', mariadb],
]
