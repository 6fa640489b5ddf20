import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro, ZERO } from '../../lib/base/money.ts'
import { Housekeeping } from '../../lib/process/housekeeping.ts'
import { Store } from '../../lib/store/store.ts'
import type { Audit } from '../../lib/store/audit.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import type { Logger } from '../../lib/base/log.ts'
import { TestClock } from '../support/clock.ts'
import { fund, memoryStore, settlement, usageRow } from '../support/store.ts'

const MINUTE = 60_000
const SOUND: Audit = {
  ok: true,
  accounts: 1,
  credits: ZERO,
  charges: ZERO,
  balances: ZERO,
  leased: ZERO,
  imbalance: ZERO,
  byHand: ZERO,
  resolved: ZERO,
  proven: ZERO,
  broken: [],
  unfit: [],
  findings: [],
}

const NOTHING_TO_PRUNE = {
  now: async () => null,
  refusals: { prune: async () => 0 },
  traffic: { prune: async () => {} },
  people: { prune: async () => 0, forgetAddresses: async () => 0 },
} as unknown as Partial<Store>

function open(store: Partial<Store>, retentionMs = 0, addressesMs = 0) {
  const clock = new TestClock()
  const pay = { byHand: 0 }
  const logged: string[] = []
  const say = (level: string) => (fields: object, text: string) =>
    logged.push(`${level}: ${text} ${JSON.stringify(fields)}`)
  const log = { info: say('info'), error: say('error') } as unknown as Logger
  return {
    clock,
    logged,
    pay,
    keeper: new Housekeeping({
      store: store instanceof Store ? store : ({ ...NOTHING_TO_PRUNE, ...store } as Store),
      clock,
      log,
      setAside: () => ({ settlements: 0, unreadable: 0 }),
      retentionMs: () => retentionMs,
      addressesMs: () => addressesMs,
      pay,
    }),
  }
}

t.test('books that do not add up are told with their accounts and payments, until they are well again', async t => {
  let audit: Audit = { ...SOUND, ok: false, imbalance: micro(7), resolved: micro(9), broken: [3, 5], unfit: ['bsc:1'] }
  const { clock, keeper, logged, pay } = open({ audit: async () => audit })
  t.equal(keeper.imbalance, 0)
  await keeper.run()
  t.equal(keeper.imbalance, 7)
  t.equal(pay.byHand, 9, 'payments that people credited')
  t.same(logged, ['error: the books do not add up {"accounts":[3,5],"payments":["bsc:1"],"imbalance":"0.000007"}'])
  audit = SOUND
  clock.advance(MINUTE)
  await keeper.run()
  t.equal(keeper.imbalance, 0)
  t.equal(logged.length, 1)
})

t.test('an audit that takes long comes less often', async t => {
  let audits = 0
  const { clock, keeper } = open({
    audit: async () => {
      audits++
      clock.advance(6_000)
      return SOUND
    },
  })
  await keeper.run()
  clock.advance(599_000)
  await keeper.run()
  t.equal(audits, 1)
  clock.advance(1_000)
  await keeper.run()
  t.equal(audits, 2, 'a hundredth of the time')
})

t.test('failures: a store that is away is no news, anything else is; the next round comes all the same', async t => {
  let failure: Error = new StoreUnavailable('away')
  let audits = 0
  const { clock, keeper, logged } = open({
    audit: () => {
      audits++
      return Promise.reject(failure)
    },
  })
  keeper.start()
  for (let round = 1; round <= 3; round++) {
    if (round === 3) failure = new TypeError('broken')
    clock.advance(MINUTE)
    await new Promise(resolve => setImmediate(resolve))
    t.equal(audits, round)
    t.equal(logged.length, round === 3 ? 1 : 0)
  }
  keeper.stop()
  clock.advance(10 * MINUTE)
  t.equal(audits, 3, 'stopped')
})

t.test('old usage rows go, balances and audit stay', async t => {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const { account, key } = await fund(store, 'acme', 1_000_000)
  await store.holders.register({ id: 'here', host: 'h', beat: 0 })
  const { clock, keeper, logged } = open(store, 60 * MINUTE)
  const ids = [120, 61, 60, 59, 0].map(minutes => `${idAt(clock.now() - minutes * MINUTE)}node0100000`)
  for (const id of ids) await store.books.settle([settlement(usageRow(id, key, 100), 'here', 0)])
  await keeper.run()
  t.same(
    (await store.usage.page({ limit: 10 })).map(row => row.requestId),
    ids.slice(2).reverse(),
  )
  t.match(logged, ['info: old usage rows deleted {"rows":2}'])
  t.match(await store.books.purses([`a${account.id}`]), [{ spent: 500 }])
  t.match(await store.audit(), { ok: true, charges: 500 })
})

