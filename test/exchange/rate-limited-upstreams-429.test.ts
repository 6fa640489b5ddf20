/** An upstream that is too busy for the requests of one account must not be closed to all others. */
// The bug behind these rows: one busy answer for everybody.
import t from 'tap'
import { KEY, keyOf, OTHER_KEY, type Options, open as openScene, type Scene } from './support/gateway.ts'
import { answers, document, SPEECH, says } from './support/speech.ts'
import type { Call, Script } from './support/upstream.ts'

/** A request costs little, so that a cent is enough for one. */
const open = (t: Parameters<typeof openScene>[0], options: Options = {}) =>
  openScene(t, { prices: { m: { input: 2, output: 8 } }, ...options })

const good = answers(100, 10)
const HOUR = says(429, { 'retry-after': '3600' })
const cheap = { user: 'cheat', max_tokens: 1 }

/** Who asks for something that no limit allows is told so; all others are answered. */
const toldApart =
  (bad: Script): Script =>
  (call: Call) =>
    (call.body.includes('cheat') ? bad : good)(call)

async function asks(s: Scene, key: string, more: object = {}) {
  const client = s.ask(document(more, { authorization: `Bearer ${key}` }))
  await client.end()
  return { status: client.status, retryAfter: client.answer.headers.get('retry-after'), text: client.text }
}

const three = { a: {}, b: {}, c: {} }
const cheats = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`cheat${i}`, 0.01]))

async function fleet(t: Parameters<typeof open>[0], bad: Script = HOUR) {
  const s = await open(t, { channels: three, accounts: cheats })
  for (const name of Object.keys(three)) s.at(name).script = toldApart(bad)
  return s
}

t.test('one 429 with retry-after, caused by an account with a cent', async t => {
  for (const status of [429, 529]) {
    const s = await fleet(t, says(status, { 'retry-after': '3600' }))
    const cheat = await asks(s, keyOf('cheat0'), cheap)
    t.match(cheat, { status, retryAfter: '60' }, 'it is told a minute at most')
    t.same(s.asked(), { a: 1, b: 1, c: 0 }, 'after two channels said so, no third one is asked')
    t.match(await asks(s, KEY), { status: 200 }, 'another customer is served by the third channel')
    s.clock.advance(2_000)
    t.match(await asks(s, KEY), { status: 200 })
    t.same(s.asked(), { a: 2, b: 1, c: 1 }, 'and after two seconds by all of them')
    for (let i = 0; i < 20; i++) {
      t.match(await asks(s, keyOf('cheat0'), cheap), i === 0 ? { status } : { status: 429, retryAfter: '60' })
      t.match(await asks(s, KEY), { status: 200 })
      s.clock.advance(5_000)
    }
    t.same(s.asked(), { a: 22, b: 1, c: 2 }, 'the account itself asks each of them once in ten minutes')
    t.same(
      ['a', 'b', 'c'].map(name => s.state(name)),
      ['closed', 'closed', 'closed'],
    )
    t.match(await s.books(), { ok: true })
  }
})

t.test('with one channel another customer is told to come back in two seconds, once in ten minutes', async t => {
  const s = await open(t, { accounts: cheats })
  s.at('a').script = toldApart(HOUR)
  t.match(await asks(s, keyOf('cheat0'), cheap), { status: 429, retryAfter: '60' })
  t.match(await asks(s, KEY), { status: 429, retryAfter: '2', text: /当前分组上游负载已饱和,请稍后再试/ })
  s.clock.advance(2_000)
  for (let i = 1; i < 10; i++) {
    t.match(await asks(s, KEY), { status: 200 })
    t.match(await asks(s, keyOf(`cheat${i}`), cheap), { status: 429 })
    t.match(await asks(s, KEY), { status: 200 }, `after ${i + 1} cheats, each answered in between`)
    s.clock.advance(50_000)
  }
})

t.test('what two, three and ten cheats can do at most, when nobody else is answered in between', async t => {
  for (const [count, mostS] of [
    [2, 0],
    [3, 0],
    [10, 8],
  ] as const) {
    const s = await open(t, { accounts: cheats })
    s.at('a').script = toldApart(HOUR)
    const names = Object.keys(cheats).slice(0, count)
    t.match(await asks(s, keyOf(names[0] as string), cheap), { status: 429 })
    s.clock.advance(2_000) // in which all wait
    for (const name of names.slice(1, 3)) await asks(s, keyOf(name), cheap)
    let seconds = 0
    for (; seconds < 30; seconds += 2) {
      // those of the cheats that were not told yet come first, as often as they can
      for (const name of names.slice(3)) await asks(s, keyOf(name), cheap)
      const { status, retryAfter } = await asks(s, KEY)
      if (status === 200) break
      t.equal(retryAfter, '2')
      s.clock.advance(1_000)
      for (const name of names.slice(3)) await asks(s, keyOf(name), cheap)
      s.clock.advance(1_000)
    }
    t.ok(seconds <= mostS, `${count} cheats: ${seconds} s`)
    t.match(await asks(s, OTHER_KEY), { status: 200 }, 'the first answer opens it for all others')
    for (const name of names) t.match(await asks(s, keyOf(name), cheap), { status: 429 })
    t.match(await asks(s, OTHER_KEY), { status: 200 })
  }
})

