/** Stores in memory for tests, and rows that most tests need. */
import { randomBytes } from 'node:crypto'
import { backup, DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../lib/base/clock.ts'
import { micro, ZERO } from '../../lib/base/money.ts'
import { StoreHealth } from '../../lib/store/health.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import type { Driver, OnStatement, Param } from '../../lib/store/base/driver.ts'
import { openMysql } from '../../lib/store/engines/mysql.ts'
import { Store } from '../../lib/store/store.ts'
import { makeTables, TABLES } from '../../lib/store/schema.ts'
import { ExportThread } from '../../lib/store/export-thread.ts'
import { Sealer } from '../../lib/store/catalogue/sealer.ts'
import { DEFAULT_ZONE } from '../../lib/base/zone.ts'
import { openSqlite } from '../../lib/store/engines/sqlite.ts'
import type { NewKey } from '../../lib/store/accounts/key-rows.ts'
import type { Settlement } from '../../lib/store/books/settlement.ts'
import type { Line, UsageRow } from '../../lib/terms/usage-row.ts'
import type { Channel, Limit, Account, Key } from '../../lib/terms/records.ts'
import { type Act, adminToken, COMMAND, FILE } from '../../lib/base/people.ts'

/** Who tests act as, and the acts by which they make their rows. */
export const ADMIN = adminToken(null)
export const SETUP: Act = { actor: ADMIN, operation: 'test.setup' }
export const BY_FILE: Act = { actor: FILE, operation: 'test.setup' }
export const BY_CLI: Act = { actor: COMMAND, operation: 'test.setup' }

type MemoryDriver = ReturnType<typeof openSqlite>

const emptyInMemory = (): MemoryDriver => openSqlite('sqlite::memory:', () => {})
const pathOf = ({ address }: { address: string }) => address.slice('sqlite:'.length)

/** Each change of a table, an index or a trigger changes it. */
const schemaOf = async (driver: MemoryDriver) =>
  Number((await driver.query('test', 'PRAGMA schema_version', []))[0]!['schema_version'])

async function makeTemplate() {
  const driver = emptyInMemory()
  await makeTables(driver)
  const rows = await driver.query('test', 'SELECT name, value FROM meta', [])
  return {
    database: new DatabaseSync(pathOf(driver)),
    meta: rows.map(({ name, value }) => [String(name), Number(value)] as const),
  }
}

let template: ReturnType<typeof makeTemplate> | null = null
/** A database in memory, with the thread that makes exports of it. */
interface InMemory {
  driver: MemoryDriver
  exports: ExportThread
  /** How many exports have not ended. */
  exporting: number
  schema: number
}

/** Those of stores that were closed: they have the statements prepared that most tests run, and a thread that has loaded its modules. */
const free: InMemory[] = []

async function copied(template: DatabaseSync): Promise<InMemory> {
  const driver = emptyInMemory()
  // a database in memory is there as long as somebody has it open
  await driver.query('test', 'SELECT 1', [])
  await backup(template, pathOf(driver), { rate: 10_000 })
  const thread = { address: driver.address, zone: DEFAULT_ZONE, bytesPerS: Number.POSITIVE_INFINITY }
  return { driver, exports: new ExportThread(thread, () => {}), exporting: 0, schema: await schemaOf(driver) }
}

async function emptied(used: InMemory, meta: readonly (readonly Param[])[]): Promise<InMemory> {
  await used.driver.transaction('test', async tx => {
    for (const table of [...TABLES.map(({ name }) => name), 'sqlite_sequence']) await tx.run(`DELETE FROM ${table}`, [])
    await tx.insert({ into: 'INSERT INTO meta (name, value)', row: '(?, ?)' }, meta)
  })
  return used
}

/** Not when somebody still reads, or has changed the tables. */
async function giveBack(used: InMemory): Promise<void> {
  if (used.exporting === 0 && (await schemaOf(used.driver)) === used.schema) free.push(used)
  else {
    await used.exports.close()
    await used.driver.close()
  }
}

/** What still has the driver when that is closed does not reach the next store. */
function lent(driver: MemoryDriver, close: () => Promise<void>): MemoryDriver {
  let closed: Promise<void> | null = null
  const refuse = () => Promise.reject(new StoreUnavailable('the store in memory is closed'))
  return new Proxy(driver, {
    get(_, name) {
      const member = Reflect.get(driver, name, driver) as unknown
      if (typeof member !== 'function') return member
      if (name === 'close') return () => (closed ??= close())
      return closed === null ? member.bind(driver) : refuse
    },
  })
}

/** As `openStore` makes it, but its tables are copied, or emptied after another store. Its id is its own. */
export async function memoryStore(): Promise<Store> {
  const { database, meta } = await (template ??= makeTemplate())
  const used = free.pop()
  const own = used === undefined ? await copied(database) : await emptied(used, meta)
  await own.driver.run('test', "UPDATE meta SET value = ? WHERE name = 'store'", [randomBytes(6).readUIntBE(0, 6)])
  const make: ExportThread['make'] = (...order) => {
    own.exporting++
    const pieces = own.exports.make(...order)
    void pieces.ended.then(() => own.exporting--)
    return pieces
  }
  const exports = over(own.exports, { make, close: async () => {} })
  return new Store(
    lent(own.driver, () => giveBack(own)),
    new Sealer('a test secret'),
    () => {},
    { exports },
  )
}

/** What stands in the place of a store's methods, those of its parts by the part. */
export type Changes = {
  [F in keyof Store]?: Store[F] extends (...args: never[]) => unknown ? Store[F] : Partial<Store[F]>
}

/** An object of which some members are others. Private fields stay in reach: methods run on the object itself. */
const over = <T extends object>(target: T, own: object): T =>
  new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name) as unknown
      const member = Reflect.get(target, name, target) as unknown
      return typeof member === 'function' ? member.bind(target) : member
    },
  })

