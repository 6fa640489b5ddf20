/**
 * The store: the database that all processes of all gateways share, with accounts, keys, catalogue, purses, leases and usage rows.
 * `Store` has a member for each family of tables, a class that holds the statements and how rows are read. There is one SQL text for
 * all engines; what differs between them is behind `Driver`. A request whose key, prices and lease are in memory makes no call of
 * the store.
 *
 * All money is in purses. Purse `a<id>` is an account's balance. Purse `k<id>` counts all that a key spends; a cap for
 * ever is its credit. A cap that renews has a purse for each period beside it, and so have budgets of accounts (see
 * `books/purses.ts`). A purse has `credit` (the sum of the top-ups, or the limit; null = no limit), `spent` (the sum of
 * the charges) and `leased` (the sum of its leases). A lease is a part of a purse that one process may spend without asking the store;
 * `credit - spent - leased` is what the store can still lease out.
 *
 * Every method throws StoreUnavailable when the engine cannot serve at the moment; the caller may try again later. What changes
 * something on behalf of somebody throws StoreConflict where it contradicts what there is, and writes its line of the log of actions,
 * which names the act, in the same transaction.
 */
import { DEFAULT_ZONE } from '../base/zone.ts'
import { AccountStore } from './accounts/accounts.ts'
import { KeyStore } from './accounts/keys.ts'
import { type Audit, auditBooks } from './audit.ts'
import { Books } from './books/books.ts'
import { DisputeStore } from './books/disputes.ts'
import { EntryStore } from './books/entries.ts'
import { Holders } from './books/holders.ts'
import { CatalogueStore } from './catalogue/catalogue.ts'
import { Sealer } from './catalogue/sealer.ts'
import { openMysql } from './engines/mysql.ts'
import { openSqlite } from './engines/sqlite.ts'
import { ExportThread, type Pieces } from './export-thread.ts'
import { People } from './people/people.ts'
import { makeTables, storeId, wantSchema } from './schema.ts'
import {
  AccountStates,
  BalanceStore,
  ModelStatsStore,
  PLACES,
  RATE_WINDOWS,
  TrafficStore,
  UncoveredRights,
} from './shared-state.ts'
import { ActionLog } from './base/actions.ts'
import { ChangeStore } from './base/changes.ts'
import type { Driver, OnStatement } from './base/driver.ts'
import { type ChainStatements, chainStatements, type PayStatements, payStatements } from './payments/payments.ts'
import { RefusalStore } from './usage/refusals.ts'
import { type UsageStatements, usageStatements } from './usage/usage.ts'

/** How many leases or purses one transaction gives back or deletes. */
const SLICE = 256

interface StoreParts {
  slice?: number
  zone?: string
  exports?: ExportThread | null
}

export class Store {
  readonly #driver: Driver
  readonly #exports: ExportThread | null
  /** Name of the time zone in which periods begin. */
  readonly zone: string
  /** A statement that has no answer for so long fails with StoreUnavailable. */
  readonly timeoutMs: number

  readonly accounts: AccountStore
  readonly keys: KeyStore
  readonly catalogue: CatalogueStore
  readonly changes: ChangeStore
  readonly books: Books
  readonly holders: Holders
  readonly entries: EntryStore
  readonly disputes: DisputeStore
  readonly usage: UsageStatements
  readonly refusals: RefusalStore
  /** Counts of who sent requests and who was refused. */
  readonly traffic: TrafficStore
  readonly balances: BalanceStore
  readonly rateWindows: AccountStates
  readonly places: AccountStates
  readonly uncovered: UncoveredRights
  readonly modelStats: ModelStatsStore
  readonly actions: ActionLog
  readonly people: People
  /** Money that comes in: orders, proofs, refunds. */
  readonly pay: PayStatements
  readonly chain: ChainStatements

  constructor(
    driver: Driver,
    sealer: Sealer,
    warn: (message: string) => void,
    { slice = SLICE, zone = DEFAULT_ZONE, exports = null }: StoreParts = {},
  ) {
    this.#driver = driver
    this.#exports = exports
    this.zone = zone
    this.timeoutMs = driver.timeoutMs
    this.accounts = new AccountStore(driver)
    this.keys = new KeyStore(driver)
    this.catalogue = new CatalogueStore(driver, sealer, warn)
    this.changes = new ChangeStore(driver)
    this.books = new Books(driver, slice)
    this.holders = new Holders(driver, this.books, slice)
    this.entries = new EntryStore(driver)
    this.disputes = new DisputeStore(driver)
    this.usage = usageStatements(driver)
    this.refusals = new RefusalStore(driver)
    this.traffic = new TrafficStore(driver)
    this.balances = new BalanceStore(driver)
    this.rateWindows = new AccountStates(driver, RATE_WINDOWS, 'rateWindow')
    this.places = new AccountStates(driver, PLACES, 'places')
    this.uncovered = new UncoveredRights(driver)
    this.modelStats = new ModelStatsStore(driver)
    this.actions = new ActionLog(driver)
    this.people = new People(driver, sealer)
    this.pay = payStatements(driver)
    this.chain = chainStatements(driver)
  }

