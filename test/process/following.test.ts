/** How often a process asks the store what others have changed: each question wakes an idle process. */
// words that people search for: poll, idle CPU, wakeups, stale key, second gateway
import t, { type Test } from 'tap'
import { StoreFollower } from '../../lib/process/store-follower.ts'
import type { Change } from '../../lib/store/base/changes.ts'
import type { Logger } from '../../lib/base/log.ts'
import { BY_CLI, changed } from '../support/store.ts'
import { until } from '../support/wait.ts'
import { house, reserve } from '../ledger/house.ts'

const STEP_MS = 10
const BEAT_MS = 20_000
/** What a process holds it tells others once a second, while there are any. */
const REPORTS = 1

type House = Awaited<ReturnType<typeof house>>

async function serving(t: Test, { store, clock, open }: House, holder: string) {
  const ledger = await open({ holder })
  let asked = 0
  const heard: Change['kind'][] = []
  const since = async (seq: number) => {
    asked++
    return store.changes.since(seq)
  }
  const follower = new StoreFollower(
    {
      store: changed(store, { changes: { since } }),
      clock,
      log: { warn: () => {}, error: (_: object, text: string) => t.fail(text) } as unknown as Logger,
      mayBeRecalled: () => ledger.mayBeRecalled,
      onChange: change => {
        heard.push(change.kind)
        ledger.onChange(change)
      },
      onUnknownChanges: () => t.fail('no change was lost'),
      readCatalog: async () => {},
    },
    await store.changes.seq(),
  )
  follower.start()
  return { ledger, follower, heard, asked: () => asked }
}

/** Time passes; what is due is done before more of it does. `ends`: how many timers are not set again meanwhile. */
async function pass({ clock }: House, ms: number, ends = 0): Promise<void> {
  const timers = clock.timers - ends
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    clock.advance(STEP_MS)
    await until('what was due is done', () => clock.timers >= timers)
  }
}

t.test('a process that is alone asks seldom, and as soon as another one is there often', async t => {
  const at = await house(t)
  const one = await serving(t, at, 'one')
  const asksIn = async (ms: number): Promise<number> => {
    const before = one.asked()
    await pass(at, ms)
    return one.asked() - before
  }
  const hold = await reserve(one.ledger, at.key, 500)
  t.equal(one.ledger.hasLeases, true)
  t.equal(await asksIn(8_000), 10, 'alone: each 800 ms')
  one.heard.length = 0

  await at.store.accounts.update(at.key.accountId, { status: 'banned' }, BY_CLI)
  await pass(at, 800)
  t.strictSame(one.heard, ['account'], 'what a command writes into the store is heard')

  const two = await at.open({ holder: 'two' })
  await pass(at, 800)
  t.strictSame(one.heard, ['account', 'holder'], 'the other one is heard of')
  t.equal(await asksIn(2_900), 10, 'together: each 290 ms, so that money that is recalled is there in time')

  await two.stop()
  await pass(at, BEAT_MS + 800, REPORTS)
  t.equal(await asksIn(8_000), 10, 'alone again')

  one.ledger.void(hold)
  await one.follower.stop()
  await one.ledger.stop()
})

t.test('a process of which nobody has leased anything asks seldom, also beside others', async t => {
  const at = await house(t)
  const one = await serving(t, at, 'one')
  const two = await at.open({ holder: 'two' })
  await pass(at, 800)
  const before = one.asked()
  await pass(at, 4_000)
  t.equal(one.asked() - before, 5)
  await one.follower.stop()
  await one.ledger.stop()
  await two.stop()
})

t.test(
  'a process that is alone is woken for nothing else, and tells what it holds as soon as another one is there',
  async t => {
    const at = await house(t)
    const one = await serving(t, at, 'one')
    const hold = await reserve(one.ledger, at.key, 500)
    const held = async () => [...(await at.store.holders.heldByOthers(null, ['two'])).values()]
    const { after } = at.clock
    let set: number[] = []
    at.clock.after = (ms, fn) => {
      set.push(ms)
      return after.call(at.clock, ms, fn)
    }
    await pass(at, 8_000)
    // leases of the next period, and journals of processes that have died on this machine
    const rounds = [5_000, 5_000]
    t.strictSame(
      set.toSorted((a, b) => a - b),
      [...Array.from({ length: 10 }, () => 800), ...rounds],
    )
    t.strictSame(await held(), [], 'nobody is there to read it')

    const two = await at.open({ holder: 'two' })
    await pass(at, 1_800)
    t.strictSame(await held(), [500])
    await two.stop()
    await pass(at, BEAT_MS + 1_000, REPORTS)
    set = []
    await pass(at, 4_000)
    t.notOk(set.includes(1_000), 'alone again')

    one.ledger.void(hold)
    await one.follower.stop()
    await one.ledger.stop()
  },
)