/** A store of which some methods are others: `{ books: { settle } }`. */
export function changed(store: Store, changes: Changes): Store {
  const own = Object.entries(changes).map(([name, change]) => {
    const part = store[name as keyof Store] as unknown
    return [name, typeof part === 'function' ? change : over(part as object, change as object)]
  })
  return over(store, Object.fromEntries(own) as object)
}

/** A store all of whose calls, those of its parts too, go through a function. */
export const intercepted = <T extends object>(
  store: T,
  call: (work: () => unknown, name: string, args: unknown[]) => unknown,
): T =>
  new Proxy(store, {
    get(target, key) {
      const member = Reflect.get(target, key, target) as unknown
      if (typeof member === 'function')
        return (...args: unknown[]) => call(() => Reflect.apply(member, target, args), String(key), args)
      return typeof member === 'object' && member !== null ? intercepted(member, call) : member
    },
  })

/** A driver of its own on a store, for what no method of the store does. */
export const openDriver = (url: string, onStatement: OnStatement = () => {}): Driver =>
  url.startsWith('sqlite:') ? openSqlite(url, onStatement) : openMysql(url, onStatement, () => {})

/** A store that always answers, as the parts that wait for one know it. */
export const wellStore = (clock: Clock): StoreHealth => new StoreHealth({ clock, store: { ping: async () => {} } })

export const newKey = (accountId: number, change: Partial<NewKey> = {}): NewKey => ({
  accountId,
  name: 'laptop',
  hash: `${accountId}-hash`.padStart(64, '0'),
  hint: 'sk-…abcd',
  group: 'default',
  status: 'enabled',
  expiresAtMs: null,
  cap: null,
  allowIps: null,
  models: null,
  modelsOff: null,
  createdBy: null,
  ...change,
})

export const channel = (change: Partial<Channel> = {}): Channel => ({
  name: 'one',
  baseUrl: 'https://upstream.example',
  kind: null,
  paths: {},
  query: {},
  protocols: ['chat'],
  keys: [{ key: 'upstream-credential', maxConcurrency: 0 }],
  authHeader: null,
  headers: {},
  passHeaders: [],
  groups: ['default'],
  models: { 'beta-4.7': 'real' },
  weight: 1,
  priority: 0,
  maxConcurrency: 0,
  proxy: null,
  ca: null,
  http2: false,
  private: false,
  translate: true,
  cacheMarks: 'off',
  finish: 'strict',
  readsMax: [],
  thoughts: null,
  searches: null,
  budget: null,
  cost: null,
  status: 'enabled',
  ...change,
})

/** A cap or a budget that nobody has changed. */
export const limitOf = (amount: number, every: Limit['every'] = null): Limit => ({
  amount: micro(amount),
  every,
  before: null,
})

/** Credits an account, and returns what became of it. */
export const topUp = async (store: Store, accountId: number, amount: number, reference: string): Promise<string> =>
  (
    await store.entries.add(
      accountId,
      { kind: 'topup', amount: micro(amount), reference, actor: 'a test', note: '' },
      SETUP,
    )
  ).outcome

/** Creates an account with this much money and one key. */
export async function fund(
  store: Store,
  name: string,
  credit: number,
  cap: number | null = null,
): Promise<{ account: Account; key: Key }> {
  const account = await store.accounts.create({ name, groups: ['default'] }, SETUP)
  if (credit !== 0) await topUp(store, account.id, credit, 'opening')
  const key = await store.keys.create(newKey(account.id, { cap: cap === null ? null : limitOf(cap) }), SETUP)
  return { account, key }
}

/** What most rows of tests leave unsaid. */
export const NOT_RECORDED = {
  priceVersion: null,
  multiplier: null,
  lines: [],
  held: null,
  disputed: ZERO,
  cost: null,
  askedMs: null,
  attempts: [],
  upstreamId: null,
  clientRequestId: null,
  via: null,
  hiddenRatio: null,
} satisfies Partial<UsageRow>

/** A line of a receipt, at the list price. */
export const receiptLine = (name: Line['class'], count: number, change: Partial<Line> = {}): Line => ({
  model: 'm',
  priceVersion: 1,
  list: 'base',
  tier: 1_000_000,
  tierName: null,
  class: name,
  count,
  price: 1,
  ...change,
})

export const usageRow = (requestId: string, key: Key, charge: number, change: Partial<UsageRow> = {}): UsageRow => ({
  requestId,
  accountId: key.accountId,
  keyId: key.id,
  group: 'default',
  protocol: 'chat',
  model: 'beta-4.7',
  channel: 'one',
  status: 200,
  end: 'completed',
  basis: 'reported',
  charge: micro(charge),
  firstByteMs: 12,
  durationMs: 34,
  answerId: null,
  upstreamKey: null,
  ...NOT_RECORDED,
  input: 1,
  cache_read: 2,
  cache_write_5m: 3,
  cache_write_1h: 4,
  output: 5,
  images: 6,
  ...change,
})

/** A settlement of which so much is paid by the leases of `holder`. */
export const settlement = (row: UsageRow, holder: string, fromAccount: number, fromKey = 0): Settlement => ({
  row,
  holder,
  fromAccountLease: micro(fromAccount),
  fromKeyLease: micro(fromKey),
  limits: [],
})
