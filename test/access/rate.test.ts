import t from 'tap'
import { RateLimiter } from '../../lib/access/rate.ts'
import { ANSWER_MS, StoreHealth } from '../../lib/store/health.ts'
import type { Store } from '../../lib/store/store.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { TestClock } from '../support/clock.ts'
import { wellStore } from '../support/store.ts'
import { seeded } from '../support/random.ts'

const MINUTE = 60_000
const PER_MINUTE = (requests: number) => ({ requests, minutes: 1 })

/** Rate windows only, with every statement counted, slow or away when told. */
class Windows {
  readonly rows = new Map<number, { version: number; state: string }>()
  statements = 0
  down = false
  /** The next swap is made, and its answer lost. */
  loseAnswer = false
  wait: () => Promise<void> = async () => {}

  async #statement<T>(work: () => T): Promise<T> {
    this.statements++
    await this.wait()
    if (this.down) throw new StoreUnavailable('down')
    const result = work()
    await this.wait()
    return result
  }

  readonly rateWindows = this

  read(id: number) {
    return this.#statement(() => {
      const row = this.rows.get(id)
      return row === undefined ? null : { ...row }
    })
  }

  async swap(id: number, version: number, state: string): Promise<boolean> {
    const swapped = await this.#statement(() => {
      if ((this.rows.get(id)?.version ?? 0) !== version) return false
      this.rows.set(id, { version: version + 1, state })
      return true
    })
    if (!this.loseAnswer) return swapped
    this.loseAnswer = false
    throw new StoreUnavailable('the answer is lost')
  }
}

class Notes {
  readonly all: string[] = []
  warn = (_data: object, message: string) => this.all.push(`warn: ${message}`)
  error = (_data: object, message: string) => this.all.push(`error: ${message}`)
}

/** `patient`: who waits for the store waits as long as it takes. */
function setUp(gateways = 1, patient = false) {
  const windows = new Windows()
  const clock = new TestClock()
  const log = new Notes()
  const make = (own: TestClock = clock) =>
    new RateLimiter({
      store: windows as unknown as Store,
      clock: own,
      health: wellStore(patient ? new TestClock() : own),
      log,
    })
  return { windows, clock, log, make, limiters: Array.from({ length: gateways }, () => make()) }
}

const settled = async () => {
  for (let i = 0; i < 3; i++) await new Promise<void>(resolve => setImmediate(resolve))
}

async function pass(clock: TestClock, ms: number, stepMs = 250): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(Math.min(stepMs, ms - passed))
    await settled()
  }
}

const admitted = async (answers: (number | Promise<number>)[]) =>
  (await Promise.all(answers)).filter(wait => wait === 0).length

t.test('no limit costs no question', async t => {
  const { windows, limiters } = setUp()
  for (let i = 0; i < 1000; i++) t.equal(limiters[0]?.admit(1, PER_MINUTE(0)), 0)
  t.equal(windows.statements, 0)
})

t.test('three a minute: the fourth waits until the first has left the window', async t => {
  const { clock, limiters } = setUp()
  const [limiter] = limiters as [RateLimiter]
  for (let i = 0; i < 3; i++) {
    t.equal(await limiter.admit(1, PER_MINUTE(3)), 0)
    await pass(clock, 5000)
  }
  const wait = await limiter.admit(1, PER_MINUTE(3))
  t.ok(wait >= 45 && wait <= 46, `${wait}`)
  t.equal(await limiter.admit(2, PER_MINUTE(3)), 0, 'another account has its own')
  await pass(clock, 43_000)
  t.not(await limiter.admit(1, PER_MINUTE(3)), 0)
  await pass(clock, 3000)
  t.equal(await limiter.admit(1, PER_MINUTE(3)), 0)
  t.not(await limiter.admit(1, PER_MINUTE(3)), 0)
})

t.test('parallel bursts: exactly the limit, on any number of gateways, the first ones first', async t => {
  for (const gateways of [1, 2, 4]) {
    for (const limit of [1, 3, 60, 600]) {
      const { limiters } = setUp(gateways)
      const asked = Array.from({ length: limit * 2 + 20 }, (_, i) =>
        (limiters[i % gateways] as RateLimiter).admit(1, PER_MINUTE(limit)),
      )
      const answers = await Promise.all(asked)
      t.equal(answers.filter(wait => wait === 0).length, limit, `${limit} on ${gateways}`)
      t.ok(answers.every(wait => Number.isInteger(wait) && wait >= 0 && wait <= 71))
      if (gateways === 1) t.ok(answers.slice(0, limit).every(wait => wait === 0))
    }
  }
})

