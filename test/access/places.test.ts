/** Places for open requests, `limits.concurrency`: at most so many of an account over all processes and gateways of a store. */
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Places } from '../../lib/access/places.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import type { StoreHealth } from '../../lib/store/health.ts'
import { TestClock } from '../support/clock.ts'
import { seeded } from '../support/random.ts'
import { memoryStore, wellStore } from '../support/store.ts'
import { until } from '../support/wait.ts'

const ACCOUNT = 7

/** Processes on one store. */
async function processes(t: Test, count: number) {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const clock = new TestClock()
  const errors: unknown[] = []
  const log = { error: (about: unknown) => void errors.push(about) }
  const made = []
  for (let i = 0; i < count; i++) {
    const name = { holder: `p${i}`, alone: false }
    const health: StoreHealth = wellStore(clock)
    await store.holders.register({ id: name.holder, host: 'here', beat: 0 })
    made.push({
      name,
      health,
      places: new Places({ store, clock, health, log, holder: () => name.holder, alone: () => name.alone }),
    })
  }
  const row = async () => JSON.parse((await store.places.read(ACCOUNT))?.state ?? '{}') as Record<string, number>
  /** Until what is unused has gone back. */
  const swept = (holds: Record<string, number>) =>
    until(`the row says ${JSON.stringify(holds)}`, async () => {
      clock.advance(250)
      return JSON.stringify(await row()) === JSON.stringify(holds)
    })
  /** What has been asked of the store is answered. */
  const answered = async () => {
    for (let i = 0; i < 10; i++) await store.ping()
  }
  /** What they resolve with, as time goes by. */
  const waited = async <T>(asked: readonly (T | Promise<T>)[]): Promise<T[]> => {
    let isOver = false
    const all = Promise.all(asked).finally(() => (isOver = true))
    await until('they are answered', async () => {
      await answered()
      if (!isOver) clock.advance(50)
      return isOver
    })
    return all
  }
  return { store, clock, errors, made, row, swept, answered, waited }
}

t.test('as many as the limit over all processes; a place left is free again where it was taken', async t => {
  const { made, waited, errors } = await processes(t, 2)
  const [a, b] = made.map(({ places }) => places) as [Places, Places]
  t.same([await a.enter(ACCOUNT, 3), await a.enter(ACCOUNT, 3), await b.enter(ACCOUNT, 3)], [true, true, true])
  t.same(await waited([a.enter(ACCOUNT, 3), b.enter(ACCOUNT, 3)]), [false, false])
  t.equal(b.enter(ACCOUNT, 3), false, 'the store is not asked again at once')
  t.equal(await b.enter(8, 3), true, 'another account')
  a.leave(ACCOUNT)
  t.equal(a.enter(ACCOUNT, 3), true, 'without asking the store')
  t.same(errors, [])
})

t.test('who keeps to a limit of one is never refused, whichever process the next request comes to', async t => {
  const { made, waited } = await processes(t, 3)
  const random = seeded(t)
  for (let i = 0; i < 30; i++) {
    const { places } = made[random.int(0, 2)]!
    t.same(await waited([places.enter(ACCOUNT, 1)]), [true])
    places.leave(ACCOUNT)
  }
})

t.test(
  'a request that waits is refused after a second; so many wait in a process as the account may have open',
  async t => {
    const { made, clock, waited } = await processes(t, 2)
    const [a, b] = made.map(({ places }) => places) as [Places, Places]
    t.same([await a.enter(ACCOUNT, 2), await a.enter(ACCOUNT, 2)], [true, true])
    t.equal(a.enter(ACCOUNT, 2), false, 'at once where all of them are')
    const beganMs = clock.monotonic()
    const waiting = [b.enter(ACCOUNT, 2), b.enter(ACCOUNT, 2)]
    t.equal(b.enter(ACCOUNT, 2), false, 'a third one does not wait')
    t.same(await waited(waiting), [false, false])
    t.ok(clock.monotonic() - beganMs >= 1_000)
  },
)

t.test('what a process does not use goes back, and then another one has it all', async t => {
  const { made, row, swept, waited } = await processes(t, 2)
  const [a, b] = made.map(({ places }) => places) as [Places, Places]
  for (let i = 0; i < 3; i++) t.equal(await a.enter(ACCOUNT, 3), true)
  t.same(await row(), { p0: 3 })
  a.leave(ACCOUNT)
  a.leave(ACCOUNT)
  await swept({ p0: 1 })
  t.same([await b.enter(ACCOUNT, 3), await b.enter(ACCOUNT, 3)], [true, true])
  t.same(await waited([b.enter(ACCOUNT, 3), a.enter(ACCOUNT, 3)]), [false, false])
  a.leave(ACCOUNT)
  b.leave(ACCOUNT)
  b.leave(ACCOUNT)
  await swept({})
})

