/** The two stores as the tests of faults need them: looked into, and locked, from beside the gateway. */
import { DatabaseSync } from 'node:sqlite'
import mysql from 'mysql2/promise'
import { startMariadb } from '../support/mariadb.ts'
import type { MysqlServer } from '../support/mysql-server.ts'

export type StoreKind = 'sqlite' | 'mysql'

export interface FaultyStore {
  kind: StoreKind
  /** For the gateway's config. */
  url: string
  /** Which of these requests it has. */
  has(requestIds: readonly string[]): Promise<string[]>
  /** Keeps every purse and lease from being written until the returned function is called. */
  lock(): Promise<() => Promise<void>>
  stop(): Promise<void>
}

const HAS = (ids: readonly string[]) =>
  `SELECT request_id FROM usage_log WHERE request_id IN (${ids.map(() => '?').join(', ')})`

export function sqliteStore(folder: string): FaultyStore {
  const file = `${folder}/gateway.db`
  const using = <T>(fn: (db: DatabaseSync) => T): T => {
    const db = new DatabaseSync(file, { timeout: 5_000 })
    try {
      return fn(db)
    } finally {
      db.close()
    }
  }
  return {
    kind: 'sqlite',
    url: `sqlite:${file}`,
    has: async ids => using(db => db.prepare(HAS(ids)).all(...ids)).map(row => String(row['request_id'])),
    async lock() {
      const db = new DatabaseSync(file, { timeout: 5_000 })
      db.exec('BEGIN IMMEDIATE')
      return async () => {
        db.exec('ROLLBACK')
        db.close()
      }
    },
    stop: async () => {},
  }
}

export interface MariadbStore extends FaultyStore {
  server: MysqlServer
}

export const onMariadb = (server: MysqlServer, url = server.url): MariadbStore => ({
  kind: 'mysql',
  url,
  server,
  async has(ids) {
    const connection = await mysql.createConnection(url)
    const [rows] = await connection.query(HAS(ids), [...ids])
    await connection.end()
    return (rows as { request_id: string }[]).map(row => row.request_id)
  },
  async lock() {
    const connection = await mysql.createConnection(url)
    await connection.beginTransaction()
    await connection.query('SELECT id FROM purses FOR UPDATE')
    await connection.query('SELECT purse_id FROM leases FOR UPDATE')
    return async () => {
      await connection.rollback()
      await connection.end()
    }
  },
  stop: () => server.stop(),
})

export const mariadbStore = async (): Promise<MariadbStore> => onMariadb(await startMariadb())