t.test('standing: what is left and when there is more, with every request, and over gateways', async t => {
  for (const gateways of [1, 2]) {
    const { clock, limiters } = setUp(gateways)
    const limiter = (i: number) => limiters[i % gateways] as RateLimiter
    for (let i = 0; i < 5; i++) {
      t.equal(await limiter(i).admit(1, PER_MINUTE(5)), 0)
      const { left, moreInS } = limiter(i).standing(1, PER_MINUTE(5))
      t.equal(left, 4 - i, `${gateways} gateways, request ${i + 1}`)
      t.ok(moreInS >= 55 - i && moreInS <= 61, `${moreInS} s`)
      await pass(clock, 1000)
    }
    const wait = await limiter(0).admit(1, PER_MINUTE(5))
    t.same(limiter(0).standing(1, PER_MINUTE(5)), { left: 0, moreInS: wait })
    await pass(clock, 61_000)
    t.equal(await limiter(1).admit(1, PER_MINUTE(5)), 0)
    t.equal(limiter(1).standing(1, PER_MINUTE(5)).left, 4, 'the window is empty again')
  }
  const { windows, limiters, clock } = setUp()
  const [limiter] = limiters as [RateLimiter]
  let last = 1001
  for (let i = 0; i < 600; i++) {
    t.equal(await limiter.admit(1, PER_MINUTE(1000)), 0)
    const { left } = limiter.standing(1, PER_MINUTE(1000))
    if (left >= last) t.fail(`${left} left after ${last}`)
    last = left
    if (i % 100 === 0) await pass(clock, 250)
  }
  t.equal(last, 400, 'slots that are taken ahead are not used')
  windows.down = true
  await pass(clock, 10_000)
  t.equal(await limiter.admit(1, PER_MINUTE(1000)), 0)
  t.equal(limiter.standing(1, PER_MINUTE(1000)).left, 399, 'while the store is away, too')
})

t.test('standing over several gateways: what the store said, less what others have used since', async t => {
  const random = seeded(t)
  for (const [limit, gateways, longestMs] of [
    [20, 2, 2500],
    [60, 3, 1500],
    [600, 3, 40],
    [1000, 2, 40],
  ] as const) {
    const { clock, limiters } = setUp(gateways)
    const times: number[] = []
    const sinceAsked = limiters.map(() => 0)
    const usedWithin = (ms: number) => times.filter(time => time > clock.monotonic() - ms).length
    // in hand of the others, where none of ours may use it: an eighth of what is free at most
    const elsewhere = Math.ceil(limit / 8) * (gateways - 1)
    let [asked, refused] = [0, 0]
    for (let i = 0; i < limit * 3; i++) {
      const at = random.int(0, gateways - 1)
      const limiter = limiters[at] as RateLimiter
      const answer = limiter.admit(1, PER_MINUTE(limit))
      const wait = await answer
      const { left, moreInS } = limiter.standing(1, PER_MINUTE(limit))
      if (wait > 0) {
        refused++
        if (left !== 0 || moreInS !== wait) t.fail(`refused for ${wait} s, and ${left} are left in ${moreInS} s`)
      } else {
        times.push(clock.monotonic())
        for (const other of sinceAsked.keys()) sinceAsked[other]! += other === at ? 0 : 1
        if (answer instanceof Promise) {
          asked++
          sinceAsked[at] = 0
          // a use counts until its part of the window is over, a sixtieth of it
          const least = limit - usedWithin((MINUTE * 61) / 60) - elsewhere
          if (left < least) t.fail(`${left} are said to be left, and at least ${least} are`)
        }
        const most = limit - usedWithin(MINUTE) + sinceAsked[at]!
        if (left > most) t.fail(`${left} are said to be left, and ${most} are`)
      }
      await pass(clock, random.int(1, longestMs))
    }
    t.ok(asked > 10 && refused > 0, `${limit} over ${gateways}: ${asked} asked the store, ${refused} were refused`)
  }
})

t.test('a refused account asks the store now and then, not for every request', async t => {
  const { windows, clock, limiters } = setUp()
  const [limiter] = limiters as [RateLimiter]
  for (let i = 0; i < 3; i++) await limiter.admit(1, PER_MINUTE(2))
  windows.statements = 0
  let waited = 0
  for (let i = 0; i < 1000; i++) {
    const answer = limiter.admit(1, PER_MINUTE(2))
    if (typeof answer !== 'number') waited++
    t.not(await answer, 0)
    clock.advance(10)
  }
  t.ok(waited <= 25, `${waited} waited`)
  t.ok(windows.statements <= 25, `${windows.statements} in 10 s`)
})

