/**
 * Databases for the checks of the store suites. To make a schema takes long, on some engines seconds, so a database of a
 * server with the tables of today is emptied after a check and given to the next one, and a file is copied.
 */
import { copyFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import mysql from 'mysql2/promise'
import type { Test } from 'tap'
import type { Driver, OnStatement } from '../../lib/store/base/driver.ts'
import { Sealer } from '../../lib/store/catalogue/sealer.ts'
import { TABLES } from '../../lib/store/schema.ts'
import { openStore, Store } from '../../lib/store/store.ts'
import type { MysqlServer } from './mysql-server.ts'
import { openDriver } from './store.ts'

/** Resolves with a URL: for a test, of a store with tables and no data, which the end of the test takes back; otherwise of nothing. */
export type NewUrl = (t?: Test) => Promise<string>

/** The rows of `meta` that a new store has. */
type Meta = [name: string, value: string][]

interface Made {
  url: string
  tables: string[]
  meta: Meta
}

async function rowsOf<T>(connection: mysql.Connection, sql: string): Promise<T[]> {
  return (await connection.query({ sql, rowsAsArray: true }))[0] as T[]
}

async function asked<T>(url: string, ask: (connection: mysql.Connection) => Promise<T>): Promise<T> {
  const connection = await mysql.createConnection({ uri: url, multipleStatements: true })
  try {
    return await ask(connection)
  } finally {
    await connection.end()
  }
}

async function makeTables(url: string): Promise<void> {
  const store = openStore(url, { secret: 'a test secret' })
  await store.migrate()
  await store.close()
}

async function make(url: string): Promise<Made> {
  await makeTables(url)
  return asked(url, async connection => ({
    url,
    tables: (await rowsOf<[string]>(connection, 'SHOW TABLES')).map(([name]) => name),
    meta: await rowsOf<Meta[number]>(connection, 'SELECT name, value FROM meta'),
  }))
}

const empty = ({ url, tables, meta }: Made): Promise<unknown> =>
  asked(url, async connection => {
    await connection.query(tables.map(table => `DELETE FROM ${table}`).join(';'))
    await connection.query('INSERT INTO meta (name, value) VALUES ?', [meta])
  })

/** Databases of one server. */
export function databasesOf(server: MysqlServer): NewUrl {
  const free: Made[] = []
  let count = 0
  const next = () => server.database(`test${count++}`)
  return async t => {
    if (t === undefined) return next()
    const made = free.pop() ?? (await make(await next()))
    t.teardown(async () => {
      await empty(made)
      free.push(made)
    })
    return made.url
  }
}

/** Databases of SQLite, each in a file of its own in the folder. */
export function filesIn(folder: string): NewUrl {
  let count = 0
  const next = () => join(folder, `${count++}`, 'deep', 'gateway.db')
  let withTables: Promise<string> | null = null
  const make = async (file: string) => makeTables(`sqlite:${file}`).then(() => file)
  return async t => {
    const file = next()
    if (t !== undefined) {
      const made = await (withTables ??= make(next()))
      mkdirSync(dirname(file), { recursive: true })
      copyFileSync(made, file)
    }
    return `sqlite:${file}`
  }
}

/** Two instances of one store without data stand for two gateways. */
interface Pair {
  one: Store
  two: Store
  url: string
}

/** What the checks of a suite open. `pair`: for one check, whose end takes the data back; it has no thread for exports. */
export interface Databases {
  newUrl: NewUrl
  pair: (t: Test, options: { secret: string; onStatement?: OnStatement }) => Promise<Pair>
}

/** The connections and threads of a pair, which the next check uses again. */
interface Kept {
  url: string
  drivers: Driver[]
  heard: OnStatement
  meta: Meta
}

const NOBODY: OnStatement = () => {}

/** The databases of a suite. What is kept for its checks is closed at the end of `suite`. */
export function databasesFor(suite: Test, newUrl: NewUrl): Databases {
  const free: Kept[] = []

  async function keep(): Promise<Kept> {
    const kept: Kept = { url: await newUrl(suite), drivers: [], heard: NOBODY, meta: [] }
    kept.drivers = [1, 2].map(() => openDriver(kept.url, (op, ok) => kept.heard(op, ok)))
    suite.teardown(() => Promise.all(kept.drivers.map(driver => driver.close())))
    const rows = await kept.drivers[0]!.query('meta', 'SELECT name, value FROM meta', [])
    kept.meta = rows.map(row => [String(row['name']), String(row['value'])])
    return kept
  }

  const clear = ({ drivers, meta }: Kept): Promise<void> =>
    drivers[0]!.transaction('clear', async tx => {
      for (const { name } of TABLES) await tx.run(`DELETE FROM ${name}`, [])
      for (const [name, value] of meta) await tx.run('INSERT INTO meta (name, value) VALUES (?, ?)', [name, value])
    })

  async function pair(t: Test, { secret, onStatement = NOBODY }: Parameters<Databases['pair']>[1]): Promise<Pair> {
    const kept = free.pop() ?? (await keep())
    kept.heard = onStatement
    t.teardown(async () => {
      kept.heard = NOBODY
      await clear(kept)
      free.push(kept)
    })
    const [one, two] = kept.drivers.map(driver => new Store(driver, new Sealer(secret), () => {})) as [Store, Store]
    return { one, two, url: kept.url }
  }
  return { newUrl, pair }
}
