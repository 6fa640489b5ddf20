/** Two accounts with random usage, and what the same rows come to when they are added up one by one. */
import type { Test } from 'tap'
import { attemptId, idAt } from '../../lib/base/ids.ts'
import { type Micro, micro } from '../../lib/base/money.ts'
import type { OperationDeps } from '../../lib/operations/deps.ts'
import type { OperationError } from '../../lib/operations/error.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import type { PurseId } from '../../lib/store/books/purses.ts'
import { createLogger } from '../../lib/base/log.ts'
import { BASES, ENDS, type Line, type UsageRow } from '../../lib/terms/usage-row.ts'
import type { Account, Key } from '../../lib/terms/records.ts'
import { TestClock } from '../support/clock.ts'
import { type Random, seeded } from '../support/random.ts'
import { fund, newKey, SETUP, settlement, usageRow } from '../support/store.ts'

export const DAY_MS = 86_400_000
/** Noon in Shanghai, in the middle of a month. */
export const NOW_MS = Date.UTC(2026, 2, 17, 4)
const DAYS = 60

export interface Ground {
  url: string
  store: Store
  clock: TestClock
  deps: OperationDeps
  account: Account
  keys: Key[]
  other: Key
  rows: UsageRow[]
  random: Random
  held: Map<PurseId, Micro>
}

const line = (random: Random, model: string, name: Line['class'], count: number): Line => ({
  model,
  priceVersion: 1,
  list: 'base',
  tier: random.pick([1_000_000, 500_000]),
  tierName: null,
  class: name,
  count,
  price: random.int(1, 9_000_000),
})

/** The first row is the oldest that may be, so that every store reaches as far back, however few rows it has. */
function randomRow(random: Random, key: Key, n: number): UsageRow {
  const atMs = NOW_MS - (n === 0 ? DAYS * DAY_MS : random.int(1, DAYS * DAY_MS))
  const model = random.pick(['m1', 'm1', 'm2', '=m3'])
  const input = random.int(0, 999)
  return usageRow(`${idAt(atMs)}n0de00${String(n).padStart(5, '0')}`, key, random.int(0, 999), {
    model,
    group: random.pick(['default', '组']),
    protocol: random.pick(['chat', 'messages'] as const),
    end: random.pick([...ENDS, 'completed', 'completed'] as const),
    status: random.pick([200, 200, 200, 404, 502]),
    basis: random.pick(BASES),
    firstByteMs: random.pick([null, 40, 150, 900, 70_000]),
    durationMs: random.int(0, 2_000),
    input,
    channel: 'secret-channel',
    upstreamId: 'secret-upstream',
    cost: micro(3),
    held: micro(1_000),
    multiplier: random.pick([1_000_000, 730_000]),
    clientRequestId: random.pick([null, '＝mine', `mine-${n}`]),
    attempts: [{ channel: 'secret-channel', status: 502, error: 'cut', ms: 5 }],
    lines: [line(random, model, 'input', input), line(random, model, 'web_search', random.int(0, 3))],
  })
}

/** `at`: of an empty store; default: a file. */
export async function open(t: Test, count = 400, at?: string): Promise<Ground> {
  const random = seeded(t)
  const url = at ?? `sqlite:${t.testdir()}/store.db`
  const store = openStore(url, { secret: 'x' })
  await store.migrate()
  t.teardown(() => store.close())
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  const { account, key } = await fund(store, 'acme', 1e9)
  const keys = [key]
  for (let i = 0; i < 11; i++)
    keys.push(await store.keys.create(newKey(account.id, { name: `key ${i}`, hash: `${i}`.padStart(64, 'a') }), SETUP))
  const other = (await fund(store, 'other', 1e9)).key
  // the last one is not left to chance: of sixty, none would be the other account's in one run of 120
  const keyOf = (n: number) => (n === count - 1 ? other : random.pick([...keys, other]))
  const rows = Array.from({ length: count }, (_, n) => randomRow(random, keyOf(n), n))
  const attempts = rows
    .slice(0, 20)
    .map(row => ({ ...row, requestId: attemptId(row.requestId, 1), charge: micro(0), cost: micro(77) }))
  await store.books.settle([...rows, ...attempts].map(row => settlement(row, 'h', 0)))
  const clock = new TestClock(NOW_MS)
  const held = new Map<PurseId, Micro>()
  const deps: OperationDeps = {
    store,
    clock,
    log: createLogger('error', { write: () => {} }),
    fleet: {
      held: async () => held,
      holders: async () => ['h'],
      channelStates: async () => new Map(),
      changed: async () => {},
      settled: async () => {},
    },
    setAside: () => ({ settlements: 0, unreadable: 0 }),
  }
  return { url, store, clock, deps, account, keys, other, rows, random, held }
}

/** The error with which a call refuses. */
export const refusalOf = async (call: Promise<unknown>): Promise<OperationError> =>
  call.then(
    () => {
      throw new Error('it was not refused')
    },
    (error: OperationError) => error,
  )
