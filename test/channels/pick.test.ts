import t from 'tap'
import type { ChannelIdentity, KeyHealth, Claim } from '../../lib/channels/health.ts'
import { type Asker, Candidates } from '../../lib/channels/pick.ts'
import { type Candidate, compileRoutes } from '../../lib/world/table.ts'
import type { Route } from '../../lib/world/table.ts'
import type { Channel } from '../../lib/terms/records.ts'
import { seeded } from '../support/random.ts'
import { channel, heard, namedHealth } from './support.ts'

type Row = [name: string, change: Partial<Channel>]

function setUp(...rows: Row[]) {
  const { clock, health, fail, report } = namedHealth()
  const routes = compileRoutes({
    channels: rows.map(([name, change]) => channel(name, change)),
  })
  const route = routes.find('default', 'm', 'chat') as Route
  health.keep(routes.channels)
  const all = (affinity: number | null, random: () => number) => {
    const candidates = new Candidates(route, health, affinity, random)
    const claims: Claim[] = []
    for (let c = candidates.next(); c !== null; c = candidates.next()) claims.push(c)
    for (const claim of claims) claim.release()
    return claims.map(claim => claim.candidate.channel.name)
  }
  const take = (affinity: number | null = null, random = Math.random) =>
    new Candidates(route, health, affinity, random).next()
  const first = (affinity: number | null, random: () => number) => {
    const claim = take(affinity, random)
    claim?.release()
    return claim?.candidate.channel.name
  }
  return { route, clock, health, rest: fail, report, all, first, take }
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
  const random = seeded(t).next
  const { all } = setUp(['low', { priority: -1 }], ['a', { priority: 5 }], ['b', { priority: 5 }], ['mid', {}])
  for (let i = 0; i < 200; i++) {
    const names = all(i % 2 ? null : Math.floor(random() * 2 ** 32), random)
    t.same([...names].sort(), ['a', 'b', 'low', 'mid'])
    t.same(names.slice(2), ['mid', 'low'])
  }
})

t.test(
  'disabled ones are left out, resting ones come last of all; 0 comes last in its tier, and before the next tier',
  async t => {
    const random = seeded(t).next
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
    t.same(
      new Set([...orders.keys()].map(order => order?.replace(/,tired$/, ''))),
      new Set(['a,nought,zero,low', 'a,zero,nought,low']),
    )
    rest('a')
    t.match(
      all(null, random).join(),
      /^(zero,nought|nought,zero),low,(a,tired|tired,a)$/,
      'only when nothing else of the tier is left',
    )
  },
)

t.test('weights, at random and over many conversations; also while one rests', async t => {
  const random = seeded(t).next
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
  const random = seeded(t).next
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
  const random = seeded(t).next
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
  const random = seeded(t).next
  const { first, rest, clock, report } = setUp(...WEIGHED)
  const conversations = Array.from({ length: 500 }, () => Math.floor(random() * 2 ** 32))
  const places = () => conversations.map(c => first(c, random))
  const before = places()
  t.same(places(), before)
  rest('a')
  const meanwhile = places()
  t.ok(meanwhile.every((name, i) => name !== 'a' && (before[i] === 'a' || name === before[i])))
  clock.advance(5000)
  report('a', 'ok')
  t.same(places(), before)
})

t.test('one request probes a channel on probation, the others go elsewhere', async t => {
  const { take, rest, clock } = setUp(['a', { priority: 1 }], ['b', {}])
  rest('a')
  clock.advance(5000)
  t.same(
    [1, 2, 3].map(() => take()?.candidate.channel.name),
    ['a', 'b', 'b'],
  )
})