t.test('a steady flow neither waits nor asks often', async t => {
  for (const perS of [2, 10, 200]) {
    const { windows, clock, limiters } = setUp()
    const [limiter] = limiters as [RateLimiter]
    const ask = async (seconds: number) => {
      let waited = 0
      for (let i = 0; i < seconds * perS; i++) {
        const answer = limiter.admit(1, PER_MINUTE(perS * 60 * 2))
        if (typeof answer !== 'number') waited++
        t.equal(await answer, 0)
        clock.advance(1000 / perS)
        await new Promise<void>(resolve => setImmediate(resolve))
      }
      return waited
    }
    await ask(10)
    windows.statements = 0
    t.equal(await ask(60), 0, `${perS} a second: nobody waits`)
    t.ok(windows.statements <= 12, `${perS} a second: ${windows.statements} statements a minute`)
  }
})

t.test('what is in hand and not used goes back, so that others have it', async t => {
  const { clock, limiters } = setUp(2)
  const [one, two] = limiters as [RateLimiter, RateLimiter]
  for (let i = 0; i < 40; i++) {
    t.equal(await one.admit(1, PER_MINUTE(200)), 0)
    await pass(clock, 50, 50)
  }
  await pass(clock, 9000)
  t.equal(await admitted(Array.from({ length: 300 }, () => two.admit(1, PER_MINUTE(200)))), 160)
})

t.test('near the limit it goes back within a second or so', async t => {
  const { clock, limiters } = setUp(2)
  const [one, two] = limiters as [RateLimiter, RateLimiter]
  t.equal(await one.admit(1, PER_MINUTE(100)), 0)
  clock.advance(100)
  t.equal(await admitted(Array.from({ length: 60 }, () => one.admit(1, PER_MINUTE(100)))), 60)
  for (let i = 0; i < 12; i++) {
    clock.advance(100)
    t.equal(await one.admit(1, PER_MINUTE(100)), 0)
  }
  const burst = () => admitted(Array.from({ length: 100 }, () => two.admit(1, PER_MINUTE(100))))
  const atOnce = await burst()
  t.ok(atOnce < 27, 'some are in the hand of one that has just been busy')
  await pass(clock, 2000)
  t.equal(atOnce + (await burst()), 27)
})

t.test('at the end of the limit nothing is in hand: who needs it has it', async t => {
  for (const used of [575, 583, 590, 599]) {
    const { clock, limiters } = setUp(2)
    const [one, two] = limiters as [RateLimiter, RateLimiter]
    for (let i = 0; i < used; i++) {
      t.equal(await one.admit(1, PER_MINUTE(600)), 0)
      clock.advance(10)
    }
    t.equal(await admitted(Array.from({ length: 50 }, () => two.admit(1, PER_MINUTE(600)))), 600 - used)
  }
})

t.test('a limit that is changed holds from the next request on', async t => {
  const { limiters } = setUp()
  const [limiter] = limiters as [RateLimiter]
  const burst = (count: number, limit: number) =>
    admitted(Array.from({ length: count }, () => limiter.admit(1, PER_MINUTE(limit))))
  t.equal(await burst(20, 10), 10)
  t.equal(await burst(20, 15), 5)
  t.equal(await burst(20, 5), 0)
  t.equal(await burst(20, 15), 0)
  t.equal(await burst(20, 600), 20)
  t.equal(await burst(20, 30), 0, 'also with slots in hand that were free under a higher one')
  t.equal(await burst(20, 0), 20)
})

t.test('waiting under different limits, each is judged by its own', async t => {
  const { limiters } = setUp()
  const [limiter] = limiters as [RateLimiter]
  const limits = [3, 3, 3, 3, 8, 3, 8, 8, 8, 8, 8, 8]
  const answers = await Promise.all(limits.map(limit => limiter.admit(1, PER_MINUTE(limit))))
  t.same(
    answers.map(wait => wait === 0),
    [true, true, true, false, true, false, true, true, true, true, false, false],
  )
})

t.test('windows of different length are counted apart', async t => {
  const { clock, limiters } = setUp()
  const [limiter] = limiters as [RateLimiter]
  const hourly = { requests: 5, minutes: 60 }
  for (let i = 0; i < 5; i++) {
    t.equal(await limiter.admit(1, hourly), 0)
    t.equal(await admitted(Array.from({ length: 20 }, () => limiter.admit(1, PER_MINUTE(10)))), 10)
    await pass(clock, 71_000, 1000)
  }
  t.ok((await limiter.admit(1, hourly)) > 3000)
})