t.test(
  'the places of a process that is buried come back; one that was taken for dead says what it has under its new name',
  async t => {
    const { made, store, clock, row, waited } = await processes(t, 2)
    const [a, b] = made as [(typeof made)[0], (typeof made)[0]]
    t.same([await a.places.enter(ACCOUNT, 2), await a.places.enter(ACCOUNT, 2)], [true, true])
    t.same(await waited([b.places.enter(ACCOUNT, 2)]), [false])
    while (!(await store.holders.bury('p0')));
    clock.advance(250) // for so long others are refused without waiting
    t.same(await waited([b.places.enter(ACCOUNT, 2)]), [true])
    t.same(await row(), { p1: 1 })
    a.name.holder = 'p0-again'
    await store.holders.register({ id: 'p0-again', host: 'here', beat: 0 })
    t.equal(await a.places.enter(ACCOUNT, 9), true)
    t.same(await row(), { p1: 1, 'p0-again': 3 })
  },
)

t.test('a burst over five processes: exactly as many as the limit', async t => {
  const { made, waited } = await processes(t, 5)
  const asked = Array.from({ length: 100 }, (_, i) => made[i % 5]!.places.enter(ACCOUNT, 7))
  t.equal((await waited(asked)).filter(Boolean).length, 7)
})

t.test('while the store is away each process counts for itself, and the row is told when it is back', async t => {
  const { made, row, swept, waited } = await processes(t, 2)
  const [a, b] = made as [(typeof made)[0], (typeof made)[0]]
  for (const { health } of made) health.state = 'away'
  for (const { places } of made)
    t.same([places.enter(ACCOUNT, 2), places.enter(ACCOUNT, 2), places.enter(ACCOUNT, 2)], [true, true, false])
  t.same(await row(), {})
  for (const { health } of made) health.state = 'ok'
  await swept({ p0: 2, p1: 2 })
  a.places.leave(ACCOUNT)
  t.equal(a.places.enter(ACCOUNT, 2), true, 'a place that it has')
  b.places.leave(ACCOUNT)
  b.places.leave(ACCOUNT)
  await swept({ p0: 2 })
  t.same(await waited([b.places.enter(ACCOUNT, 2)]), [false])
})

t.test('a store that is silent for a second is no reason to refuse', async t => {
  const { made, store, clock } = await processes(t, 1)
  store.places.read = () => new Promise(() => {})
  const asked = made[0]!.places.enter(ACCOUNT, 2)
  clock.advance(1_000)
  t.equal(await asked, true)
})

t.test('a store that fails after it has written is no reason to refuse, and the row is put right', async t => {
  const { made, store, row, swept, errors } = await processes(t, 1)
  const { swap } = store.places
  store.places.swap = async (...args) => {
    await swap.apply(store.places, args)
    throw new StoreUnavailable('no answer')
  }
  t.equal(await made[0]!.places.enter(ACCOUNT, 2), true)
  t.same(await row(), { p0: 1 })
  made[0]!.places.leave(ACCOUNT)
  store.places.swap = swap
  await swept({})
  t.same(errors, [])
})

t.test('a request that waits gets the place of one that leaves here, without waiting for the store', async t => {
  const { made, clock, answered, waited } = await processes(t, 2)
  const [a, b] = made.map(({ places }) => places) as [Places, Places]
  t.same([await a.enter(ACCOUNT, 2), await b.enter(ACCOUNT, 2)], [true, true])
  const asked = a.enter(ACCOUNT, 2)
  await answered()
  const beganMs = clock.monotonic()
  a.leave(ACCOUNT)
  t.same(await waited([asked]), [true])
  t.equal(clock.monotonic(), beganMs)
})

t.test('the registered processes are asked for seldom, and one that has registered since counts', async t => {
  const { made, store, row, answered, waited } = await processes(t, 2)
  const [a, b] = made.map(({ places }) => places) as [Places, Places]
  const { list } = store.holders
  let lists = 0
  store.holders.list = () => {
    lists++
    return list.call(store.holders)
  }
  const accounts = Array.from({ length: 20 }, (_, i) => ACCOUNT + i)
  for (const account of accounts) t.equal(await a.enter(account, 1), true)
  t.equal(lists, 0)
  t.equal(await waited([b.enter(ACCOUNT, 1)]).then(([one]) => one), false)
  t.ok(lists <= 3, `${lists} for one that waits a second`)
  lists = 0
  t.notOk((await waited(accounts.slice(1).map(account => b.enter(account, 1)))).includes(true))
  t.ok(lists <= 3 * accounts.length, `${lists} for ${accounts.length - 1} that wait at the same time`)

  await waited([b.enter(ACCOUNT + 1, 1)]) // it knows the processes now
  await store.holders.register({ id: 'late', host: 'here', beat: 0 })
  const { version } = (await store.places.read(ACCOUNT))!
  t.equal(await store.places.swap(ACCOUNT, version, '{"late":1}'), true)
  const asked = b.enter(ACCOUNT, 1)
  await answered()
  t.same(await row(), { late: 1 })
  t.same(await waited([asked]), [false])
})

