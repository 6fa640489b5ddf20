import t from 'tap'
import { ANSWER_MS, StoreHealth, type StoreState, whenLate } from '../../lib/store/health.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { TestClock } from '../support/clock.ts'

class ReadOnly extends StoreUnavailable {
  override readonly readsOnly = true
}

/** What becomes of a ping: an answer after so many ms, an error at once, or nothing. */
type Ping = number | Error | 'silent'

function scene(ping: Ping) {
  const clock = new TestClock()
  const s = { ping, pings: 0 }
  const answer = (): Promise<void> => {
    s.pings++
    const { ping } = s
    if (ping instanceof Error) return Promise.reject(ping)
    if (ping === 'silent') return new Promise(() => {})
    return new Promise(resolve => clock.after(ping, resolve))
  }
  return Object.assign(s, { clock, health: new StoreHealth({ clock, store: { ping: answer } }) })
}

const settled = () => new Promise<void>(resolve => setImmediate(resolve))
const silent = () => new Promise<never>(() => {})

async function pass(clock: TestClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    await settled()
    clock.advance(50)
  }
  await settled()
}

t.test('what a probe finds, and who may ask then', async t => {
  const rows: [ping: Ping, state: StoreState, reads: boolean, writes: boolean][] = [
    [0, 'ok', true, true],
    [600, 'ok', true, true],
    [900, 'slow', false, true],
    [2_900, 'slow', false, true],
    ['silent', 'away', false, false],
    [new StoreUnavailable('refused'), 'away', false, false],
    [new Error('a fault of ours'), 'away', false, false],
    [new ReadOnly('read-only'), 'readonly', true, false],
  ]
  for (const [ping, state, reads, writes] of rows) {
    const { clock, health } = scene(ping)
    void health.check()
    await pass(clock, 3_000)
    const name = String(ping)
    t.equal(health.state, state, name)
    t.equal(health.takesWrites, writes, name)
    const asked = health.ask(async () => 'an answer')
    if (reads) t.equal(await asked, 'an answer', name)
    else await t.rejects(asked, StoreUnavailable, name)
  }
})

t.test('a call that is silent: given up after a second, when the store is known to be away', async t => {
  const s = scene('silent')
  const { clock, health } = s
  let failed: Error | null = null
  health.ask(silent).catch(error => (failed = error))
  await pass(clock, ANSWER_MS - 50)
  t.same([failed, health.state, s.pings], [null, 'ok', 1])
  await pass(clock, 50)
  t.match(failed, { name: 'StoreUnavailable' })
  t.equal(health.state, 'away')
})

t.test(
  'a call that is silent while pings are answered: the store is well, and the call is given up all the same',
  async t => {
    const { clock, health } = scene(0)
    const asked = t.rejects(health.ask(silent), StoreUnavailable)
    await pass(clock, ANSWER_MS)
    await asked
    t.equal(health.state, 'ok')
    t.equal(await health.ask(async () => 1), 1)
  },
)

t.test('errors of the store begin a probe, other errors do not', async t => {
  const s = scene(0)
  await t.rejects(
    s.health.ask(() => Promise.reject(new TypeError('ours'))),
    TypeError,
  )
  await settled()
  t.equal(s.pings, 0)
  await t.rejects(
    s.health.ask(() => Promise.reject(new StoreUnavailable('gone'))),
    StoreUnavailable,
  )
  await settled()
  t.equal(s.pings, 1)
})

t.test('one probe at a time, repeated until the store is well, which is told once', async t => {
  const s = scene('silent')
  const { clock, health } = s
  let back = 0
  health.onBack(() => back++)
  for (let i = 0; i < 100; i++) health.ask(silent).catch(() => {})
  await pass(clock, 5_000)
  t.equal(s.pings, 1)
  const other = scene(new StoreUnavailable('refused'))
  other.health.onBack(() => back++)
  for (let i = 0; i < 100; i++) other.health.ask(() => Promise.reject(new StoreUnavailable('refused'))).catch(() => {})
  await pass(other.clock, 5_000)
  t.ok(other.pings >= 8 && other.pings <= 12, `${other.pings} probes in five seconds`)
  t.equal(back, 0)
  other.ping = 0
  await pass(other.clock, 2_000)
  t.equal(other.health.state, 'ok')
  t.equal(back, 1)
  const { pings } = other
  await pass(other.clock, 5_000)
  t.equal(other.pings, pings, 'and nobody pings a store that is well')
})

t.test('one slow write, behind which all waited: the store is well as soon as it is over', async t => {
  const s = scene(900)
  const { clock, health } = s
  void health.check()
  await pass(clock, 800)
  t.equal(health.state, 'away')
  s.ping = 0
  await pass(clock, 150)
  t.equal(health.state, 'ok')
})

t.test('a deadline after a moment in which nothing could be handled sees first what has arrived', async t => {
  const clock = new TestClock()
  let late = 0
  const cancel = whenLate(clock, 100, () => late++)
  clock.advance(5_000)
  cancel() // what arrived while the machine was busy
  await settled()
  t.equal(late, 0)
})

t.test('time in which the process did not run hardly counts', async t => {
  // a machine that is so busy that each timer is seen half a second late
  const clock = new TestClock()
  const busy = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (ms: number, fn: () => void) => clock.after(ms + 500, fn),
    soon: (fn: () => void) => clock.soon(fn),
  }
  let lateMs = 0
  whenLate(busy, 1_000, () => (lateMs = clock.monotonic()))
  for (let passed = 0; passed < 10_000; passed += 50) {
    clock.advance(50)
    await settled()
  }
  t.equal(lateMs, 10 * (100 + 500))
})
