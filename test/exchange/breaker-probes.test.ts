/** When all rest after failures, one of them is asked all the same: nobody is refused while an upstream is well. */
// The bug behind these rows: refused although an upstream was well.
import t from 'tap'
import { Breaker } from '../../lib/channels/breaker.ts'
import type { Client } from './support/client.ts'
import { KEY, keyOf, NOTHING_LEFT, open, OTHER_KEY, type Scene } from './support/gateway.ts'
import { answers, document, says } from './support/speech.ts'

const good = answers(100, 10)
const status = async (s: Scene): Promise<number> => {
  const client = s.ask(document())
  await client.end()
  return client.status
}
const three = { a: { priority: 0 }, b: { priority: 0 }, c: { priority: 0 } }
const options = { channels: three, config: { retry: { attempts: 1 } } }

async function restAll(s: Scene): Promise<void> {
  for (const name of ['a', 'b', 'c']) s.at(name).script = says(500)
  for (let i = 0; i < 60 && ['a', 'b', 'c'].some(name => s.state(name) === 'closed'); i++) await status(s)
}

t.test('one that is well again is found at once, and closes', async t => {
  for (const well of ['a', 'b', 'c']) {
    const s = await open(t, options)
    await restAll(s)
    t.same(['a', 'b', 'c'].map(s.state), ['open', 'open', 'open'])
    s.at(well).script = good
    let refused = 0
    for (let i = 0; i < 20; i++) if ((await status(s)) !== 200) refused++
    t.ok(refused <= 2, `${refused} refused`)
    t.equal(s.state(well), 'closed')
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  }
})

t.test('a try at the next one finds it within the same request', async t => {
  const s = await open(t, { channels: three, config: { retry: { attempts: 3 } } })
  await restAll(s)
  s.at('c').script = good
  t.equal(await status(s), 200)
})

t.test('those that rest because they said so, or for their key, are not asked', async t => {
  for (const bad of [says(429, { 'retry-after': '60' }), says(401)]) {
    const s = await open(t)
    s.at('a').script = bad
    for (let i = 0; i < 3; i++) await status(s)
    for (let i = 0; i < 5; i++) await s.settled()
    const before = s.at('a').calls.length
    t.ok(before <= 4)
    await status(s)
    t.equal(s.at('a').calls.length, before)
  }
})

t.test('within a bound, which grows with the demand', t => {
  const asked = (demand: number): number => {
    const breaker = new Breaker(() => 0)
    for (let i = 0; i < 5; i++) breaker.report('failed', 0, 1)
    let count = 0
    for (let i = 0; i < demand; i++)
      if (breaker.triedAnyway(1000, 1) !== null) {
        count++
        t.equal(breaker.admit(1000), true)
        breaker.report('failed', 1000, 1, true)
      }
    return count
  }
  t.same([1, 10, 20, 100, 1000].map(asked), [1, 10, 10, 50, 500])
  t.end()
})

t.test(
  'an account whose requests fail cannot use up what others may ask: one of theirs a second passes beside it',
  t => {
    const breaker = new Breaker(() => 0)
    for (let i = 0; i < 5; i++) breaker.report('failed', 0, 1)
    const passes = (atMs: number, account: number): boolean => {
      const passed = breaker.triedAnyway(atMs, account) !== null
      if (passed) breaker.admit(atMs)
      return passed
    }
    while (passes(1000, 1));
    const rows: [atMs: number, account: number, passes: boolean][] = [
      [1000, 1, false],
      [1000, 2, true],
      [1000, 3, false],
      [1999, 3, false],
      [2000, 3, true],
    ]
    for (const [atMs, account, expected] of rows) t.equal(passes(atMs, account), expected, `${account} at ${atMs}`)
    breaker.report('failed', 2000, 3, true)
    t.equal(passes(3000, 3), false, 'it has failed itself')
    t.equal(passes(3000, 2), true)
    t.end()
  },
)

t.test('an answer to one that was asked while it rested closes it; one from before does not', t => {
  for (const [wasAsked, state] of [
    [true, 'closed'],
    [false, 'open'],
  ] as const) {
    const breaker = new Breaker(() => 0)
    for (let i = 0; i < 5; i++) breaker.report('failed', 0, 1)
    breaker.report('ok', 1000, 1, wasAsked)
    t.equal(breaker.state(1000), state)
  }
  t.end()
})

t.test('an estimate, which is sent nowhere, takes nothing of what requests may ask while a channel rests', async t => {
  const s = await open(t, { accounts: { three: 100, four: 100 } })
  const { path, body } = document()
  const asks = async (key: string, estimate = false): Promise<Client> => {
    const headers = { authorization: `Bearer ${key}` }
    const client = s.ask(estimate ? { path: '/v1/estimate', headers, body: { path, body } } : { path, headers, body })
    await client.end()
    return client
  }
  s.at('a').script = says(401)
  for (const key of [KEY, OTHER_KEY, KEY]) await asks(key)
  t.equal(s.state('a'), 'open')
  s.at('a').script = good
  for (let i = 0; i < 3; i++) t.match(JSON.parse((await asks(keyOf('three'), true)).text), { refusal: null })
  t.equal((await asks(keyOf('four'))).status, 200, 'the one request a second of who was not refused')
  t.match(JSON.parse((await asks(keyOf('three'), true)).text), { refusal: null })
})