t.test('why there was none', async t => {
  const two: Row[] = [
    ['a', {}],
    ['b', { priority: 1 }],
  ]
  const off: Row = ['off', { status: 'disabled' }]
  type Set = ReturnType<typeof setUp>
  type Rest = (set: Set, name: string) => void
  /** `account` 0 asks below. */
  const busy =
    (s: number, account = 0, key = ''): Rest =>
    ({ health }, channel) =>
      health.rests.busy({ channel, key, model: 'm' }, account, 0, s)
  const both: Rest = (set, name) => {
    set.rest(name)
    busy(30)(set, name)
  }
  const keys: Row = ['a', { keys: ['x', 'y'].map(key => ({ key, maxConcurrency: 0 })) }]
  const [x, y] = compileRoutes({ channels: [channel(...keys)] }).channels[0]!.keys.map(key => key.fingerprint)
  const oneRefused: Rest = ({ health, route }) => {
    const { channel } = route.tiers[0]![0] as Candidate
    for (let i = 0; i < 3; i++)
      health.report(health.of(channel), health.of(channel).keys[1] as KeyHealth, heard('auth'))
  }
  const busyAnd =
    (other: Rest): Rest =>
    (set, name) => {
      busy(30, 0, x)(set, name)
      other(set, name)
    }
  const failed: Rest = (set, name) => set.rest(name)
  const rows: [rows: Row[], rests: Record<string, Rest>, whyNone: string, retryAfterS: number][] = [
    [[off], {}, 'disabled', 0],
    [[...two, off], { a: failed, b: failed }, 'resting', 5],
    [[...two, off], { a: busy(30), b: failed }, 'resting', 5],
    [[...two, off], { a: busy(30), b: busy(20) }, 'saturated', 20],
    [[two[0] as Row], { a: busy(1.2) }, 'saturated', 2],
    [[two[0] as Row], { a: busy(600) }, 'saturated', 60],
    [[two[0] as Row], { a: busy(600, 1) }, 'saturated', 2],
    [[two[0] as Row], { a: both }, 'saturated', 30],
    [[keys], { a: busyAnd(busy(20, 0, y)) }, 'saturated', 20],
    [[keys], { a: busyAnd(oneRefused) }, 'saturated', 30],
    [[two[0] as Row], { a: ({ health }) => health.rests.rest(0, 'a', 'm', 9_000, 'disputed') }, 'resting', 9],
  ]
  for (const [channels, rests, whyNone, retryAfterS] of rows) {
    const set = setUp(...channels)
    for (const [name, rest] of Object.entries(rests)) rest(set, name)
    const candidates = new Candidates(set.route, set.health, null, Math.random)
    if (whyNone === 'saturated') t.equal(candidates.next(), null)
    t.same([candidates.whyNone, candidates.retryAfterS], [whyNone, retryAfterS])
  }
})

t.test(
  'a channel whose rest is a guess is asked when there is no other one, once, and never to count tokens',
  async t => {
    const set = setUp(['a', { priority: 1 }], ['b', {}])
    const asker = (more: Partial<Asker> = {}): Asker => ({
      account: 1,
      only: null,
      free: false,
      isTrial: false,
      fits: null,
      ...more,
    })
    const ask = (more?: Partial<Asker>) => new Candidates(set.route, set.health, null, Math.random, asker(more))
    const busy = (channel: string) => set.health.rests.busy({ channel, key: '', model: 'm' }, 1, 0, 0)
    busy('a')
    const both = ask()
    t.equal(both.next()?.candidate.channel.name, 'b')
    busy('b')
    t.equal(ask({ free: true }).next(), null)
    const claim = ask().next()
    t.equal(claim?.candidate.channel.name, 'a')
    t.equal(ask().next()?.candidate.channel.name, 'b')
    t.equal(ask().next(), null, 'one request each')
    claim?.report('ok')
    claim?.release()
    t.equal(ask().next()?.candidate.channel.name, 'a')
  },
)

t.test('who rests for one account is asked for the others, with another key, and for another model', async t => {
  const asks = (set: ReturnType<typeof setUp>, account: number, more: Partial<Asker> = {}) => {
    const asker = { account, only: null, free: false, isTrial: false, fits: null, ...more }
    const candidates = new Candidates(set.route, set.health, 7, Math.random, asker)
    const claim = candidates.next()
    claim?.drop()
    return claim?.candidate.channel.name ?? null
  }
  const set = setUp(['a', { priority: 1 }], ['b', {}])
  set.health.rests.busy({ channel: 'a', key: '', model: 'm' }, 1, 0, 600)
  t.same([asks(set, 1), asks(set, 2)], ['b', 'b'])
  set.clock.advance(2000)
  t.same([asks(set, 1), asks(set, 2)], ['b', 'a'], 'also with affinity')
  for (const account of [2, 3]) set.health.rests.busy({ channel: 'a', key: '', model: 'm' }, account, 2000, 600)
  t.same([asks(set, 4, { free: true }), asks(set, 4), asks(set, 5)], ['b', 'a', 'a'], 'what was given back is free')
  t.equal(asks(set, 4, { isTrial: true }), 'b', 'what is sent nowhere has no turn')
  const asker = { account: 6, only: null, free: false, isTrial: false, fits: null }
  const hedging = new Candidates(set.route, set.health, null, Math.random, asker)
  t.equal(hedging.nextWell()?.candidate.channel.name, 'b', 'a hedge is none of those that are let through')
  const pinned = {
    account: 1,
    only: { channel: 'a', key: 'f' },
    free: false,
    isTrial: false,
    fits: null,
  } as unknown as Asker
  set.clock.advance(3500)
  const candidates = new Candidates(set.route, set.health, null, Math.random, pinned)
  t.equal(candidates.next()?.candidate.channel.name, 'a', 'also one that is bound to its channel has its turn')
  t.equal(new Candidates(set.route, set.health, null, Math.random, pinned).next(), null)
  t.same([candidates.whyNone, candidates.retryAfterS], ['saturated', 60])
})