t.test('an upstream that is too busy for everybody: one request a second is let through', async t => {
  const s = await open(t, { accounts: cheats })
  s.at('a').script = says(429, { 'retry-after': '30' })
  t.match(await asks(s, keyOf('cheat0')), { status: 429, retryAfter: '30' })
  s.clock.advance(2_000)
  t.match(await asks(s, keyOf('cheat1')), { status: 429, retryAfter: '30' })
  t.match(await asks(s, keyOf('cheat2')), { status: 429, retryAfter: '30' })
  const before = s.asked()['a'] as number
  t.match(await asks(s, KEY), { status: 429, retryAfter: '30' }, 'let through, and told by the upstream')
  for (let i = 0; i < 5; i++) t.match(await asks(s, OTHER_KEY), { status: 429, retryAfter: /^[12]$/ })
  t.equal(s.asked()['a'], before + 1)
  s.clock.advance(1_000)
  s.at('a').script = good
  t.match(await asks(s, OTHER_KEY), { status: 200 })
  t.match(await asks(s, OTHER_KEY), { status: 200 }, 'and that ends it')
  t.match(await asks(s, KEY), { status: 429, retryAfter: '29' }, 'but not for those who were told')
  const said = s.logged.filter(line => line['msg'] === 'a model of the channel rests')
  t.match(said, [
    { channel: 'a', model: 'm', scope: 'others', rest_ms: 2_000 },
    { channel: 'a', model: 'm', scope: 'all', rest_ms: 28_000 },
  ])
  t.equal(await s.metric('gateway_channel_rests_total', { channel: 'a', scope: 'all' }), 1)
  t.equal(await s.metric('gateway_channel_rests_total', { channel: 'a', scope: 'account' }), 4)
})

t.test('a request without money takes no turn', async t => {
  const s = await open(t, { accounts: { ...cheats, empty: 0 } })
  s.at('a').script = toldApart(HOUR)
  for (const name of ['cheat0', 'cheat1', 'cheat2']) {
    await asks(s, keyOf(name), cheap)
    s.clock.advance(2_000)
  }
  for (let i = 0; i < 5; i++) t.not((await asks(s, keyOf('empty'))).status, 200)
  t.match(await asks(s, KEY), { status: 200 })
})

t.test('another model of the same channel goes on', async t => {
  const s = await open(t, { models: ['n'], channels: { a: { models: ['m', 'n'] } } })
  s.at('a').script = call => (call.body.includes('"m"') ? HOUR : good)(call)
  t.match(await asks(s, KEY), { status: 429 })
  t.match(await asks(s, KEY, { model: 'n' }), { status: 200 })
  t.match(await asks(s, KEY), { status: 429, text: /当前分组上游负载已饱和/ })
})

t.test('another key of the same channel goes on, and a channel of two keys is one channel', async t => {
  const s = await open(t, { channels: { a: { keys: [{ key: 'k0' }, { key: 'k1' }] }, b: {}, c: {} } })
  s.at('a').script = call => (call.header('authorization') === 'Bearer k0' ? HOUR : good)(call)
  for (let i = 0; i < 6; i++) t.match(await asks(s, KEY), { status: 200 })
  t.ok((s.asked()['a'] as number) <= 7, 'the exhausted key is asked once at most')
  t.equal(s.asked()['b'], 0)
  const both = await open(t, { channels: { a: { keys: [{ key: 'k0' }, { key: 'k1' }] }, b: {}, c: {} } })
  both.at('a').script = HOUR
  both.at('b').script = good
  t.match(await asks(both, KEY), { status: 200 })
  t.same(both.asked(), { a: 2, b: 1, c: 0 })
})

