/** Times what the console reads of one large account: each call several times, with different values. */
import { systemClock } from '../../lib/base/clock.ts'
import { idAt } from '../../lib/base/ids.ts'
import type { OperationDeps } from '../../lib/operations/deps.ts'
import { KeyList, keysFileQuery, ownKeysQuery } from '../../lib/operations/accounts/key-list.ts'
import { Statements } from '../../lib/operations/billing/statement.ts'
import { Entries, entriesQuery } from '../../lib/operations/billing/entries.ts'
import { exportQuery, Requests, requestsQuery } from '../../lib/operations/usage/requests.ts'
import { ownOverview, totalsQuery, UsageSums } from '../../lib/operations/usage/usage.ts'
import { createLogger } from '../../lib/base/log.ts'
import { type Random, withSeed } from '../../test/support/random.ts'
import type { LargeBooks } from './account-store.ts'
import { FILL_FROM_MS, fillStepMs } from './store-fill.ts'
import { MODELS, UNUSED_MODEL } from './store-rows.ts'

const TIMES = 11
const DAY_MS = 86_400_000
const FILL_DAYS = 150
const NEWLINE = 10
const EXPORTED = 200_000
/** What a page may take at most, and what a chart may. */
const PAGE_MS = 300
const CHART_MS = 50
/** A file goes on while it is read. */
const FILE_MS = 5_000

export interface ReadFigures {
  what: string
  p50: number
  max: number
  target: number
}

/** As if it were the last day of the rows. */
const NOW_MS = FILL_FROM_MS + FILL_DAYS * DAY_MS - 1

function depsOf({ store }: LargeBooks): OperationDeps {
  return {
    store,
    clock: { ...systemClock, now: () => NOW_MS },
    log: createLogger('error', { write: () => {} }),
    fleet: {
      held: async () => new Map(),
      holders: async () => [],
      channelStates: async () => new Map(),
      changed: async () => {},
      settled: async () => {},
    },
    setAside: () => ({ settlements: 0, unreadable: 0 }),
  }
}

const iso = (ms: number) => new Date(ms).toISOString()
const last = (days: number) => ({ from: iso(NOW_MS - days * DAY_MS) })
const deep = (random: Random) => ({ after: idAt(FILL_FROM_MS + random.int(5, FILL_DAYS - 5) * DAY_MS) })

type Call = (random: Random) => Promise<unknown>

