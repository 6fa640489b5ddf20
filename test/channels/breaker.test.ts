import t from 'tap'
import { Breaker, type AttemptOutcome } from '../../lib/channels/breaker.ts'
import type { BreakerState as State } from '../../lib/terms/records.ts'
import { seeded } from '../support/random.ts'

/** No jitter. */
const plain = () => new Breaker(() => 0)
/** Each time of another account, so that it is about the channel. */
let account = 0
const say = (breaker: Breaker, outcome: AttemptOutcome, nowMs: number) => breaker.report(outcome, nowMs, ++account)
const S = 1000

interface Step {
  at: number
  say: AttemptOutcome
  times?: number
}

/** What is heard when (seconds), then the state and the rest (seconds) at a moment. */
const rows: [name: string, steps: Step[], at: number, state: State, restS: number][] = [
  ['untouched', [], 0, 'closed', 0],
  ['four failures are few', [{ at: 0, say: 'failed', times: 4 }], 0, 'closed', 0],
  ['five are not', [{ at: 0, say: 'failed', times: 5 }], 0, 'open', 5],
  [
    'a small share is not enough',
    [
      { at: 0, say: 'ok', times: 6 },
      { at: 0, say: 'failed', times: 5 },
    ],
    0,
    'closed',
    0,
  ],
  [
    'half is',
    [
      { at: 0, say: 'ok', times: 5 },
      { at: 0, say: 'failed', times: 5 },
    ],
    0,
    'open',
    5,
  ],
  [
    'ten in a row are, whatever was before',
    [
      { at: 0, say: 'ok', times: 99 },
      { at: 1, say: 'failed', times: 10 },
    ],
    1,
    'open',
    5,
  ],
  [
    'nine are not',
    [
      { at: 0, say: 'ok', times: 99 },
      { at: 1, say: 'failed', times: 9 },
      { at: 1, say: 'ok' },
      { at: 1, say: 'failed', times: 9 },
    ],
    1,
    'closed',
    0,
  ],
  ['spread over too long', [0, 6, 12, 18, 24].map(at => ({ at, say: 'failed' })), 24, 'closed', 0],
  ['within the window', [0, 4, 8, 12, 16].map(at => ({ at, say: 'failed' })), 16, 'open', 5],
  [
    'successes of long ago do not count',
    [
      { at: 0, say: 'ok', times: 99 },
      { at: 20, say: 'failed', times: 5 },
    ],
    20,
    'open',
    5,
  ],
  ['nothing learnt', [{ at: 0, say: 'ignored', times: 99 }], 0, 'closed', 0],
  ['too busy is no failure', [{ at: 0, say: 'busy', times: 99 }], 0, 'closed', 0],
  ['a rest ends', [{ at: 0, say: 'failed', times: 5 }], 5, 'half_open', 0],
  [
    'a probe succeeds',
    [
      { at: 0, say: 'failed', times: 5 },
      { at: 5, say: 'ok' },
    ],
    5,
    'closed',
    0,
  ],
  [
    'a probe fails: longer',
    [
      { at: 0, say: 'failed', times: 5 },
      { at: 5, say: 'failed' },
    ],
    5,
    'open',
    10,
  ],
  [
    'a probe tells nothing',
    [
      { at: 0, say: 'failed', times: 5 },
      { at: 5, say: 'ignored' },
    ],
    5,
    'half_open',
    0,
  ],
  [
    'closed again, all is forgotten',
    [
      { at: 0, say: 'failed', times: 5 },
      { at: 5, say: 'ok' },
      { at: 5, say: 'failed', times: 4 },
    ],
    5,
    'closed',
    0,
  ],
  [
    'and the next rest is short again',
    [
      { at: 0, say: 'failed', times: 5 },
      { at: 5, say: 'ok' },
      { at: 5, say: 'failed', times: 5 },
    ],
    5,
    'open',
    5,
  ],
  [
    'late failures do not prolong a rest',
    [
      { at: 0, say: 'failed', times: 5 },
      { at: 4, say: 'failed', times: 50 },
    ],
    4,
    'open',
    1,
  ],
  [
    'late successes do not end it',
    [
      { at: 0, say: 'failed', times: 5 },
      { at: 4, say: 'ok', times: 50 },
    ],
    4,
    'open',
    1,
  ],
  ['rests have a bound', [0, 5, 15, 35, 75, 135].map(at => ({ at, say: 'failed', times: 5 })), 135, 'open', 60],
  ['one refusal may be about the request', [{ at: 0, say: 'auth', times: 2 }], 0, 'closed', 0],
  ['three are about the key', [{ at: 0, say: 'auth', times: 3 }], 0, 'open', 60],
  ['however far apart', [0, 100, 200].map(at => ({ at, say: 'auth' })), 200, 'open', 60],
  [
    'not with a success between',
    [
      { at: 0, say: 'auth', times: 2 },
      { at: 0, say: 'ok' },
      { at: 0, say: 'auth', times: 2 },
    ],
    0,
    'closed',
    0,
  ],
  [
    'refused on probation',
    [
      { at: 0, say: 'auth', times: 3 },
      { at: 60, say: 'auth' },
    ],
    60,
    'open',
    120,
  ],
  ['refusals under way when it opened', [{ at: 0, say: 'auth', times: 30 }], 0, 'open', 60],
  ['refused for long', [0, 60, 180, 420, 900, 1500].map(at => ({ at, say: 'auth', times: 3 })), 1500, 'open', 600],
  [
    'refused where it had failed',
    [
      { at: 0, say: 'failed', times: 5 },
      { at: 5, say: 'auth' },
    ],
    5,
    'open',
    10,
  ],
]