t.test('a full channel is left out until something there ends; when all are full that is saturation', async t => {
  const { take, route, health } = setUp(['a', { priority: 1, maxConcurrency: 2 }], ['b', { maxConcurrency: 1 }])
  const claims = [1, 2, 3, 4].map(() => take())
  t.same(
    claims.map(claim => claim?.candidate.channel.name),
    ['a', 'a', 'b', undefined],
  )
  const none = new Candidates(route, health, null, Math.random)
  t.equal(none.next(), null)
  t.same([none.whyNone, none.retryAfterS], ['saturated', 1])
  claims[0]?.release()
  claims[0]?.release()
  t.equal(take()?.candidate.channel.name, 'a')
  t.equal(take(), null, 'a place given back twice is one place')
})

const KEYS = (...limits: number[]) => limits.map((maxConcurrency, i) => ({ key: `k${i}`, maxConcurrency }))

t.test('several keys: the one with the least open, within their limits', async t => {
  const { take } = setUp(['a', { keys: KEYS(0, 1, 0) }])
  const claims = Array.from({ length: 9 }, () => take() as Claim)
  const counts = tally(9, i => claims[i]?.key.secret)
  t.same(
    ['k0', 'k1', 'k2'].map(key => counts.get(key)),
    [4, 1, 4],
  )
})

t.test('several keys: a conversation keeps its key, and all keys get conversations', async t => {
  const random = seeded(t).next
  const { take } = setUp(['a', { keys: KEYS(0, 0, 0) }])
  const keyOf = (affinity: number) => {
    const claim = take(affinity, random) as Claim
    claim.release()
    return claim.key.secret
  }
  const conversations = Array.from({ length: 9000 }, () => Math.floor(random() * 2 ** 32))
  const keys = conversations.map(keyOf)
  t.same(conversations.map(keyOf), keys)
  t.ok(
    isFair(
      tally(9000, i => keys[i]),
      { k0: 1, k1: 1, k2: 1 },
    ),
  )
})

t.test('the channel again with another key, only when the key was what failed', async t => {
  for (const keyFailed of [false, true]) {
    const { route, health } = setUp(['a', { keys: KEYS(0, 0, 0) }])
    const candidates = new Candidates(route, health, null, Math.random)
    const keys: string[] = []
    for (let claim = candidates.next(); claim !== null; claim = candidates.next()) {
      keys.push(claim.key.secret)
      if (keyFailed) candidates.keyFailed(claim)
    }
    t.equal(keys.length, keyFailed ? 3 : 1)
    t.equal(new Set(keys).size, keys.length)
  }
})

t.test('an upstream that collects open requests gets fewer of the next; with equal ones weights hold', async t => {
  const random = seeded(t).next
  const { take, first } = setUp(['slow', { weight: 3 }], ['fast', { weight: 1 }])
  const open: Claim[] = []
  for (let i = 0; i < 4000; i++) {
    const claim = take(null, random) as Claim
    if (claim.candidate.channel.name === 'slow') open.push(claim)
    else claim.release()
  }
  t.ok(open.length < 50, `${open.length} of 4000 at the one that never answers`)
  for (const claim of open) claim.release()
  t.ok(
    isFair(
      tally(20_000, () => first(null, random)),
      { slow: 3, fast: 1 },
    ),
  )
})

t.test('a request of an older world goes on with the keys that it knew', t => {
  const three = { keys: ['x', 'y', 'z'].map(key => ({ key, maxConcurrency: 0 })) }
  const { route, health, take } = setUp(['a', three])
  const before = health.of(route.tiers[0]?.[0]?.channel as ChannelIdentity)
  for (const keys of [three.keys.slice(2), three.keys.slice(1).reverse()]) {
    health.keep(compileRoutes({ channels: [channel('a', { keys })] }).channels)
    const claims = ['x', 'y', 'z'].map(() => take())
    t.same(claims.map(claim => claim?.key.secret).sort(), ['x', 'y', 'z'])
    t.equal(before.open, 3)
    for (const claim of claims) claim?.release()
    t.equal(before.open, 0)
  }
  t.end()
})