t.test('a long tail of old rows goes in slices, while others settle; the books are true after each', async t => {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const people = await Promise.all(['a', 'b', 'c'].map(name => fund(store, name, 1_000_000)))
  await store.holders.register({ id: 'here', host: 'h', beat: 0 })
  const { clock, keeper, logged } = open(store, MINUTE)
  const at = (ms: number, i: number) =>
    settlement(usageRow(`${idAt(ms)}n0de00${String(i).padStart(5, '0')}`, people[i % 3]!.key, 1 + (i % 7)), 'here', 0)
  const count = 3_300
  const old = Array.from({ length: count }, (_, i) => at(clock.now() - 2 * MINUTE + i, i))
  for (let i = 0; i < count; i += 500) await store.books.settle(old.slice(i, i + 500))
  const before = await store.books.purses(people.map(({ account }) => `a${account.id}` as const))
  const { charges } = await store.audit()

  let done = false
  const running = keeper.run().then(() => (done = true))
  let fresh = 0
  while (!done) {
    await store.books.settle([settlement(usageRow(`${idAt(clock.now())}n0de1${fresh}`, people[0]!.key, 10), 'here', 0)])
    fresh++
    const audit = await store.audit()
    t.match(audit, { ok: true, charges: charges + 10 * fresh })
    clock.advance(50)
  }
  await running
  t.ok(fresh > 3, 'several slices')
  t.match(logged, [`info: old usage rows deleted {"rows":${count}}`])
  t.equal((await store.usage.page({ limit: 1_000 })).length, fresh, 'what is young stays')
  const after = await store.books.purses(people.map(({ account }) => `a${account.id}` as const))
  t.strictSame(
    after.map(({ spent }) => spent),
    before.map(({ spent }, i) => spent + (i === 0 ? 10 * fresh : 0)),
  )
})

const NO_TOP = { rows: [], floor: 0 }
const NO_TRAFFIC = {
  requests: 0,
  refused: {},
  senders: NO_TOP,
  by: { account: NO_TOP, key: NO_TOP, address: NO_TOP },
}

t.test('refusals and counts of them go after a week', async t => {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const { clock, keeper } = open(store)
  const week = 7 * 24 * 60 * MINUTE
  const refusal = { accountId: 1, keyId: 1, model: 'm', reason: 'quota', status: 403, address: '::1' }
  const made = [0, 1].map(i => ({ ...refusal, requestId: `r${i}`, atMs: clock.now() + i * MINUTE }))
  await store.refusals.record(made)
  const hour = Math.floor(clock.now() / 3_600_000) - 1
  for (const i of [0, 1]) await store.traffic.put({ hour: hour + i, traffic: NO_TRAFFIC }, 'here')
  clock.advance(week + MINUTE)
  await keeper.run()
  t.equal(await store.refusals.byRequest('r0'), null)
  t.match(await store.refusals.byRequest('r1'), made[1] as object)
  t.strictSame(await store.traffic.read(hour, hour + 9), [{ hour: hour + 1, traffic: NO_TRAFFIC }])
})

t.test('addresses of people are forgotten after the time that the config says, once an hour', async t => {
  const asked: number[] = []
  const people = {
    prune: async () => 0,
    forgetAddresses: async (beforeMs: number) => {
      asked.push(beforeMs)
      return asked.length % 2
    },
  } as unknown as Store['people']
  const DAY = 86_400_000
  const store = { audit: async () => SOUND, people }
  const never = open(store)
  await never.keeper.run()
  t.same(asked, [])
  const { keeper, clock } = open(store, 0, 30 * DAY)
  const round = async () => {
    const running = keeper.run()
    for (let i = 0; i < 20; i++) {
      await new Promise(resolve => setImmediate(resolve))
      clock.advance(10)
    }
    await running
  }
  await round()
  const [first] = asked as [number]
  t.same(asked, [first, first], 'until nothing is left')
  t.ok(Math.abs(clock.now() - 30 * DAY - first) < 1_000)
  clock.advance(MINUTE)
  await round()
  t.equal(asked.length, 2)
  clock.advance(60 * MINUTE)
  await round()
  t.equal(asked.length, 4)
})
