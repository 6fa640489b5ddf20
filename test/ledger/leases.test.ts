import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { periodAt, periodName } from '../../lib/base/periods.ts'
import { Hold, type Ledger, type HoldRefusal } from '../../lib/ledger/ledger.ts'
import type { Store } from '../../lib/store/store.ts'
import { limitPurse, type PurseId } from '../../lib/store/books/purses.ts'
import type { Limit } from '../../lib/terms/records.ts'
import type { TestClock } from '../support/clock.ts'
import { limitOf, SETUP, changed } from '../support/store.ts'
import { until } from '../support/wait.ts'
import { away, house, row } from './house.ts'

/** The house of the ledger's tests with a cap and a budget on its key and account. */
async function limited(t: Parameters<typeof house>[0], cap: Limit | null, budget: Limit | null) {
  const h = await house(t)
  const { store, clock } = h
  const key = await store.keys.update(h.key.id, { cap: { limit: cap, atMs: clock.now() } }, SETUP)
  const account = await store.accounts.update(h.key.accountId, { budget: { limit: budget, atMs: clock.now() } }, SETUP)
  return {
    ...h,
    key,
    account,
    reserve: (ledger: Ledger, amount: number) => ledger.reserve(account, key, micro(amount)),
  }
}

const dayOf = (clock: TestClock) => periodAt('day', clock.now(), 'Asia/Shanghai')
const spentOf = async (store: Store, id: PurseId) => (await store.books.purses([id]))[0]?.spent
const settle = async (ledger: Ledger, hold: unknown, made: ReturnType<typeof row>) => {
  ledger.settle(hold as Hold, made)
  ledger.write()
}

t.test('a hold fits into account, cap and budget, or holds nothing', async t => {
  const rows: [cap: number | null, budget: number | null, amount: number, want: Partial<HoldRefusal> | null][] = [
    [100, 100, 100, null],
    [100, null, 101, { refused: 'cap', available: micro(100) }],
    [null, 100, 101, { refused: 'estimate', available: micro(100) }],
    [200, 100, 150, { refused: 'estimate', available: micro(100) }],
    [100, 200, 150, { refused: 'cap', available: micro(100) }],
    [0, null, 1, { refused: 'cap_used', available: micro(0) }],
    [null, 0, 1, { refused: 'quota', available: micro(0) }],
    [2_000, 2_000, 1_001, { refused: 'estimate', available: micro(1_000) }],
  ]
  for (const every of [null, 'day', 'week', 'month'] as const)
    for (const [cap, budget, amount, want] of rows) {
      const limit = (value: number | null) => (value === null ? null : limitOf(value, every))
      const { open, reserve } = await limited(t, limit(cap), limit(budget))
      const ledger = await open()
      const name = `${amount} of ${cap} and ${budget}, every ${every}`
      const got = await reserve(ledger, amount)
      if (want === null) t.ok(got instanceof Hold, name)
      else {
        t.match(got, want, name)
        t.same([...ledger.held().values()], [], 'nothing is held')
      }
      if (got instanceof Hold) ledger.void(got)
      await ledger.stop()
    }
})

t.test('a period ends: the new one is whole, and a late charge belongs to the old one', async t => {
  const { store, clock, key, account, open, reserve } = await limited(t, limitOf(100, 'day'), limitOf(150, 'day'))
  const ledger = await open()
  const old = periodName(dayOf(clock))
  const [capOld, budgetOld] = [limitPurse('k', key.id, old), limitPurse('b', account.id, old)]
  const late = await reserve(ledger, 80)
  t.match(
    await reserve(ledger, 30),
    { refused: 'cap', available: micro(100) },
    'open holds are no part of what is told',
  )
  clock.step(dayOf(clock).endMs - clock.now())
  const now = periodName(dayOf(clock))
  const [capNow, budgetNow] = [limitPurse('k', key.id, now), limitPurse('b', account.id, now)]
  const held = await reserve(ledger, 100)
  t.ok(held instanceof Hold, 'nothing of the old period counts')
  t.equal(ledger.grow(late as Hold, micro(20)) || (await ledger.growLater(late as Hold, micro(20))), true)
  t.equal(await ledger.growLater(late as Hold, micro(1)), false, 'within the cap of its own period')
  await settle(ledger, late, row(key, 90))
  await settle(ledger, held, row(key, 40))
  await ledger.flush()
  t.strictSame(
    await Promise.all([capOld, budgetOld, capNow, budgetNow, `k${key.id}` as const].map(id => spentOf(store, id))),
    [90, 90, 40, 40, 130],
  )
  t.match(await reserve(ledger, 61), { refused: 'cap', available: micro(60) })
  await ledger.stop()
  t.match(await store.audit(), { ok: true, charges: 130, leased: 0 })
})

t.test('the leases of the next period are there before it begins, also when the store is away then', async t => {
  const { store, clock, key, open, reserve } = await limited(t, limitOf(900, 'day'), limitOf(900, 'week'))
  let gone = false
  const ours = changed(store, { books: { lease: (...args) => (gone ? away() : store.books.lease(...args)) } })
  const ledger = await open({ store: ours })
  // to a Sunday's end, when day and week end together
  clock.step(periodAt('week', clock.now(), 'Asia/Shanghai').endMs - clock.now() - 60_000)
  const before = await reserve(ledger, 20)
  ledger.void(before as Hold)
  for (let s = 0; s < 58; s++) {
    clock.advance(1_000)
    await new Promise(setImmediate)
    if (s % 10 === 0) ledger.void((await reserve(ledger, 20)) as Hold)
  }
  const soon = clock.now() + 10_000
  const next = (['day', 'week'] as const).map(every => periodName(periodAt(every, soon, 'Asia/Shanghai')))
  const coming = [limitPurse('k', key.id, next[0]!), limitPurse('b', key.accountId, next[1]!)]
  await until('the leases of the next periods are there', async () => {
    const purses = await store.books.purses(coming)
    return purses.length === 2 && purses.every(({ leased }) => leased > 0)
  })
  gone = true
  clock.advance(2_000)
  const held = reserve(ledger, 20)
  t.ok(held instanceof Hold, 'no promise: the store was not asked')
  const name = periodName(dayOf(clock))
  t.equal((held as Hold).cap?.purse, limitPurse('k', key.id, name), 'of the new day')
  t.match(await reserve(ledger, 800), { refused: 'unavailable' })
  ledger.void(held as Hold)
  gone = false
  await ledger.stop()
})

t.test('a cap that is used up is known without asking, or asked for once', async t => {
  const { clock, store, key, open, reserve } = await limited(t, limitOf(10, 'day'), null)
  const one = await open({ holder: 'one' })
  t.equal(one.capUsedUp(key), null, 'nothing is known of this period')
  await settle(one, await reserve(one, 10), row(key, 10))
  t.equal(one.capUsedUp(key), true, 'known at once')
  await one.flush()
  t.match(await reserve(one, 1), { refused: 'cap_used' })
  const two = await open({ holder: 'two' })
  t.equal(two.capUsedUp(key), null)
  await two.learnCap(key)
  t.equal(two.capUsedUp(key), true)
  clock.step(86_400_000)
  t.equal(two.capUsedUp(key), null, 'another period')
  await two.learnCap(key)
  t.equal(two.capUsedUp(key), false)
  const raised = await store.keys.update(key.id, { cap: { limit: limitOf(20, 'day'), atMs: clock.now() } }, SETUP)
  t.equal(two.capUsedUp(raised), false)
  await Promise.all([one.stop(), two.stop()])
})
