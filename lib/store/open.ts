/** Opens the store that a URL names: `sqlite:` and `mysql:` choose the driver, everything above it is the same. */
import { DEFAULT_ZONE } from '../base/zone.ts'
import type { Driver, OnStatement } from './driver.ts'
import { ExportThread } from './export-thread.ts'
import { openMysql } from './mysql.ts'
import { Sealer } from './secrets.ts'
import { Store } from './store.ts'
import { openSqlite } from './sqlite.ts'

export interface StoreOptions {
  /** The secret from which the key for upstream credentials at rest is derived; all processes of a store share it. */
  secret: string
  /** The old secret during a rotation: credentials that were encrypted under it can still be read. */
  secretPrevious?: string | null
  /** Name of the time zone in which periods begin. */
  zone?: string
  /** How many bytes all exports together may make in a second. Default: as many as they can. */
  exportBytesPerS?: number
  onStatement?: OnStatement
  /** Called with a sentence for the operator's log. */
  onWarning?: (message: string) => void
}

/** `address`: by which another thread opens the same database. */
function openDriver(url: string, onStatement: OnStatement, warn: (message: string) => void): [Driver, address: string] {
  const scheme = url.slice(0, url.indexOf(':'))
  if (scheme === 'sqlite') {
    const driver = openSqlite(url, onStatement)
    return [driver, driver.address]
  }
  if (scheme === 'mysql') return [openMysql(url, onStatement, warn), url]
  throw new Error(`store: expected sqlite:PATH or mysql://user:password@host:port/database, found another scheme`)
}

/** `url` is `sqlite:PATH` or `mysql://…`; any other throws. The store connects at the first call of a method. */
export function openStore(url: string, options: StoreOptions): Store {
  const warn = options.onWarning ?? (() => {})
  const onStatement = options.onStatement ?? (() => {})
  const [driver, address] = openDriver(url, onStatement, warn)
  const zone = options.zone ?? DEFAULT_ZONE
  const bytesPerS = options.exportBytesPerS ?? Number.POSITIVE_INFINITY
  const exports = new ExportThread({ address, zone, bytesPerS }, onStatement)
  return new Store(driver, new Sealer(options.secret, options.secretPrevious), warn, { zone, exports })
}
