import type { Driver, OnStatement } from './driver.ts'
import { openMysql } from './mysql.ts'
import { Sealer } from './secrets.ts'
import { SqlStore } from './sql.ts'
import { openSqlite } from './sqlite.ts'
import type { Store } from './store.ts'

export interface StoreOptions {
  /** Encrypts upstream credentials at rest; every process of one store needs the same. */
  secret: string
  /** While the secret is rotated: what was sealed under this one is read too. */
  secretPrevious?: string | null
  onStatement?: OnStatement
  /** What an operator should know. */
  onWarning?: (message: string) => void
}

function openDriver(url: string, onStatement: OnStatement, warn: (message: string) => void): Driver {
  const scheme = url.slice(0, url.indexOf(':'))
  if (scheme === 'sqlite') return openSqlite(url, onStatement)
  if (scheme === 'mysql') return openMysql(url, onStatement, warn)
  throw new Error(`store: expected sqlite:PATH or mysql://user:password@host:port/database, found another scheme`)
}

/** `sqlite:PATH` or `mysql://…`. Nothing is connected before the first call. Throws on any other URL. */
export function openStore(url: string, options: StoreOptions): Store {
  const warn = options.onWarning ?? (() => {})
  const driver = openDriver(url, options.onStatement ?? (() => {}), warn)
  return new SqlStore(driver, new Sealer(options.secret, options.secretPrevious), warn)
}
