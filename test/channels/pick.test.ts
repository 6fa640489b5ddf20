import t from 'tap'
import { Health } from '../../lib/channels/health.ts'
import { Candidates } from '../../lib/channels/pick.ts'
import { compileRoutes, type Route } from '../../lib/channels/table.ts'
import type { Channel } from '../../lib/terms/records.ts'
import { seeded } from '../access/random.ts'
import { TestClock } from '../support/clock.ts'
import { channel } from './support.ts'

type Row = [name: string, change: Partial<Channel>]

function setUp(...rows: Row[]) {
  const channels = rows.map(([name, change]) => channel(name, change))
  const route = compileRoutes({ groups: [], models: [], channels }).find('default', 'm', 'chat') as Route
  const clock = new TestClock()
  const health = new Health({ clock, onAuthFailure: () => {}, random: () => 0 })
  const rest = (name: string) => {
    for (let i = 0; i < 5; i++) health.report(name, 'failed')
  }
  const all = (affinity: number | null, random: () => number) => {
    const candidates = new Candidates(route, health, affinity, random)
    const names: string[] = []
    for (let c = candidates.next(); c !== null; c = candidates.next()) names.push(c.channel.name)
    return names
  }
  const first = (affinity: number | null, random: () => number) =>
    new Candidates(route, health, affinity, random).next()?.channel.name
  return { route, clock, health, rest, all, first }
}

/** Pearson's chi-squared against the expected shares; above this about once in ten thousand tests (1–4 degrees). */
const SUSPICIOUS = 24

function isFair(counts: Map<string | undefined, number>, shares: Record<string, number>): boolean {
  const total = [...counts.values()].reduce((a, b) => a + b, 0)
  const sum = Object.values(shares).reduce((a, b) => a + b, 0)
  if ([...counts.keys()].some(name => name === undefined || !(name in shares))) return false
  const squared = Object.entries(shares).map(([name, share]) => {
    const expected = (total * share) / sum
    return ((counts.get(name) ?? 0) - expected) ** 2 / expected
  })
  return squared.reduce((a, b) => a + b, 0) < SUSPICIOUS
}

