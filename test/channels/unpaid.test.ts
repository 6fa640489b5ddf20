/** When an account rests whose requests cost others and not itself. */
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { Health } from '../../lib/channels/health.ts'
import { UnpaidRests } from '../../lib/channels/unpaid.ts'
import { type Candidate, compileRoutes, type Route } from '../../lib/world/table.ts'
import { TestClock } from '../support/clock.ts'
import { channel } from './support.ts'

const MINUTE = 60_000

function setUp() {
  const clock = new TestClock()
  clock.advance(1)
  const health = new Health({ clock, onAuthFailure: () => {}, random: () => 0 })
  const routes = compileRoutes({ channels: [channel('a'), channel('b')] })
  health.keep(routes.channels)
  const rests = new UnpaidRests(health)
  const [candidate, other] = (routes.find('default', 'm', 'chat') as Route).tiers.flat() as [Candidate, Candidate]
  return {
    clock,
    health,
    candidate,
    other,
    unpaid: (times: number, account = 1, worth = 100, at = candidate) => {
      for (let i = 0; i < times; i++) rests.unpaid(account, at, micro(worth), true)
    },
    paid: (charge: number, times = 1) => {
      for (let i = 0; i < times; i++) rests.paid(1, micro(charge), clock.monotonic())
    },
    timedOut: (times: number, held = 2_000_000, at = candidate) => {
      for (let i = 0; i < times; i++) rests.timedOut(1, at, micro(held))
    },
    restMs: (account = 1, channel = 'a') =>
      health.rests.restOf({ channel, key: '', model: 'm' }, account, clock.monotonic())?.ms ?? 0,
  }
}

t.test('ten within ten minutes, and a minute more for each further one; others go on', async t => {
  const s = setUp()
  s.unpaid(9)
  t.equal(s.restMs(), 0)
  s.unpaid(1)
  t.same([s.restMs(1), s.restMs(2)], [MINUTE, 0])
  s.clock.advance(MINUTE)
  t.equal(s.restMs(), 0)
  s.unpaid(1)
  t.equal(s.restMs(), MINUTE)
  s.clock.advance(11 * MINUTE)
  s.unpaid(9)
  t.equal(s.restMs(), 0, 'those before are forgotten')
})

t.test('those that were under way at once are a minute each, up to an hour', async t => {
  const s = setUp()
  s.unpaid(40)
  t.equal(s.restMs(), 31 * MINUTE)
  s.unpaid(560)
  t.equal(s.restMs(), 60 * MINUTE)
  s.clock.advance(60 * MINUTE)
  t.equal(s.restMs(), 0)
  const timed = setUp()
  timed.timedOut(600)
  t.equal(timed.restMs(), MINUTE, 'time-outs took their time already')
})

t.test('the length of a rest is of one channel and model', async t => {
  const s = setUp()
  s.unpaid(40)
  s.timedOut(1, 100, s.other)
  t.equal(s.restMs(1, 'b'), MINUTE, 'a time-out elsewhere')
  s.unpaid(1, 1, 100, s.other)
  t.equal(s.restMs(1, 'b'), MINUTE, 'the first that cannot be told elsewhere')
  s.unpaid(1, 1, 100, s.other)
  t.same([s.restMs(1, 'a'), s.restMs(1, 'b')], [31 * MINUTE, 2 * MINUTE])
})

t.test('who pays for as much as is not paid is never held up', async t => {
  const s = setUp()
  s.unpaid(1)
  s.paid(5_000)
  s.unpaid(49)
  t.equal(s.restMs(), 0)
  s.unpaid(1)
  t.equal(s.restMs(), MINUTE, 'the first that is more')
  const free = setUp()
  free.unpaid(50, 1, 0)
  t.equal(free.restMs(), 0, 'of what costs nothing there is nothing to pay')
})

t.test('a channel that fails for others says nothing of the account', async t => {
  const s = setUp()
  const health = s.health.of(s.candidate.channel)
  for (let i = 0; i < 20; i++) health.breaker.report('failed', s.clock.monotonic(), i)
  t.not(health.breaker.state(s.clock.monotonic()), 'closed')
  s.unpaid(50)
  t.equal(s.restMs(), 0)
})

t.test(
  'time-outs of an account that pays for ten times as many requests count for nothing, also when all come at once',
  async t => {
    const s = setUp()
    s.paid(10_000, 1_000)
    s.timedOut(100)
    t.equal(s.restMs(), 0)
    s.timedOut(9)
    t.equal(s.restMs(), 0)
    s.timedOut(1)
    t.equal(s.restMs(), MINUTE, 'the tenth beyond them')
    const free = setUp()
    free.timedOut(10)
    t.equal(free.restMs(), MINUTE, 'of an account that paid nothing')
  },
)

t.test('what an outage left unpaid is not remembered afterwards', async t => {
  const s = setUp()
  const { breaker } = s.health.of(s.candidate.channel)
  for (let i = 0; i < 20; i++) breaker.report('failed', s.clock.monotonic(), i)
  s.unpaid(50)
  s.timedOut(50)
  breaker.wake()
  s.unpaid(1)
  s.timedOut(1)
  t.equal(s.restMs(), 0)
})
