/** Somebody tries admin tokens: brute force is logged, counted and slowed down, and others notice nothing. */
import t from 'tap'
import { TokenGuard } from '../../lib/api/token-guard.ts'
import { TestClock } from '../support/clock.ts'
import { openOps, TOKEN } from './support.ts'

const wrong = { authorization: 'Bearer not-the-token' }
const right = { authorization: `Bearer ${TOKEN}` }

t.test('ten wrong tokens in a minute: the network waits, and then gets in again', async t => {
  const ops = await openOps(t)
  const statuses: number[] = []
  for (let i = 0; i < 12; i++) statuses.push((await ops.call('GET', '/admin/groups', wrong)).status)
  t.strictSame(statuses, [...Array(10).fill(401), 429, 429])
  const held = await ops.call('GET', '/admin/groups', right)
  t.match(held, {
    status: 429,
    headers: { 'retry-after': '60' },
    error: { message: /too many wrong tokens came from this address: try again in 60 seconds/ },
  })
  t.strictSame(ops.refused, [...Array(10).fill('token'), ...Array(3).fill('throttled')])
  for (const page of ['/healthz', '/readyz', '/metrics']) t.equal((await ops.call('GET', page)).status, 200, page)
  ops.clock.advance(60_000)
  t.equal((await ops.call('GET', '/admin/groups', right)).status, 200)
  const lines = ops.logged.filter(line => line.includes('an admin call was not let in'))
  t.equal(lines.length, 10, 'the others are left out')
  t.match(JSON.parse(lines[0] as string), {
    level: 'warn',
    method: 'GET',
    path: '/admin/groups',
    address: '127.0.0.1',
    why: 'token',
  })
  t.notMatch(ops.logged.join(), /not-the-token/)
})

t.test('a few wrong ones now and then hold nobody up', async t => {
  const ops = await openOps(t)
  for (let minute = 0; minute < 3; minute++) {
    for (let i = 0; i < 9; i++) t.equal((await ops.call('GET', '/admin/groups')).status, 401)
    t.equal((await ops.call('GET', '/admin/groups', right)).status, 200)
    ops.clock.advance(60_000)
  }
})

t.test('networks are told apart, IPv6 by 64 bits, and the lines of the log are bounded', t => {
  const clock = new TestClock()
  const lines: { unsaid?: number }[] = []
  const guard = new TokenGuard({
    clock,
    log: { warn: (line: object) => void lines.push(line) },
    count: () => {},
  } as never)
  for (let i = 0; i < 10; i++) guard.wrong(`2001:db8:1:2::${i}`, {})
  t.throws(() => guard.enter('2001:db8:1:2:9::9', {}), { message: /too many wrong tokens/ })
  guard.enter('2001:db8:1:3::1', {})
  guard.enter('203.0.113.7', {})
  t.equal(lines.length, 10)
  clock.advance(60_000)
  guard.enter('2001:db8:1:2::1', {})
  guard.wrong('203.0.113.7', {})
  t.match(lines.at(-1), { unsaid: 1, address: '203.0.113.7' })
  t.end()
})