function tally(count: number, pick: (i: number) => string | undefined): Map<string | undefined, number> {
  const counts = new Map<string | undefined, number>()
  for (let i = 0; i < count; i++) {
    const name = pick(i)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

const WEIGHED: Row[] = [
  ['a', { weight: 6 }],
  ['b', { weight: 3 }],
  ['c', { weight: 1 }],
  ['z', { weight: 0 }],
]

t.test('every channel once, by falling priority', async t => {
  const random = seeded(t)
  const { all } = setUp(['low', { priority: -1 }], ['a', { priority: 5 }], ['b', { priority: 5 }], ['mid', {}])
  for (let i = 0; i < 200; i++) {
    const names = all(i % 2 ? null : Math.floor(random() * 2 ** 32), random)
    t.same([...names].sort(), ['a', 'b', 'low', 'mid'])
    t.same(names.slice(2), ['mid', 'low'])
  }
})

t.test('resting and disabled ones are left out; 0 comes last in its tier, and before the next tier', async t => {
  const random = seeded(t)
  const { all, rest } = setUp(
    ['a', { priority: 5 }],
    ['off', { priority: 5, status: 'disabled' }],
    ['zero', { priority: 5, weight: 0 }],
    ['nought', { priority: 5, weight: 0 }],
    ['tired', { priority: 5 }],
    ['low', {}],
  )
  rest('tired')
  const orders = tally(400, i => all(i % 2 ? null : Math.floor(random() * 2 ** 32), random).join())
  t.same([...orders.keys()].sort(), ['a,nought,zero,low', 'a,zero,nought,low'])
  rest('a')
  t.match(all(null, random).join(), /^(zero,nought|nought,zero),low$/, 'only when nothing else of the tier is left')
})

t.test('weights, at random and over many conversations; also while one rests', async t => {
  const random = seeded(t)
  const { first, rest } = setUp(...WEIGHED)
  const affinity = () => Math.floor(random() * 2 ** 32)
  t.ok(
    isFair(
      tally(20_000, () => first(null, random)),
      { a: 6, b: 3, c: 1 },
    ),
  )
  t.ok(
    isFair(
      tally(20_000, () => first(affinity(), random)),
      { a: 6, b: 3, c: 1 },
    ),
  )
  t.ok(
    isFair(
      tally(20_000, i => first(i, random)),
      { a: 6, b: 3, c: 1 },
    ),
    'hashes that are close to each other',
  )
  rest('a')
  t.ok(
    isFair(
      tally(20_000, () => first(null, random)),
      { b: 3, c: 1 },
    ),
  )
  t.ok(
    isFair(
      tally(20_000, () => first(affinity(), random)),
      { b: 3, c: 1 },
    ),
  )
  rest('b')
  t.same([...tally(100, () => first(null, random)).keys()], ['c'])
  rest('c')
  t.same([...tally(100, () => first(affinity(), random)).keys()], ['z'])
})

t.test('the second and third, too, are drawn by weight among those that are left', async t => {
  const random = seeded(t)
  const { all } = setUp(...WEIGHED.slice(0, 3))
  const orders = { 'a,b,c': 0.6 * 0.75, 'a,c,b': 0.6 * 0.25, 'b,a,c': (0.3 * 6) / 7, 'b,c,a': 0.3 / 7 }
  const shares = { ...orders, 'c,a,b': (0.1 * 6) / 9, 'c,b,a': (0.1 * 3) / 9 }
  t.ok(
    isFair(
      tally(20_000, () => all(null, random).join()),
      shares,
    ),
  )
  t.ok(
    isFair(
      tally(20_000, () => all(Math.floor(random() * 2 ** 32), random).join()),
      shares,
    ),
  )
})

t.test('weights far apart and equal ones', async t => {
  const random = seeded(t)
  const far = setUp(['big', { weight: 1_000_000 }], ['small', { weight: 1 }])
  t.ok((tally(5000, () => far.first(null, random)).get('small') ?? 0) < 5)
  const many = setUp(...Array.from({ length: 5 }, (_, i): Row => [`c${i}`, { weight: 1_000_000 }]))
  const equal = { c0: 1, c1: 1, c2: 1, c3: 1, c4: 1 }
  t.ok(
    isFair(
      tally(20_000, () => many.first(null, random)),
      equal,
    ),
  )
  t.ok(
    isFair(
      tally(20_000, i => many.first(i, random)),
      equal,
    ),
  )
})

t.test('a conversation stays where it is, moves when it must, and comes back; the others stay', async t => {
  const random = seeded(t)
  const { first, rest, clock, health } = setUp(...WEIGHED)
  const conversations = Array.from({ length: 500 }, () => Math.floor(random() * 2 ** 32))
  const places = () => conversations.map(c => first(c, random))
  const before = places()
  t.same(places(), before)
  rest('a')
  const meanwhile = places()
  t.ok(meanwhile.every((name, i) => name !== 'a' && (before[i] === 'a' || name === before[i])))
  clock.advance(5000)
  health.report('a', 'ok')
  t.same(places(), before)
})

t.test('one request probes a channel on probation, the others go elsewhere', async t => {
  const random = seeded(t)
  const { first, rest, clock } = setUp(['a', { priority: 1 }], ['b', {}])
  rest('a')
  clock.advance(5000)
  t.same(
    [1, 2, 3].map(() => first(null, random)),
    ['a', 'b', 'b'],
  )
})

t.test('why there was none', async t => {
  const two: Row[] = [
    ['a', {}],
    ['b', { priority: 1 }],
  ]
  const off: Row = ['off', { status: 'disabled' }]
  const busy = (s: number) => (health: Health, name: string) => health.report(name, 'busy', s)
  const failed = (health: Health, name: string) => {
    for (let i = 0; i < 5; i++) health.report(name, 'failed')
  }
  type Rest = (health: Health, name: string) => void
  const rows: [rows: Row[], rests: Record<string, Rest>, verdict: string, retryAfterS: number][] = [
    [[off], {}, 'disabled', 0],
    [[...two, off], { a: failed, b: failed }, 'resting', 5],
    [[...two, off], { a: busy(30), b: failed }, 'resting', 5],
    [[...two, off], { a: busy(30), b: busy(20) }, 'saturated', 20],
    [[two[0] as Row], { a: busy(0.2) }, 'saturated', 1],
  ]
  for (const [channels, rests, verdict, retryAfterS] of rows) {
    const { route, health } = setUp(...channels)
    for (const [name, rest] of Object.entries(rests)) rest(health, name)
    const candidates = new Candidates(route, health, null, Math.random)
    t.equal(candidates.next(), null)
    t.same([candidates.verdict, candidates.retryAfterS], [verdict, retryAfterS])
  }
  const { route, health, clock } = setUp(two[0] as Row)
  health.report('a', 'busy', 30)
  clock.advance(30_000)
  t.ok(new Candidates(route, health, null, Math.random).next())
  const second = new Candidates(route, health, null, Math.random)
  t.equal(second.next(), null, 'while another probes it')
  t.same([second.verdict, second.retryAfterS], ['saturated', 1])
})
