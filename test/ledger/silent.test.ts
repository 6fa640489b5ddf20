/** A store that stands still: how long who waits, what is served, how often it is asked, and that nothing is lost or counted twice. */
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { Hold, type Ledger, MONEY_WAIT_MS, type HoldRefusal } from '../../lib/ledger/ledger.ts'
import type { Store } from '../../lib/store/store.ts'
import { accountPurse, type PurseId } from '../../lib/store/books/purses.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import type { TestClock } from '../support/clock.ts'
import { intercepted, limitOf, SETUP } from '../support/store.ts'
import { until } from '../support/wait.ts'
import { house, reserve, row } from './house.ts'

/** What a call does while the store is in trouble. */
type Trouble = 'silent' | 'refused' | 'ok'

/** A store of which calls stand still or fail, and go on when told. Calls are counted by name and purse. */
function troubled(store: Store) {
  let trouble: Trouble = 'ok'
  /** The calls that it concerns; null = all. */
  let concerned: readonly string[] | null = null
  const standing: (() => void)[] = []
  const calls = new Map<string, number>()
  const ours = intercepted(store, async (work, name, args) => {
    const call = name === 'lease' ? `lease ${args[0]}` : name
    calls.set(call, (calls.get(call) ?? 0) + 1)
    if (concerned !== null && !concerned.includes(name)) return work()
    if (trouble === 'refused') throw new StoreUnavailable('refused')
    if (trouble === 'silent') await new Promise<void>(resolve => standing.push(resolve))
    return work()
  })
  return {
    store: ours,
    calls: (name: string) => calls.get(name) ?? 0,
    become(next: Trouble, only: readonly string[] | null = null) {
      trouble = next
      concerned = only
      calls.clear()
      if (next === 'ok') for (const go of standing.splice(0)) go()
    },
  }
}

const settled = async () => {
  for (let i = 0; i < 10; i++) await new Promise<void>(resolve => setImmediate(resolve))
}

/** The time passes in small steps, as on a machine that works meanwhile. */
async function pass(clock: TestClock, ms: number, stepMs = 50): Promise<void> {
  await settled()
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(Math.min(stepMs, ms - passed))
    await settled()
  }
}

async function scene(t: Test) {
  const h = await house(t)
  const { store, calls, become } = troubled(h.store)
  const ledger = await h.open({ store })
  const account = { id: h.key.accountId, budget: null }
  /** Asks, and notes when by the clock there was an answer. */
  const ask = (amount: number, change: { cap?: null } = {}) => {
    const asked: { tookMs: number | null; answer: Hold | HoldRefusal | null } = { tookMs: null, answer: null }
    const sinceMs = h.clock.monotonic()
    const got = ledger.reserve(account, { ...h.key, ...change }, micro(amount))
    const note = (answer: Hold | HoldRefusal) => Object.assign(asked, { answer, tookMs: h.clock.monotonic() - sinceMs })
    if (got instanceof Promise) void got.then(note)
    else note(got)
    return asked
  }
  return { ...h, ledger, ask, calls, become, purse: accountPurse(h.key.accountId) }
}

const end = async (
  t: Test,
  ledger: Ledger,
  { store, become }: { store: Store; become: (trouble: Trouble) => void },
) => {
  become('ok')
  await settled()
  await ledger.stop()
  t.match(await store.audit(), { ok: true, leased: 0 }, 'no lease is lost, and the books add up')
}

t.test('nobody waits longer than a second, and nobody at all once the store is known to be away', async t => {
  const s = await scene(t)
  const { ledger, clock, ask, become } = s
  become('silent')
  const first = ask(100)
  await pass(clock, MONEY_WAIT_MS / 2)
  const second = ask(100)
  t.same([first.answer, second.answer], [null, null], 'they wait')
  await pass(clock, MONEY_WAIT_MS / 2)
  t.match(first, { tookMs: MONEY_WAIT_MS, answer: { refused: 'unavailable' } })
  t.equal(ledger.health.state, 'away')
  const third = ask(100)
  await settled()
  t.match(third, { tookMs: 0, answer: { refused: 'unavailable' } }, 'at once')
  await pass(clock, MONEY_WAIT_MS / 2)
  t.match(second, { tookMs: MONEY_WAIT_MS, answer: { refused: 'unavailable' } })
  await end(t, ledger, s)
})

