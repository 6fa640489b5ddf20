/** The store as the thread of exports has it: with connections of its own, and of which only the reads work. */
import type { Driver, OnStatement, ReadingDriver } from './driver.ts'
import type { ExportThreadData } from './export-thread.ts'
import { openMysqlToRead } from './mysql.ts'
import { Sealer } from './secrets.ts'
import { SqlStore } from './sql.ts'
import { openSqliteHere } from './sqlite-here.ts'
import type { Store } from './store.ts'

const refuse = async (): Promise<never> => {
  throw new Error('the thread of exports does not write')
}

const onlyReading = (driver: ReadingDriver): Driver => ({
  dialect: driver.dialect,
  timeoutMs: 0,
  query: (op, sql, params) => driver.query(op, sql, params),
  snapshot: (op, fn) => driver.snapshot(op, fn),
  ping: refuse,
  run: refuse,
  transaction: refuse,
  prove: refuse,
  script: refuse,
  close: refuse,
})

/** What is sealed stays so: the thread does not have the secret. */
export function openReads({ address, zone }: ExportThreadData, onStatement: OnStatement): Store {
  const isFile = address.startsWith('sqlite:')
  const driver = isFile ? openSqliteHere(address, onStatement) : openMysqlToRead(address, onStatement)
  return new SqlStore(onlyReading(driver), new Sealer(''), () => {}, { zone })
}
