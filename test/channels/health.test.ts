import t from 'tap'
import type { KeyHealth, AttemptOutcome } from '../../lib/channels/health.ts'
import { heard, identity, namedHealth } from './support.ts'

const times = (count: number, run: () => void) => {
  for (let i = 0; i < count; i++) run()
}

t.test('each channel by itself', async t => {
  const { clock, fail, report, state, mayAsk, restMs, admit } = namedHealth()
  fail('a')
  report('b', 'ok')
  t.same(['a', 'b', 'never asked'].map(state), ['open', 'closed', 'closed'])
  t.same(['a', 'b', 'never asked'].map(mayAsk), [false, true, true])
  t.same(['a', 'b', 'never asked'].map(restMs), [5000, 0, 0])
  clock.advance(5000)
  t.equal(state('a'), 'half_open')
  admit('a')
  t.equal(mayAsk('a'), false)
  report('a', 'ok')
  t.equal(state('a'), 'closed')
})

t.test('a refused credential is told once each time it makes a channel rest', async t => {
  const { clock, report, refused, admit } = namedHealth()
  times(2, () => report('a', 'auth'))
  t.same(refused, [])
  times(10, () => report('a', 'auth'))
  t.same(refused, ['a'])
  clock.advance(60_000)
  admit('a')
  report('a', 'auth')
  t.same(refused, ['a', 'a'])
})

t.test('a new world: what is the same keeps its state, what is another or gone does not', async t => {
  const { health, fail, state } = namedHealth()
  const names = ['same', 'key', 'origin', 'path', 'gone']
  health.keep(names.map(name => identity(name)))
  names.forEach(fail)
  const rows = [
    identity('same'),
    identity('key', ['new']),
    identity('origin', ['k'], 'https://y'),
    identity('path', ['k'], 'https://x', '/v2'),
  ]
  health.keep(rows)
  const now = [...health.states()].map(([name, { state }]) => [name, state])
  t.same(now, [
    ['same', 'open'],
    ['key', 'closed'],
    ['origin', 'closed'],
    ['path', 'closed'],
  ])
  fail('gone')
  health.keep([identity('same'), identity('gone')])
  t.equal(state('gone'), 'open', 'asked for before it was kept')
  health.keep([identity('same')])
  health.keep([identity('same'), identity('gone')])
  t.equal(state('gone'), 'closed', 'gone, and back')
})

/** Three keys: what is said of which key, then the states of the channel and of its keys. */
const several: [
  name: string,
  said: [key: number, outcome: AttemptOutcome, times: number][],
  channel: string,
  keys: string[],
][] = [
  ['all well', [[0, 'ok', 9]], 'closed', ['closed', 'closed', 'closed']],
  ['one refused', [[1, 'auth', 3]], 'closed', ['closed', 'open', 'closed']],
  ['one busy', [[2, 'busy', 5]], 'closed', ['closed', 'closed', 'closed']],
  [
    'the upstream fails, whoever asks',
    [
      [0, 'failed', 2],
      [1, 'failed', 2],
      [2, 'failed', 1],
    ],
    'open',
    ['closed', 'closed', 'closed'],
  ],
  [
    'all refused',
    [
      [0, 'auth', 3],
      [1, 'auth', 3],
      [2, 'auth', 3],
    ],
    'open',
    ['open', 'open', 'open'],
  ],
  [
    'a busy key is no failure of the upstream',
    [
      [0, 'busy', 5],
      [1, 'failed', 4],
    ],
    'closed',
    ['closed', 'closed', 'closed'],
  ],
]

for (const [name, said, channel, keys] of several) {
  t.test(`several keys: ${name}`, async t => {
    const { health, clock } = namedHealth()
    const of = health.of(identity('a', ['x', 'y', 'z']))
    for (const [key, outcome, count] of said)
      times(count, () => health.report(of, of.keys[key] as KeyHealth, heard(outcome)))
    const { state, keys: states } = of.state(clock.monotonic())
    t.same([state, states], [channel, keys])
  })
}

t.test('several keys in a new world: a key that stays keeps its state wherever it stands', async t => {
  const { health, clock } = namedHealth()
  const before = health.of(identity('a', ['x', 'y']))
  times(3, () => health.report(before, before.keys[0] as KeyHealth, heard('auth')))
  health.keep([identity('a', ['z', 'y', 'x'])])
  t.same(health.of(identity('a', ['z', 'y', 'x'])).state(clock.monotonic()).keys, ['closed', 'closed', 'open'])
  health.keep([identity('a', ['x'])])
  t.same(health.of(identity('a', ['x'])).state(clock.monotonic()).state, 'closed', 'now it speaks for the channel')
})

t.test('a channel that fails is asked few times, and is back soon after it recovers', async t => {
  const { clock, report, mayAsk, admit, state } = namedHealth()
  const ask = (works: boolean) => {
    if (!mayAsk('a')) return 0
    admit('a')
    report('a', works ? 'ok' : 'failed')
    return 1
  }
  let asked = 0
  for (let i = 0; i < 40; i++) {
    asked += ask(false)
    clock.advance(10)
  }
  t.ok(asked < 25, `${asked} of 40`)
  t.equal(state('a'), 'open')
  let recoveredS = 0
  while (state('a') !== 'closed' && recoveredS < 100) {
    ask(true)
    clock.advance(500)
    recoveredS += 0.5
  }
  t.ok(recoveredS < 45, `${recoveredS} s`)
})

t.test('an operator lets a channel rest: nobody passes before its end, not even without another channel', async t => {
  const { clock, health, report, state, mayAsk, restMs, admit } = namedHealth()
  report('a', 'ok')
  const order = (order: object) => health.order({ channel: 'a', ...order } as never)
  t.match(order({ what: 'look' }), { state: 'closed', why: null, restMs: 0, open: 0, keys: [{ state: 'closed' }] })
  t.match(order({ what: 'rest', forMs: 60_000 }), { state: 'open', why: 'hand', restMs: 60_000 })
  t.equal(health.of(identity('a')).triedAnyway(clock.monotonic(), 1), null)
  report('a', 'ok')
  t.same([state('a'), mayAsk('a'), restMs('a')], ['open', false, 60_000], 'answers of before do not end it')
  t.match(order({ what: 'rest', forMs: 1_000 }), { restMs: 1_000 }, 'a shorter one takes its place')
  clock.advance(1_000)
  t.equal(state('a'), 'half_open')
  admit('a')
  report('a', 'ok')
  t.equal(state('a'), 'closed')
  t.equal(order({ what: 'look', channel: 'gone' }), null)
})

t.test('an operator wakes a channel: its breaker, those of its keys and the rests of its models end', async t => {
  const { clock, health, report, fail } = namedHealth()
  const two = identity('two', ['x', 'y'])
  health.keep([identity('a'), two])
  fail('a')
  report('a', 'busy')
  const of = health.of(two)
  times(3, () => health.report(of, of.keys[1] as KeyHealth, heard('auth')))
  t.match(health.order({ what: 'look', channel: 'two' }), {
    state: 'closed',
    keys: [{ why: null }, { state: 'open', why: 'auth' }],
  })
  t.match(health.order({ what: 'wake', channel: 'two' }), {
    state: 'closed',
    keys: [{ why: null }, { state: 'closed', why: null }],
  })
  t.match(health.order({ what: 'look', channel: 'a' }), { state: 'open', why: 'failed', restMs: 5_000 })
  t.match(health.order({ what: 'wake', channel: 'a' }), { state: 'closed', why: null, restMs: 0 })
  t.equal(health.of(identity('a')).mayAsk(clock.monotonic()), true)
})