t.test('what is heard and what follows', async t => {
  for (const [name, steps, at, state, restS] of rows) {
    const breaker = plain()
    for (const { at, say: said, times = 1 } of steps) {
      for (let i = 0; i < times; i++) say(breaker, said, at * S)
    }
    t.same([breaker.state(at * S), breaker.restMs(at * S) / S], [state, restS], name)
  }
})

t.test('one probe at a time', async t => {
  const breaker = plain()
  for (let i = 0; i < 5; i++) say(breaker, 'failed', 0)
  t.equal(breaker.mayAsk(4999), false)
  t.equal(breaker.mayAsk(5000), true)
  t.equal(breaker.mayAsk(5000), true, 'asking takes nothing')
  breaker.admit(5000)
  t.equal(breaker.mayAsk(5001), false)
  say(breaker, 'ignored', 6000)
  t.equal(breaker.mayAsk(6000), true, 'a probe that told nothing leaves the next one its turn')
  breaker.admit(6000)
  t.equal(breaker.mayAsk(35_999), false)
  t.equal(breaker.mayAsk(36_000), true, 'nor is one waited for without end')
  breaker.admit(36_000)
  say(breaker, 'ok', 36_001)
  t.equal(breaker.mayAsk(36_001), true)
  breaker.admit(36_001)
  t.equal(breaker.mayAsk(36_001), true, 'closed: as many as come')
})

t.test('says when it begins to rest for its credential, once each time', async t => {
  const breaker = plain()
  const said = [0, 0, 0, 0, 60_000, 60_000].map(at => say(breaker, 'auth', at))
  t.same(said, [null, null, 'refused', null, 'refused', null])
})

t.test('rests differ a little, and are never longer than said', async t => {
  const random = seeded(t).next
  const rests = Array.from({ length: 200 }, () => {
    const breaker = new Breaker(random)
    for (let i = 0; i < 5; i++) say(breaker, 'failed', 0)
    return breaker.restMs(0)
  })
  t.ok(Math.max(...rests) <= 5000 && Math.min(...rests) >= 3500)
  t.ok(Math.max(...rests) - Math.min(...rests) > 1000)
})

/** The same in words of one syllable: all that was heard since it closed, looked through each time. */
class Reference {
  heard: { slice: number; outcome: AttemptOutcome }[] = []
  closed = true
  until = 0
  rests = 0
  refusals = 0
  row = 0

  state(now: number): State {
    return this.closed ? 'closed' : now < this.until ? 'open' : 'half_open'
  }

  report(outcome: AttemptOutcome, now: number): void {
    const state = this.state(now)
    if (outcome === 'ignored' || outcome === 'busy' || state === 'open') return
    if (outcome === 'ok') {
      this.refusals = this.row = 0
      if (state === 'half_open') Object.assign(this, { closed: true, until: 0, rests: 0, heard: [] })
      else this.heard.push({ slice: Math.floor(now / 2000), outcome })
      return
    }
    if (outcome === 'auth') {
      this.refusals++
      if (this.refusals >= 3) this.open(now + Math.min(600, 60 * 2 ** (this.refusals - 3)) * S)
      else if (state === 'half_open') this.open(now + Math.min(60, 5 * 2 ** this.rests++) * S)
      return
    }
    if (state === 'closed') this.row++
    this.heard.push({ slice: Math.floor(now / 2000), outcome })
    const recent = this.heard.filter(h => h.slice > Math.floor(now / 2000) - 10)
    const failed = recent.filter(h => h.outcome !== 'ok').length
    if (state === 'half_open' || this.row >= 10 || (failed >= 5 && failed * 2 >= recent.length)) {
      this.open(now + Math.min(60, 5 * 2 ** this.rests++) * S)
    }
  }

  open(until: number): void {
    this.closed = false
    this.until = Math.max(this.until, until)
  }
}

t.test('as the simple reference says, whatever is heard', async t => {
  const random = seeded(t).next
  const outcomes: AttemptOutcome[] = ['ok', 'ok', 'failed', 'failed', 'busy', 'auth', 'ignored']
  const reached = new Map<State, number>()
  for (let round = 0; round < 400; round++) {
    const breaker = plain()
    const reference = new Reference()
    const bias = random()
    let now = Math.floor(random() * 1e6)
    for (let step = 0; step < 200; step++) {
      now += Math.floor(random() ** 8 * 90_000)
      if (random() < 0.3) now += breaker.restMs(now) // on to its probation
      const outcome = random() < bias ? 'failed' : (outcomes[Math.floor(random() * outcomes.length)] as AttemptOutcome)
      say(breaker, outcome, now)
      reference.report(outcome, now)
      const state = breaker.state(now)
      reached.set(state, (reached.get(state) ?? 0) + 1)
      if (state !== reference.state(now)) t.fail(`round ${round}, step ${step}: ${state}, not ${reference.state(now)}`)
      if (!reference.closed && breaker.restMs(now) !== Math.max(0, reference.until - now))
        t.fail(`round ${round}: rest`)
    }
  }
  for (const state of ['closed', 'open', 'half_open'] as const)
    t.ok((reached.get(state) ?? 0) > 500, `${state} was reached`)
})
