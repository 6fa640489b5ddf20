import t from 'tap'
import { OperationError } from '../../../lib/operations/error.ts'
import { tryCode, trySignIn } from '../../../lib/operations/people/throttle.ts'
import { networkOf } from '../../../lib/base/network.ts'
import { TestClock } from '../../support/clock.ts'
import { memoryStore } from '../../support/store.ts'

async function parts(t: { teardown(fn: () => unknown): void }) {
  const store = await memoryStore()
  t.teardown(() => store.close())
  return { store, clock: new TestClock() }
}

/** 0 = the try is let through; otherwise the seconds to wait. */
const waitOf = (asked: Promise<unknown>): Promise<number> =>
  asked.then(
    () => 0,
    error => {
      if (!(error instanceof OperationError) || error.fault !== 'throttled') throw error
      return Number(error.details['retry_after'])
    },
  )

t.test('the network of an address', async t => {
  for (const [ip, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['', ''],
  ])
    t.equal(networkOf(ip as string), network)
})

t.test('waits grow with failures from one address, and others are not affected', async t => {
  const deps = await parts(t)
  const attempt = (ip = '192.0.2.7', email = 'ann@example.org') => waitOf(trySignIn(deps, email, ip, null))
  const waits: number[] = []
  for (let failures = 0; failures < 12; failures++) {
    let waited = 0
    for (let wait = await attempt(); wait > 0; wait = await attempt()) {
      waited += wait
      deps.clock.advance(wait * 1000)
    }
    waits.push(waited)
  }
  t.strictSame(waits, [0, 0, 0, 0, 0, 2, 4, 8, 16, 32, 64, 128])
  t.ok((await attempt()) > 0)
  t.equal(await attempt('192.0.2.8'), 0, 'another address')
  t.equal(await attempt('192.0.2.7', 'bob@example.org'), 0, 'another person at the same address')
  deps.clock.advance(24 * 3_600_000)
  t.equal(await attempt(), 0, 'nothing is for ever')
})

t.test('tries at once count as many', async t => {
  const deps = await parts(t)
  const waits = await Promise.all(
    Array.from({ length: 20 }, () => waitOf(trySignIn(deps, 'ann@example.org', '192.0.2.7', null))),
  )
  t.equal(waits.filter(wait => wait === 0).length, 5)
})

t.test('a try that succeeds is taken back', async t => {
  const deps = await parts(t)
  for (let i = 0; i < 300; i++) {
    const counted = await trySignIn(deps, `person${i % 30}@example.org`, '192.0.2.7', null)
    await counted.succeeded()
  }
  t.pass('many people behind one address sign in')
})

t.test('an address that fails for many e-mails waits', async t => {
  const deps = await parts(t)
  const waits: number[] = []
  for (let i = 0; i < 110; i++) waits.push(await waitOf(trySignIn(deps, `p${i}@example.org`, '192.0.2.7', null)))
  t.equal(waits.filter(wait => wait === 0).length, 100)
  t.equal(await waitOf(trySignIn(deps, 'p0@example.org', '192.0.2.8', null)), 0)
})

t.test('1,000 failures a minute on one e-mail from 200 addresses do not keep its owner out', async t => {
  const deps = await parts(t)
  const email = 'ann@example.org'
  const home = await trySignIn(deps, email, '203.0.113.1', null)
  await home.succeeded()
  let let_through = 0
  for (let minute = 0; minute < 3; minute++)
    for (let i = 0; i < 1_000; i++) {
      const wait = await waitOf(trySignIn(deps, email, `198.51.100.${i % 200}`, null))
      if (wait === 0) let_through++
      deps.clock.advance(60)
    }
  t.ok(let_through < 1_500, `the attacker was let through ${let_through} times in 3,000 tries`)
  t.equal(await waitOf(trySignIn(deps, email, '203.0.113.9', 'a known browser')), 0, 'a known browser at the first try')
  t.equal(await waitOf(trySignIn(deps, email, '203.0.113.1', null)), 0, 'so does an address that has succeeded before')
  const wait = await waitOf(trySignIn(deps, email, '203.0.113.2', null))
  t.ok(wait > 0 && wait < 60, `a new one waits ${wait} s`)
  for (let i = 0; i < wait * 17; i++) {
    await waitOf(trySignIn(deps, email, `198.51.100.${i % 200}`, null))
    deps.clock.advance(60)
  }
  t.equal(await waitOf(trySignIn(deps, email, '203.0.113.2', null)), 0, 'and then gets in, while the attack goes on')
})

t.test('codes have a counter of their own', async t => {
  const deps = await parts(t)
  const waits: number[] = []
  for (let i = 0; i < 7; i++) waits.push(await waitOf(tryCode(deps, 1, null)))
  t.strictSame(
    waits.map(wait => wait > 0),
    [false, false, false, false, false, true, true],
  )
  t.equal(await waitOf(tryCode(deps, 1, 'a known browser')), 0)
  t.equal(await waitOf(tryCode(deps, 2, null)), 0)
})

t.test('a clock that is behind, or was set back, counts nothing that was not tried', async t => {
  const deps = await parts(t)
  const signIn = () => waitOf(trySignIn(deps, 'ann@example.org', '192.0.2.7', null))
  t.equal(await signIn(), 0)
  for (let i = 0; i < 4; i++) {
    deps.clock.step(-1)
    t.equal(await signIn(), 0, 'five tries, of which each is behind the one before it')
  }
  t.ok((await signIn()) > 0)
  const late = await parts(t)
  const attempt = () => waitOf(trySignIn(late, 'ann@example.org', '192.0.2.7', null))
  for (let i = 0; i < 5; i++) await attempt()
  late.clock.step(-3_600_000)
  const waitS = await attempt()
  t.ok(waitS <= 900, `${waitS} s`)
  late.clock.advance(waitS * 1000)
  t.equal(await attempt(), 0)
})
