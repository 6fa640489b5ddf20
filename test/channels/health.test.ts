import t from 'tap'
import { Health } from '../../lib/channels/health.ts'
import { TestClock } from '../support/clock.ts'

function setUp() {
  const clock = new TestClock()
  const refused: string[] = []
  const health = new Health({ clock, onAuthFailure: name => refused.push(name), random: () => 0 })
  const say = (name: string, outcome: 'ok' | 'failed' | 'auth', times = 1) => {
    for (let i = 0; i < times; i++) health.report(name, outcome)
  }
  return { clock, refused, health, say }
}

t.test('each channel by itself', async t => {
  const { clock, health, say } = setUp()
  say('a', 'failed', 5)
  say('b', 'ok')
  t.same(
    [...health.states()],
    [
      ['a', 'open'],
      ['b', 'closed'],
    ],
  )
  t.equal(health.state('never asked'), 'closed')
  t.same(
    ['a', 'b', 'never asked'].map(name => health.mayAsk(name)),
    [false, true, true],
  )
  t.same(
    ['a', 'b', 'never asked'].map(name => health.restMs(name)),
    [5000, 0, 0],
  )
  clock.advance(5000)
  t.equal(health.state('a'), 'half_open')
  health.admit('a')
  t.equal(health.mayAsk('a'), false)
  say('a', 'ok')
  t.equal(health.state('a'), 'closed')
})

t.test('a refused credential is told once each time it makes a channel rest', async t => {
  const { clock, health, refused, say } = setUp()
  say('a', 'auth', 2)
  t.same(refused, [])
  say('a', 'auth', 10)
  t.same(refused, ['a'])
  clock.advance(60_000)
  health.admit('a')
  say('a', 'auth')
  t.same(refused, ['a', 'a'])
})

t.test('a new world: what is the same keeps its state, what is another or gone does not', async t => {
  const { health, say } = setUp()
  const row = (name: string, key = 'k', origin = 'https://x', basePath = '') => ({ name, key, origin, basePath })
  health.keep(['same', 'key', 'origin', 'path', 'gone'].map(name => row(name)))
  for (const name of ['same', 'key', 'origin', 'path', 'gone']) say(name, 'failed', 5)
  health.keep([row('same'), row('key', 'new'), row('origin', 'k', 'https://y'), row('path', 'k', 'https://x', '/v2')])
  t.same([...health.states()], [['same', 'open']])
  say('gone', 'failed', 5)
  health.keep([row('same'), row('gone')])
  t.equal(health.state('gone'), 'closed', 'nor when it comes back')
})

t.test('a channel that fails is asked few times, and is back soon after it recovers', async t => {
  const { clock, health } = setUp()
  const ask = (works: boolean) => {
    if (!health.mayAsk('a')) return 0
    health.admit('a')
    health.report('a', works ? 'ok' : 'failed')
    return 1
  }
  let asked = 0
  for (let i = 0; i < 40; i++) {
    asked += ask(false)
    clock.advance(10)
  }
  t.ok(asked < 25, `${asked} of 40`)
  t.equal(health.state('a'), 'open')
  let recoveredS = 0
  while (health.state('a') !== 'closed' && recoveredS < 100) {
    ask(true)
    clock.advance(500)
    recoveredS += 0.5
  }
  t.ok(recoveredS < 45, `${recoveredS} s`)
})