t.test('a store that refuses is known to be away with the first answer', async t => {
  const s = await scene(t)
  const { ledger, ask, become, calls, purse } = s
  become('refused')
  const asked = Array.from({ length: 20 }, () => ask(100))
  await settled()
  for (const { tookMs, answer } of asked) t.match({ tookMs, answer }, { tookMs: 0, answer: { refused: 'unavailable' } })
  const before = calls(`lease ${purse}`)
  for (let i = 0; i < 20; i++) ask(100)
  await settled()
  t.equal(calls(`lease ${purse}`), before, 'nobody asks it for a purse any more')
  await end(t, ledger, s)
})

t.test('what a lease covers goes on, behind one that does not fit too', async t => {
  const s = await scene(t)
  const { ledger, key, clock, ask, become, calls, purse } = s
  // so many at once that the lease is sized for them
  const many = await Promise.all(Array.from({ length: 20 }, () => reserve(ledger, key, 20)))
  for (const hold of many) ledger.void(hold)
  become('silent')
  const large = ask(900)
  await pass(clock, 200)
  const behind = ask(20)
  await pass(clock, MONEY_WAIT_MS - 200)
  t.match(large, { tookMs: MONEY_WAIT_MS, answer: { refused: 'unavailable' } })
  t.ok(behind.answer instanceof Hold, 'it waited for nothing but its turn')
  const served: Hold[] = [behind.answer as Hold]
  for (let i = 0; i < 60; i++) {
    const { answer, tookMs } = ask(20)
    t.ok(answer instanceof Hold, 'no promise')
    t.equal(tookMs, 0)
    served.push(answer as Hold)
    ledger.void(served.shift() as Hold)
    await pass(clock, 1_000, 500)
  }
  t.match(ask(900).answer, null)
  await settled()
  t.equal(calls(`lease ${purse}`), 1, 'one call of the purse in the whole outage')
  for (const hold of served) ledger.void(hold)
  await end(t, ledger, s)
})

t.test(
  'a purse has one renewal under way, and it begins before the time-out of a statement would empty the lease',
  async t => {
    const s = await scene(t)
    const { ledger, key, clock, become, calls, purse } = s
    const perSecond = 4
    const spend = async () => {
      ledger.settle(await reserve(ledger, key, perSecond), row(key, perSecond))
      await pass(clock, 1_000, 500)
    }
    for (let i = 0; i < 40; i++) await spend()
    become('silent')
    let served = 0
    while (served < 200) {
      const hold = ledger.reserve({ id: key.accountId, budget: null }, key, micro(perSecond))
      if (!(hold instanceof Hold)) break
      ledger.settle(hold, row(key, perSecond))
      served++
      await pass(clock, 1_000, 500)
    }
    t.ok(served * 1_000 >= s.store.timeoutMs, `${served} s were served from the lease`)
    t.ok(calls(`lease ${purse}`) <= 1, 'no renewal piled up')
    await end(t, ledger, s)
    t.equal(await s.spent(), (40 + served) * perSecond, 'each charge counts once')
  },
)

t.test(
  'a purse whose calls alone stand still, as behind a lock: one call, and nobody waits longer than a second',
  async t => {
    const s = await scene(t)
    const { ledger, key, clock, ask, become, calls, purse } = s
    const many = await Promise.all(Array.from({ length: 20 }, () => reserve(ledger, key, 20)))
    for (const hold of many) ledger.void(hold)
    become('silent', ['lease'])
    const held: Hold[] = []
    for (let i = 0; i < 100; i++) {
      const asked = ask(20)
      await pass(clock, MONEY_WAIT_MS)
      if (asked.answer instanceof Hold) held.push(asked.answer)
      else t.match(asked, { tookMs: MONEY_WAIT_MS, answer: { refused: 'unavailable' } })
    }
    t.equal(ledger.health.state, 'ok')
    t.ok(held.length >= 20, `${held.length} out of the lease`)
    t.equal(calls(`lease ${purse}`), 1)
    for (const hold of held) ledger.void(hold)
    await end(t, ledger, s)
  },
)

t.test('a grant that comes when its asker has given up joins the lease, and counts once', async t => {
  const s = await scene(t)
  const { ledger, clock, ask, become, leased } = s
  become('silent')
  const gone = ask(1_000)
  await pass(clock, MONEY_WAIT_MS)
  t.match(gone.answer, { refused: 'unavailable' })
  become('ok')
  await until('the store has done what it was asked', async () => (await leased()) === 1_000)
  await pass(clock, 1_000)
  t.equal(ledger.health.state, 'ok')
  const hold = ask(1_000)
  await settled()
  t.ok(hold.answer instanceof Hold, 'all of the balance')
  t.equal(hold.tookMs, 0, 'without another question')
  t.equal(await leased(), 1_000)
  ledger.void(hold.answer as Hold)
  await end(t, ledger, s)
})