t.test('a conversation moves on while its channel rests for its account, and comes back', async t => {
  const s = await open(t, { channels: { a: { priority: 0 }, b: { priority: 0 } } })
  for (const name of ['a', 'b']) s.at(name).script = good
  const talk = { prompt_cache_key: 'a conversation' }
  await asks(s, KEY, talk)
  const [home, other] = s.asked()['a'] === 1 ? ['a', 'b'] : ['b', 'a']
  s.at(home).script = says(429, { 'retry-after': '60' })
  for (let i = 0; i < 3; i++) t.match(await asks(s, KEY, talk), { status: 200 })
  s.at(home).script = good
  t.match(s.asked(), { [home]: 2, [other]: 3 })
  s.clock.advance(2_000)
  t.match(await asks(s, OTHER_KEY, talk), { status: 200 })
  t.match(s.asked(), { [home]: 3, [other]: 3 }, 'that of another account stays')
  s.clock.advance(58_000)
  t.match(await asks(s, KEY, talk), { status: 200 })
  t.match(s.asked(), { [home]: 4, [other]: 3 })
})

t.test('a second attempt beside a silent one is none of those that are let through', async t => {
  const s = await open(t, { channels: { a: {}, b: {} }, hedge: '1s' })
  s.at('a').script = () => {}
  s.at('b').script = good
  for (const account of [101, 102, 103])
    s.health.rests.busy({ channel: 'b', key: '', model: 'm' }, account, s.clock.monotonic(), 600)
  const waits = s.ask(document())
  const call = await s.at('a').call()
  s.clock.advance(1_500)
  await s.settled()
  t.equal(s.asked()['b'], 0)
  call.reset()
  await waits.end()
  t.same([waits.status, s.asked()['b']], [200, 1], 'when the first one has failed, it is')
})

t.test('an answer that is continued is asked of its own channel only, and told to wait while that rests', async t => {
  const s = await open(t, { channels: { a: {}, b: {} } })
  const usage = { input_tokens: 1, output_tokens: 1 }
  const saysAs = (name: string) => (call: Call) =>
    call.whole(200, { id: `resp_${name}`, object: 'response', status: 'completed', output: [], usage })
  const ask = async (more: object = {}) => {
    const { path, headers = {} } = SPEECH.responses.ask
    const client = s.ask({ path, headers, body: { model: 'm', input: 'x', max_output_tokens: 10, ...more } })
    await client.end()
    return { status: client.status, retryAfter: client.answer.headers.get('retry-after'), text: client.text }
  }
  for (const name of ['a', 'b']) s.at(name).script = saysAs(name)
  t.match(await ask(), { status: 200 })
  s.at('a').script = says(429, { 'retry-after': '20' })
  const more = { previous_response_id: 'resp_a' }
  t.match(await ask(more), { status: 429, retryAfter: '20', text: /upstream/ })
  s.at('a').script = saysAs('a')
  t.match(await ask(more), { status: 429, retryAfter: '20', text: /当前分组上游负载已饱和/ })
  t.same(s.asked(), { a: 2, b: 0 })
  t.match(await ask(), { status: 200 }, 'what continues nothing is answered by the other one')
  s.clock.advance(20_000)
  t.match(await ask(more), { status: 200 })
  t.same(s.asked(), { a: 3, b: 1 })
})

t.test('requests that count tokens rest nothing, and are estimated while their channel rests', async t => {
  const s = await open(t)
  const counts = async () => {
    const client = s.ask({
      path: '/v1/messages/count_tokens',
      headers: { 'x-api-key': KEY },
      body: { model: 'm', messages: [] },
    })
    await client.end()
    return client.status
  }
  s.at('a').script = HOUR
  for (let i = 0; i < 3; i++) t.equal(await counts(), 200)
  const before = s.asked()['a'] as number
  s.at('a').script = toldApart(HOUR)
  t.match(await asks(s, KEY), { status: 200 }, 'they said nothing of the channel')
  t.match(await asks(s, KEY, cheap), { status: 429 })
  t.equal(await counts(), 200)
  t.equal(s.asked()['a'], before + 2, 'the upstream was not asked to count')
})

t.test('what an upstream says of its limits does not reach a client, who would take it for his own', async t => {
  const s = await open(t)
  const limits = { 'x-ratelimit-remaining-requests': '0', 'anthropic-ratelimit-tokens-remaining': '0' }
  s.at('a').script = says(429, { 'retry-after': '7', 'x-should-retry': 'true', ...limits })
  const client = s.ask(document())
  await client.end()
  const names = [...client.answer.headers.keys()]
  t.same(
    names.filter(name => name.includes('ratelimit')),
    [],
  )
  t.match([client.answer.headers.get('retry-after'), client.answer.headers.get('x-should-retry')], ['7', 'true'])
})