function callsOf(books: LargeBooks, count: number): [what: string, target: number, call: Call][] {
  const deps = depsOf(books)
  const { account, own } = books
  const all = { account, keyIds: null }
  const some = (keys: number) => ({ account, keyIds: own.slice(-keys).map(key => key.id) })
  const usage = (sent: object, reader: Parameters<UsageSums['own']>[0] = all) =>
    new UsageSums(deps).own(reader, totalsQuery.parse(sent))
  const list = (sent: object, reader: Parameters<Requests['list']>[0] = all) =>
    new Requests(deps).list(reader, requestsQuery.parse(sent))
  const keeper = { account, madeBy: null }
  const keys = (sent: object) => new KeyList(deps, keeper).page(ownKeysQuery.parse(sent))
  const keysFile = async () => Array.fromAsync(await new KeyList(deps, keeper).file(keysFileQuery.parse({}), 'zh'))
  const key = (random: Random) => ({ key: random.pick(own).publicId })
  const step = fillStepMs(count)
  const requestId = (random: Random) => {
    const i = random.int(0, count - 1)
    return `${idAt(FILL_FROM_MS + i * step)}n0de00${(i % 1_000_000).toString().padStart(5, '0').slice(-5)}`
  }
  return [
    ['usage, 30 days by day and model', CHART_MS, () => usage({})],
    ['usage, 30 days by day and group', CHART_MS, () => usage({ stack: 'group' })],
    ['usage, 30 days by day and key', PAGE_MS, () => usage({ stack: 'key' })],
    ['usage, 7 days by hour and model', CHART_MS, () => usage({ by: 'hour', ...last(7) })],
    ['usage, 150 days by day and model', PAGE_MS, () => usage(last(150))],
    ['usage, 30 days of a model by day', CHART_MS, random => usage({ model: random.pick(MODELS) })],
    ['usage, 30 days by day in another zone', PAGE_MS, () => usage({ zone: 'UTC' })],
    ['usage, 30 days of a key', CHART_MS, random => usage(key(random))],
    ['usage, 30 days of a member with 20 keys', CHART_MS, () => usage({}, some(20))],
    ['overview', PAGE_MS, () => ownOverview(deps, all, true)],
    ['overview of a member with 20 keys', PAGE_MS, () => ownOverview(deps, some(20), true)],
    ['requests, newest', PAGE_MS, () => list({})],
    ['requests, deep in the log', PAGE_MS, random => list(deep(random))],
    ['requests of a key', PAGE_MS, random => list(key(random))],
    ['requests of a member with 20 keys', PAGE_MS, () => list({}, some(20))],
    ['requests of a model', PAGE_MS, random => list({ model: random.pick(MODELS) })],
    ['requests of a key and a model', PAGE_MS, random => list({ ...key(random), model: random.pick(MODELS) })],
    ['requests of a model that nobody uses', PAGE_MS, () => list({ model: UNUSED_MODEL })],
    ['failed requests', PAGE_MS, () => list({ outcome: 'upstream' })],
    ['failed requests of a member, deep', PAGE_MS, random => list({ outcome: 'upstream', ...deep(random) }, some(20))],
    ['requests by status', PAGE_MS, () => list({ status: '5xx' })],
    ['requests that cost what none did', PAGE_MS, () => list({ charge_from: '99' })],
    ['a request by its id', PAGE_MS, random => list({ id: requestId(random) })],
    ['an id that no request has', PAGE_MS, () => list({ id: 'nobody' })],
    ['a receipt', PAGE_MS, random => new Requests(deps).receipt(all, requestId(random), true).catch(() => null)],
    ['keys, newest', PAGE_MS, () => keys({})],
    ['keys by name', PAGE_MS, () => keys({ sort: 'name' })],
    ['keys by last use', PAGE_MS, () => keys({ sort: '-last_used' })],
    ['keys by what they have spent', PAGE_MS, () => keys({ sort: '-spent' })],
    ['keys by spend, of which the cap is used up', PAGE_MS, () => keys({ sort: '-spent', state: 'used_up' })],
    ['keys by spend, found by a part of the name', PAGE_MS, () => keys({ sort: '-spent', q: '77' })],
    ['all keys as a file', FILE_MS, keysFile],
    ['ledger', PAGE_MS, () => new Entries(deps).own(account, entriesQuery.parse({}))],
    ['months', PAGE_MS, () => new Statements(deps).months(account, undefined)],
    ['statement of a month', PAGE_MS, () => new Statements(deps).own(account, '2026-03')],
  ]
}

export async function measureAccount(books: LargeBooks, count: number): Promise<ReadFigures[]> {
  const figures: ReadFigures[] = []
  for (const [what, target, call] of callsOf(books, count)) {
    const random = withSeed(5)
    const took: number[] = []
    await call(random) // what is read for the first time comes from the disk
    for (let i = 0; i < TIMES; i++) {
      const began = performance.now()
      JSON.stringify(await call(random))
      took.push(performance.now() - began)
    }
    took.sort((a, b) => a - b)
    figures.push({ what, target, p50: took[(TIMES - 1) / 2] as number, max: took.at(-1) as number })
  }
  return figures
}

/** Rows a second of an export that is taken as fast as it comes. */
export async function measureExport(books: LargeBooks): Promise<number> {
  const reader = { account: books.account, keyIds: null }
  const pieces = await new Requests(depsOf(books)).export(reader, 'csv', exportQuery.parse({}), 'zh')
  const began = performance.now()
  let rows = 0
  for await (const piece of pieces) {
    for (const byte of piece) if (byte === NEWLINE) rows++
    if (rows > EXPORTED) break
  }
  return rows / ((performance.now() - began) / 1000)
}