t.test('wall clocks that step or differ do not open the window', async t => {
  for (const stepMs of [-60 * MINUTE, 60 * MINUTE, -30_000, 30_000]) {
    const { clock, make } = setUp()
    const one = make()
    t.equal(await admitted(Array.from({ length: 10 }, () => one.admit(1, PER_MINUTE(10)))), 10)
    clock.step(stepMs)
    t.equal(await admitted(Array.from({ length: 10 }, () => one.admit(1, PER_MINUTE(10)))), 0, `a step of ${stepMs} ms`)
    if (stepMs < 0) {
      t.equal(await admitted([make().admit(1, PER_MINUTE(10))]), 0, 'nor for who starts after a step back')
    }
    await pass(clock, 62_000, 1000)
    t.equal(await admitted(Array.from({ length: 11 }, () => one.admit(1, PER_MINUTE(10)))), 10, 'and it goes on')
    await pass(clock, 62_000, 1000)
    const late = make()
    const early = await admitted(Array.from({ length: 11 }, () => late.admit(1, PER_MINUTE(10))))
    if (stepMs > 0) t.equal(early, 10, 'also for who starts later')
    await pass(clock, 62_000, 1000)
    const after = await admitted(Array.from({ length: 11 }, () => late.admit(1, PER_MINUTE(10))))
    t.ok(early + after >= 10 && after <= 10, `${early} and ${after}: and for who started behind, a window later`)
  }
})

t.test(
  'without the store: slots in hand first, then the window as last known, told once, settled afterwards',
  async t => {
    const { windows, clock, log, limiters } = setUp()
    const [limiter] = limiters as [RateLimiter]
    t.equal(await admitted(Array.from({ length: 40 }, () => limiter.admit(1, PER_MINUTE(100)))), 40)
    windows.down = true
    t.equal(await admitted(Array.from({ length: 100 }, () => limiter.admit(1, PER_MINUTE(100)))), 60)
    t.equal(await admitted(Array.from({ length: 20 }, () => limiter.admit(2, PER_MINUTE(5)))), 5, 'one never seen')
    t.equal(typeof limiter.admit(1, PER_MINUTE(100)), 'number', 'nobody waits for a store that is known to be away')
    t.same(log.all, ['warn: the store does not answer: rate limits hold per process'])
    windows.statements = 0
    for (let i = 0; i < 50; i++) {
      limiter.admit(1, PER_MINUTE(100))
      await pass(clock, 100, 100)
    }
    t.ok(windows.statements <= 6, `${windows.statements} questions in 5 s`)
    windows.down = false
    await pass(clock, 1500)
    t.not(await limiter.admit(1, PER_MINUTE(100)), 0)
    await settled()
    const other = new RateLimiter({ store: windows as unknown as Store, clock, health: wellStore(clock), log })
    t.equal(await admitted(Array.from({ length: 20 }, () => other.admit(1, PER_MINUTE(100)))), 0, 'others learn of it')
    windows.down = true
    t.equal(await other.admit(3, PER_MINUTE(1)), 0)
    t.equal(log.all.length, 2, 'and the next outage is told again')
  },
)

t.test('an answer that is lost counts once', async t => {
  const { windows, clock, limiters } = setUp(2)
  const [one, two] = limiters as [RateLimiter, RateLimiter]
  windows.loseAnswer = true
  t.equal(await admitted(Array.from({ length: 5 }, () => one.admit(1, PER_MINUTE(10)))), 5)
  await pass(clock, 1500)
  await one.admit(1, PER_MINUTE(10))
  await pass(clock, 1500)
  t.equal(await admitted(Array.from({ length: 20 }, () => two.admit(1, PER_MINUTE(10)))), 4, 'once, not twice')
  await pass(clock, 75_000, 1000)
  t.equal(await admitted(Array.from({ length: 20 }, () => two.admit(1, PER_MINUTE(10)))), 10)
})