t.test('one probe a process, and not one a purse', async t => {
  const s = await scene(t)
  const { ledger, clock, store, become, calls, key } = s
  const purses: PurseId[] = []
  become('silent')
  for (let i = 0; i < 50; i++) {
    const other = await store.accounts.create({ name: `other ${i}`, groups: ['default'] }, SETUP)
    purses.push(accountPurse(other.id))
    for (let n = 0; n < 3; n++) void ledger.reserve({ id: other.id, budget: null }, key, micro(10))
  }
  await pass(clock, MONEY_WAIT_MS)
  t.equal(ledger.health.state, 'away')
  for (let second = 0; second < 30; second++) {
    for (const purse of purses) void ledger.reserve({ id: Number(purse.slice(1)), budget: null }, key, micro(10))
    await pass(clock, 1_000, 500)
  }
  for (const purse of purses) if (calls(`lease ${purse}`) > 1) t.fail(`${purse}: ${calls(`lease ${purse}`)} calls`)
  t.equal(calls('ping'), 1, 'and the probe waits for its answer')
  await end(t, ledger, s)
})

t.test('leases that nobody uses are kept while the store is away', async t => {
  const s = await scene(t)
  const { ledger, clock, ask, become, key, calls } = s
  ledger.void(await reserve(ledger, key, 100))
  become('refused')
  ask(900)
  await pass(clock, 180_000, 5_000)
  t.equal(ledger.health.state, 'away')
  t.equal(calls('giveBack'), 0)
  const { answer } = ask(100)
  t.ok(answer instanceof Hold)
  ledger.void(answer as Hold)
  become('ok')
  await pass(clock, 2_000)
  await ledger.stop()
})

t.test('a cap that nobody knows: within a second, then at once', async t => {
  const s = await scene(t)
  const { ledger, clock, become, store } = s
  const cap = limitOf(100, 'day')
  const key = await store.keys.update(s.key.id, { cap: { limit: cap, atMs: clock.now() } }, SETUP)
  become('silent')
  let learned = 0
  void ledger.learnCap(key).then(() => learned++)
  await pass(clock, MONEY_WAIT_MS)
  t.equal(learned, 1)
  t.equal(ledger.capUsedUp(key), null, 'nobody knows')
  void ledger.learnCap(key).then(() => learned++)
  await settled()
  t.equal(learned, 2)
  await end(t, ledger, s)
})

t.test('a slow store: requests are told at once, and leases are renewed all the same', async t => {
  const s = await scene(t)
  const { ledger, clock, ask, become, key, calls, purse } = s
  ledger.void(await reserve(ledger, key, 100))
  become('silent')
  ask(900)
  await pass(clock, 2_000)
  t.equal(ledger.health.state, 'away')
  become('ok') // it answers what it was asked two seconds ago
  await settled()
  t.equal(ledger.health.state, 'slow')
  become('silent')
  const large = ask(5_000)
  await settled()
  t.match(large, { tookMs: 0, answer: { refused: 'unavailable' } })
  const small = ask(900)
  t.ok(small.answer instanceof Hold, 'out of the lease')
  await settled()
  t.equal(calls(`lease ${purse}`), 1, 'which is renewed')
  ledger.void(small.answer as Hold)
  become('ok')
  await pass(clock, 1_000)
  t.equal(ledger.health.state, 'ok', 'it answers in time again')
  await end(t, ledger, s)
})

t.test('more for a further candidate, or for an answer that grows', async t => {
  const s = await scene(t)
  const { ledger, clock, become, key } = s
  const hold = await reserve(ledger, key, 100)
  become('silent')
  const answers: [grown: boolean, atMs: number][] = []
  const sinceMs = clock.monotonic()
  const grow = () => {
    t.equal(ledger.grow(hold, micro(900)), false)
    void ledger.growLater(hold, micro(900)).then(grown => answers.push([grown, clock.monotonic() - sinceMs]))
  }
  grow()
  await pass(clock, MONEY_WAIT_MS)
  grow()
  await settled()
  t.same(answers, [
    [false, MONEY_WAIT_MS],
    [false, MONEY_WAIT_MS],
  ])
  t.equal(hold.amount, 100)
  ledger.void(hold)
  await end(t, ledger, s)
})
