/** When a channel rests that reports more than its requests can have caused: for whom, and never when it is the last. */
import t from 'tap'
import { DisputeRests } from '../../lib/channels/disputed.ts'
import { Health } from '../../lib/channels/health.ts'
import { type Candidate, compileRoutes } from '../../lib/world/table.ts'
import type { Route } from '../../lib/world/table.ts'
import type { Channel } from '../../lib/terms/records.ts'
import { TestClock } from '../support/clock.ts'
import { channel, heard } from './support.ts'

const MINUTE = 60_000

function setUp(channels: Channel[]) {
  const clock = new TestClock()
  clock.advance(1)
  const health = new Health({ clock, onAuthFailure: () => {}, random: () => 0 })
  const routes = compileRoutes({ channels })
  health.keep(routes.channels)
  const disputes = new DisputeRests(health)
  const at = (name: string): Candidate => {
    const found = routes.find('default', 'm', 'chat') as Route
    return found.tiers.flat().find(one => one.channel.name === name) as Candidate
  }
  return {
    clock,
    health,
    disputed: (account: number, name = 'a', route = routes.find('default', 'm', 'chat') ?? null) => {
      disputes.answered(at(name), clock.monotonic())
      return disputes.disputed({ account, candidate: at(name), route, routes: () => routes.through(name, 'm') })
    },
    answered: (count: number, name = 'a') => {
      for (let i = 0; i < count; i++) disputes.answered(at(name), clock.monotonic())
    },
    restMs: (account: number, name = 'a') =>
      health.rests.restOf({ channel: name, key: '', model: 'm' }, account, clock.monotonic())?.ms ?? 0,
  }
}

t.test('the account does not ask it for a minute; others do', async t => {
  const s = setUp([channel('a'), channel('b')])
  t.equal(s.disputed(1), 'rests')
  t.equal(s.restMs(1), MINUTE)
  t.equal(s.restMs(2), 0)
  t.match(s.health.rests.restOf({ channel: 'a', key: '', model: 'm' }, 1, s.clock.monotonic()), { why: 'ordered' })
  s.clock.advance(MINUTE)
  t.equal(s.restMs(1), 0)
})

t.test('the last channel that the account can use goes on', async t => {
  const alone = setUp([channel('a')])
  t.equal(alone.disputed(1), null)
  t.equal(alone.restMs(1), 0)
  const disabled = setUp([channel('a'), channel('b', { status: 'disabled' })])
  t.equal(disabled.disputed(1), null, 'the other one is disabled')
  const two = setUp([channel('a'), channel('b')])
  two.disputed(1, 'a')
  t.equal(two.disputed(1, 'b'), null, 'the other one rests')
  t.equal(two.disputed(2, 'b'), 'rests', 'but for this account')
  const failed = setUp([channel('a'), channel('b')])
  const b = failed.health.of({ name: 'b', connection: { origin: 'https://b.example' }, basePath: '', keys: [] })
  for (let i = 0; i < 30; i++) failed.health.report(b, b.keys[0]!, heard('failed'))
  t.equal(failed.disputed(1), null, 'the other one fails')
  const pinned = setUp([channel('a'), channel('b')])
  t.equal(pinned.disputed(1, 'a', null), null, 'an earlier answer is continued here only')
})

t.test('nobody asks it: five accounts, twenty answers, a tenth of all, within ten minutes', async t => {
  type Case = [what: string, accounts: number, each: number, answered: number, all: boolean]
  const rows: Case[] = [
    ['enough', 5, 4, 0, true],
    ['four accounts', 4, 5, 0, false],
    ['nineteen answers', 19, 1, 0, false],
    ['a tenth', 5, 4, 180, true],
    ['less than a tenth', 5, 4, 181, false],
  ]
  for (const [what, accounts, each, answered, all] of rows) {
    const s = setUp([channel('a'), channel('b')])
    s.answered(answered)
    for (let i = 0; i < accounts * each; i++) s.disputed(i % accounts)
    t.equal(s.restMs(999), all ? MINUTE : 0, what)
    s.clock.advance(MINUTE)
    t.equal(s.restMs(999), 0, 'for a minute')
  }
  const slow = setUp([channel('a'), channel('b')])
  for (let i = 0; i < 20; i++) {
    slow.disputed(i % 5)
    slow.clock.advance(40_000)
  }
  t.equal(slow.restMs(999), 0, 'over more than ten minutes')
})

t.test('it goes on for all where some model would have no other channel, and a person is told', async t => {
  const rows: [what: string, other: Partial<Channel>, became: string][] = [
    ['the other serves everywhere', {}, 'rests'],
    ['the other does not serve a group', { groups: ['default'] }, 'kept'],
    ['the other does not speak a protocol', { protocols: ['chat'] }, 'kept'],
  ]
  for (const [what, other, became] of rows) {
    const both = { groups: ['default', 'vip'], protocols: ['chat', 'responses'] } satisfies Partial<Channel>
    const s = setUp([channel('a', both), channel('b', { ...both, ...other })])
    for (let i = 0; i < 19; i++) s.disputed(i)
    t.equal(s.disputed(19), became, what)
    t.equal(s.restMs(999), became === 'rests' ? MINUTE : 0, what)
  }
})