t.test('what is under way when the store is given up counts too', async t => {
  const { windows, clock, limiters } = setUp()
  const [limiter] = limiters as [RateLimiter]
  let wake: () => void = () => {}
  let statements = 0
  windows.wait = async () => {
    if (++statements === 3) await new Promise<void>(resolve => (wake = resolve)) // the first swap
  }
  const waiting = Array.from({ length: 5 }, () => limiter.admit(1, PER_MINUTE(5)))
  await settled()
  windows.down = true
  await limiter.admit(2, PER_MINUTE(5)) // another account finds out
  const meanwhile = await admitted(Array.from({ length: 5 }, () => limiter.admit(1, PER_MINUTE(5))))
  windows.down = false
  wake()
  const first = await admitted(waiting)
  clock.advance(1000)
  const later = await admitted(Array.from({ length: 5 }, () => limiter.admit(1, PER_MINUTE(5))))
  t.equal(first + meanwhile + later, 5)
})

t.test('a failure of ours is logged and refuses nobody', async t => {
  const { windows, log, limiters } = setUp()
  windows.wait = async () => {
    throw new TypeError('ours')
  }
  t.equal(await limiters[0]?.admit(1, PER_MINUTE(10)), 0)
  t.same(log.all, ['error: a rate window failed'])
})

t.test('a store that stands still: who waits goes on alone after a second, and then nobody waits', async t => {
  const { windows, clock, log } = setUp()
  const ping = () => new Promise<never>(() => {})
  const health = new StoreHealth({ clock, store: { ping } })
  const limiter = new RateLimiter({ store: windows as unknown as Store, clock, health, log })
  windows.wait = () => new Promise(() => {})
  const answers: number[] = []
  const ask = (account: number) =>
    void Promise.resolve(limiter.admit(account, PER_MINUTE(3))).then(waitS => answers.push(waitS))
  for (let i = 0; i < 4; i++) ask(1)
  await pass(clock, ANSWER_MS - 1, 333)
  t.same(answers, [])
  await pass(clock, 1)
  t.same(
    answers.map(waitS => waitS > 0),
    [false, false, false, true],
    'within the limit of the process',
  )
  t.equal(health.state, 'away')
  const { statements } = windows
  for (let account = 2; account < 50; account++) ask(account)
  await settled()
  t.equal(answers.length, 4 + 48, 'at once')
  t.equal(windows.statements, statements, 'and nothing is asked')
})

t.test('any window on any gateway, whatever the timing: never above the limit, nor refused without need', async t => {
  const random = seeded(t).next
  for (let round = 0; round < 30; round++) {
    const gateways = 1 + Math.floor(random() * 4)
    // who has waited for a second goes on alone, and several gateways that do so admit more together: these wait on
    const { windows, clock, limiters } = setUp(gateways, gateways > 1)
    const limit = Math.ceil(2 ** (random() * 9))
    let asleep: (() => void)[] = []
    windows.wait = () => (random() < 0.5 ? Promise.resolve() : new Promise(resolve => asleep.push(resolve)))
    const times: number[] = []
    const refused: number[] = []
    const note = (answer: number) => (answer === 0 ? times : refused).push(clock.monotonic())
    let flow = 0
    for (let ms = 0; ms < 205_000; ms += 500) {
      if (random() < 0.05) flow = Math.floor(random() ** 2 * Math.max(5, limit) * 0.3)
      // at the end nobody comes and whoever waits is answered: others were refused for slots that the store has given these
      if (ms >= 200_000) flow = 0
      for (let i = 0; i < flow; i++) {
        const answer = (limiters[Math.floor(random() * limiters.length)] as RateLimiter).admit(1, PER_MINUTE(limit))
        if (typeof answer === 'number') note(answer)
        else void answer.then(note)
      }
      if (random() < 0.05) clock.step((random() - 0.5) * 4 * MINUTE)
      // alone, not even a store that is away opens the window
      if (gateways === 1 && random() < 0.05) windows.loseAnswer = true
      if (gateways === 1 && random() < 0.05) windows.down = !windows.down
      const woken = asleep
      asleep = []
      for (const wake of woken) wake()
      await new Promise<void>(resolve => setImmediate(resolve))
      clock.advance(500)
    }
    let first = 0
    for (const [i, time] of times.entries()) {
      while (time - (times[first] as number) > MINUTE) first++
      if (i - first + 1 > limit) t.fail(`round ${round}: ${i - first + 1} of ${limit} in a minute`)
    }
    // slots of a small limit are in nobody's hand; of a large one, some may be with a gateway that needs them less
    const enough = limit < 8 ? limit : limit / 2
    for (const time of refused) {
      const around = times.filter(other => other > time - 75_000 && other < time + 5000).length
      if (around < enough) t.fail(`round ${round}: refused after ${around} of ${limit}`)
    }
  }
  t.pass('30 rounds')
})