t.test('a process that is alone keeps unused places for ten seconds, or until another one is there', async t => {
  const { made, store, clock, row, swept, answered, waited } = await processes(t, 2)
  const [a, b] = made as [(typeof made)[0], (typeof made)[0]]
  a.name.alone = true
  let reads = 0
  const { read } = store.places
  t.equal(await a.places.enter(ACCOUNT, 1), true)
  a.places.leave(ACCOUNT)
  store.places.read = id => {
    reads++
    return read.call(store.places, id)
  }
  const pass = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) {
      clock.advance(100)
      await answered()
    }
  }
  for (let i = 0; i < 20; i++) {
    await pass(2_000)
    t.equal(a.places.enter(ACCOUNT, 1), true, 'without asking the store')
    a.places.leave(ACCOUNT)
  }
  t.equal(reads, 0)
  await pass(9_500)
  t.same(await row(), { p0: 1 })
  await pass(1_500)
  t.same(await row(), {})
  t.equal(await a.places.enter(ACCOUNT, 1), true)
  a.places.leave(ACCOUNT)
  await pass(2_000)
  t.same(await row(), { p0: 1 })
  a.name.alone = false
  t.same(await waited([b.places.enter(ACCOUNT, 1)]), [true], 'another one has come')
  b.places.leave(ACCOUNT)
  await swept({})
})

t.test('few accounts at a time give back, and none behind the end', async t => {
  const { made, store, clock, answered, errors } = await processes(t, 1)
  const [{ places }] = made as [(typeof made)[0]]
  for (let account = 1; account <= 40; account++) {
    t.equal(await places.enter(account, 1), true)
    places.leave(account)
  }
  const { read } = store.places
  const answers: (() => void)[] = []
  let asked = 0
  store.places.read = async id => {
    asked++
    await new Promise<void>(resolve => answers.push(resolve))
    return read.call(store.places, id)
  }
  clock.advance(300)
  clock.advance(300)
  t.equal(asked, 4)
  for (const answer of answers.splice(0)) answer()
  await until('the next ones', () => asked === 8)
  clock.advance(300)
  t.equal(asked, 8)
  let isOver = false
  const stopped = places.stop().then(() => (isOver = true))
  await answered()
  t.notOk(isOver, 'it waits for what is under way')
  for (const answer of answers.splice(0)) answer()
  await stopped
  clock.advance(10_000)
  await answered()
  t.equal(asked, 8)
  t.same(errors, [])
})

t.test('leaving without having entered is a bug of ours', async t => {
  const { made } = await processes(t, 1)
  const [{ places }] = made as [(typeof made)[0]]
  t.throws(() => places.leave(ACCOUNT), { name: 'InvariantError' })
  t.equal(await places.enter(ACCOUNT, 2), true)
  places.leave(ACCOUNT)
  t.throws(() => places.leave(ACCOUNT), { name: 'InvariantError' })
})

t.test(
  'random requests of several processes that die and are renewed: never more than the limit, and all places come back',
  async t => {
    const random = seeded(t)
    for (let round = 0; round < 10; round++) {
      const { made, store, clock, answered, waited } = await processes(t, random.int(1, 4))
      const limit = random.int(1, 6)
      const open = made.map(() => 0)
      const sum = () => open.reduce((all, one) => all + one, 0)
      const under: Promise<void>[] = []
      let most = 0
      for (let step = 0; step < 150; step++) {
        const at = random.int(0, made.length - 1)
        const { places, name } = made[at]!
        if (random.next() < 0.5) {
          const asked = Promise.resolve(places.enter(ACCOUNT, limit)).then(admitted => {
            if (!admitted) return
            open[at]!++
            most = Math.max(most, sum())
          })
          under.push(asked)
        } else if (open[at]! > 0) {
          open[at]!--
          places.leave(ACCOUNT)
        }
        if (random.next() < 0.2) {
          if (random.next() < 0.5) await waited(under)
          await answered() // a store that is silent for a second is no reason to refuse
          clock.advance(random.int(1, 300))
        }
        if (random.next() < 0.3) await setImmediate()
        if (random.next() < 0.02 && open[at] === 0) {
          // it dies with nothing open here, and whatever the row says it has
          await waited(under)
          if (open[at]! > 0) continue
          while (!(await store.holders.bury(name.holder)));
          name.holder = `${name.holder}+`
          await store.holders.register({ id: name.holder, host: 'here', beat: 0 })
        }
      }
      await waited(under)
      t.ok(most <= limit, `${most} of ${limit}`)
      for (const [at, count] of open.entries()) for (let i = 0; i < count; i++) made[at]!.places.leave(ACCOUNT)
      await until('every process has given back what it had', async () => {
        clock.advance(250)
        const left = Object.keys(JSON.parse((await store.places.read(ACCOUNT))?.state ?? '{}'))
        // what dead processes had stays in the row until somebody needs it
        return !left.some(holder => made.some(({ name }) => name.holder === holder))
      })
    }
  },
)