  /**
   * Proves the engine and makes the tables unless they are there. It changes no table that exists: it throws where those of the store
   * are another version's.
   */
  migrate(): Promise<void> {
    return makeTables(this.#driver)
  }

  /** Throws an Error that says what to do when the schema is not that of this program. */
  wantSchema(): Promise<void> {
    return wantSchema(this.#driver)
  }

  /** Checks that the engine keeps the promises on which the books rest; throws an Error that names the broken one. */
  prove(): Promise<void> {
    return this.#driver.prove()
  }

  /** Resolves when the engine takes writes: a read-only engine throws StoreUnavailable too. */
  ping(): Promise<void> {
    return this.#driver.ping()
  }

  async close(): Promise<void> {
    await this.#exports?.close()
    await this.#driver.close()
  }

  /** The store's random id, which journals name, so that settlements never go into another store's books. */
  id(): Promise<number> {
    return storeId(this.#driver)
  }

  /** The engine's clock in ms since 1970, exact to about a second; null when that is this machine's clock (SQLite). */
  async now(): Promise<number | null> {
    const { now } = this.#driver.dialect
    if (now === null) return null
    const [row] = await this.#driver.query('now', `SELECT ${now} AS now`, [])
    return Number(row?.['now']) * 1000
  }

  audit(): Promise<Audit> {
    return auditBooks(this.#driver)
  }

  /** Encrypts the credentials of all channels and the second factors of all users under the present secret that were encrypted under the previous one. */
  async reseal(): Promise<void> {
    await this.catalogue.reseal()
    await this.people.credentials.reseal()
  }

  /**
   * What the module `work` makes of the store. It begins when the first piece is asked for. `paced`: whether it shares the
   * rate of all exports; what is small, and waited for, does not.
   */
  export(work: URL, order: object, paced = true): Pieces {
    if (this.#exports === null) throw new Error('this store was opened without a thread for exports')
    return this.#exports.make(work, order, paced)
  }
}

interface StoreOptions {
  /** The secret from which the key for upstream credentials at rest is derived; all processes of a store share it. */
  secret: string
  /** The old secret during a rotation: credentials that were encrypted under it can still be read. */
  secretPrevious?: string | null
  /** Name of the time zone in which periods begin. */
  zone?: string
  /** How many bytes all exports together may make in a second. Default: as many as they can. */
  exportBytesPerS?: number
  /** The process does nothing but wait for the store, as a command does, so that SQLite needs no threads of its own. */
  isWaitedFor?: boolean
  onStatement?: OnStatement
  /** Called with a sentence for the operator's log. */
  onWarning?: (message: string) => void
}

/** `address`: by which another thread opens the same database. */
function openDriver(
  url: string,
  { onStatement = () => {}, onWarning = () => {}, isWaitedFor = false }: StoreOptions,
): [Driver, address: string] {
  const scheme = url.slice(0, url.indexOf(':'))
  if (scheme === 'sqlite') {
    const driver = openSqlite(url, onStatement, isWaitedFor)
    return [driver, driver.address]
  }
  if (scheme === 'mysql') return [openMysql(url, onStatement, onWarning), url]
  throw new Error(`store: expected sqlite:PATH or mysql://user:password@host:port/database, found another scheme`)
}

/** `url` is `sqlite:PATH` or `mysql://…`; any other throws. The store connects at the first call of a method. */
export function openStore(url: string, options: StoreOptions): Store {
  const warn = options.onWarning ?? (() => {})
  const onStatement = options.onStatement ?? (() => {})
  const [driver, address] = openDriver(url, options)
  const zone = options.zone ?? DEFAULT_ZONE
  const bytesPerS = options.exportBytesPerS ?? Number.POSITIVE_INFINITY
  const exports = new ExportThread({ address, zone, bytesPerS }, onStatement)
  return new Store(driver, new Sealer(options.secret, options.secretPrevious), warn, { zone, exports })
}
