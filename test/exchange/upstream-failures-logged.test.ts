/** An operator must see from the log why attempts fail, and nothing secret, and not a thousand lines a second. */
// The bug behind these rows: failures without a cause.
import t from 'tap'
import type { FailureClass } from '../../lib/terms/channel-seen.ts'
import { KEY, MODEL, type Options, OTHER_KEY, open, type Scene } from './support/gateway.ts'
import { answers, document, SPEECH, says } from './support/speech.ts'
import type { Call, Script } from './support/upstream.ts'

const good = answers(100, 10)
const ask = async (s: Scene) => {
  const client = s.ask(document())
  await client.end()
  await s.settled()
  return client
}
const lines = (s: Scene, msg: string) => s.logged.filter(line => line['msg'] === msg)
const two = { channels: { a: {}, b: {} } }

const beginsWithError: Script = call => call.whole(200, { error: { message: 'no' } })
const silent = () => {}

const CAUSES: Record<string, { script?: Script; change?: Options; refuses?: true; line: object; class: FailureClass }> =
  {
    'a name that does not resolve': {
      change: { channels: { a: { base_url: 'http://no-such-name.invalid' }, b: {} } },
      line: { error: /ENOTFOUND|EAI_AGAIN/, reason: /getaddrinfo/, outcome: 'failed' },
      class: 'dns',
    },
    'a connection that is refused': {
      refuses: true,
      line: { error: 'ECONNREFUSED', reason: /127\.0\.0\.1/ },
      class: 'connect',
    },
    'no TLS': {
      change: { channels: { a: { base_url: 'https://localhost:1' }, b: {} } },
      line: { error: /ECONNREFUSED|SSL/ },
      class: 'connect',
    },
    'a reset': { script: call => call.reset(), line: { error: /ECONNRESET|OTHER_SIDE_CLOSED/ }, class: 'cut' },
    'a key that is refused': {
      script: says(401, { 'x-request-id': 'req_77' }),
      line: { status: 401, upstream_id: 'req_77', outcome: 'auth' },
      class: 'auth',
    },
    'an upstream that is too busy': { script: says(429), line: { status: 429, outcome: 'busy' }, class: 'busy' },
    'an error of the upstream': { script: says(503), line: { status: 503, outcome: 'failed' }, class: '5xx' },
    'an error behind a 200': { script: beginsWithError, line: { status: 200, outcome: 'failed' }, class: 'other' },
  }

for (const [name, { script, change = two, refuses, line, class: expected }] of Object.entries(CAUSES)) {
  t.test(name, async t => {
    const s = await open(t, change)
    if (refuses) await s.at('a').close()
    s.at('a').script = script ?? silent
    s.at('b').script = good
    const client = await ask(s)
    t.equal(client.status, 200)
    const id = client.answer.headers.get('x-request-id')
    t.match(lines(s, 'attempt failed'), [{ level: 'warn', id, channel: 'a', attempt: 1, ms: Number, ...line }])
    const { failures, lately } = s.services.upstreamLog.failures.of('a')
    const { outcome: _, ...known } = line as Record<string, unknown>
    const { upstream_id: upstreamId, ...same } = known
    t.match(failures, [
      {
        class: expected,
        requestId: id,
        key: 1,
        model: MODEL,
        ...same,
        ...(upstreamId === undefined ? {} : { upstreamId }),
      },
    ])
    t.same(lately, { [expected]: 1 })
    t.same(s.services.upstreamLog.failures.of('b'), { failures: [], lately: {} })
    t.match(lines(s, 'another channel is asked'), [{ level: 'info', id, channel: 'a', next: 'b' }])
    t.match(
      lines(s, 'request').find(one => one['id'] === id),
      {
        address: '127.0.0.1',
        account: 1,
        account_name: 'one',
        key: 1,
        key_name: 'k',
        attempts: 2,
      },
    )
  })
}

t.test('an answer that breaks off', async t => {
  const s = await open(t)
  s.at('a').script = call => {
    call.stream()
    call.chunk(SPEECH.chat.first)
    setImmediate(() => call.reset())
  }
  const client = s.ask(SPEECH.chat.ask)
  t.equal(await client.end(), 'cut')
  await s.settled()
  t.match(lines(s, 'answer broke off'), [{ channel: 'a', status: 200, error: /\w/ }])
  t.match(s.services.upstreamLog.failures.of('a').failures, [{ class: 'cut', status: 200 }])
})

t.test('a client that is wrong, and one that leaves, are no failures of the upstream', async t => {
  const s = await open(t)
  s.at('a').script = says(400)
  await ask(s)
  s.at('a').script = silent
  const client = s.ask(document())
  await s.at('a').call(1)
  client.leave()
  await s.readOut()
  await s.books()
  t.same(lines(s, 'attempt failed'), [])
  t.same(s.services.upstreamLog.failures.of('a').failures, [])
})

t.test('what the upstream said is shown at level debug, without what is secret', async t => {
  const secret = 'up-very-secret/key+1'
  const echoes =
    (status: number): Script =>
    (call: Call) =>
      call.whole(status, `${'x'.repeat(480)} ${call.header('authorization')} sk-other-key-of-ours-123456 and more`, {
        'x-request-id': `id ${secret}`,
      })
  for (const [level, status] of [
    ['debug', 500],
    ['debug', 400],
    ['info', 500],
  ] as const) {
    const s = await open(t, { channels: { a: { key: secret } }, config: { log: { level } } })
    s.at('a').script = echoes(status)
    await ask(s)
    const text = JSON.stringify(s.logged)
    t.notOk(text.includes(secret))
    t.notOk(text.includes(KEY))
    t.notOk(/up-very|sk-other/.test(text))
    t.notOk(/up-very|sk-other/.test(JSON.stringify(s.services.upstreamLog.failures.of('a'))))
    const said = lines(s, 'what the upstream said')
    t.equal(said.length, level === 'debug' ? 1 : 0)
    if (level === 'debug') {
      t.match(said, [{ level: 'debug', channel: 'a', status, body: /^x{480} \w+ \*\*\*/ }])
      t.ok((said[0]!['body'] as string).length <= 500)
    }
  }
})

t.test('a secret is hidden in every spelling, in pieces, and where a constant header carries it', async t => {
  const secret = 'up/very+Secret_0123456789'
  const constant = 'const/Hidden+9876543210'
  const s = await open(t, {
    channels: { a: { key: secret, headers: { 'x-second-token': `=${constant}` } } },
    config: { log: { level: 'debug' } },
  })
  for (const one of [secret, constant]) {
    const quotes = [
      one,
      one.replaceAll('/', '\\/'),
      encodeURIComponent(one),
      Buffer.from(one).toString('base64'),
      Buffer.from(`user:${one}`).toString('base64url'),
      Buffer.from(`users:${one}:more`).toString('base64'),
      `${one.slice(0, 12)}…`,
      `…${one.slice(-10)}`,
      `…${one.slice(6, 16)}…`,
    ]
    for (const quote of quotes) {
      const before = s.logged.length
      s.at('a').script = call => call.whole(400, `the key ${quote} is wrong`)
      await ask(s)
      const said = s.logged.slice(before).find(line => line['msg'] === 'what the upstream said')?.['body'] as string
      t.match(said, /^the key .*\*\*\*.* is wrong$/, quote)
      t.notMatch(said, quote)
      t.ok(said.length < 40, said)
      s.clock.advance(10_000)
    }
  }
})

t.test('changes of a breaker are said at level warn', async t => {
  const s = await open(t)
  s.at('a').script = says(500)
  for (let i = 0; i < 5; i++) await ask(s)
  t.match(lines(s, 'channel rests'), [{ level: 'warn', channel: 'a', was: 'closed', state: 'open', rest_ms: 5000 }])
  s.at('a').script = good
  await ask(s)
  t.match(lines(s, 'channel is asked again'), [{ level: 'warn', channel: 'a', was: 'open', state: 'closed' }])
  const several = await open(t, { channels: { a: { keys: [{ key: 'up-0' }, { key: 'up-1' }] } } })
  several.at('a').script = call => (call.header('authorization')?.endsWith('1') ? says(401) : good)(call)
  for (let i = 0; i < 30; i++) {
    const key = i % 2 === 0 ? KEY : OTHER_KEY
    await several.ask(document({}, { authorization: `Bearer ${key}` })).end()
  }
  // further requests may be refused before the gateway's own question about the key is, and each makes the rest twice as long, up to ten minutes
  t.match(lines(several, 'channel rests'), [{ channel: 'a', key: 2, rest_ms: /^(60|120|240|480|600)000$/ }])
})

t.test('that all wait for a model is said at level warn', async t => {
  const s = await open(t, { channels: { a: { keys: [{ key: 'up-0' }, { key: 'up-1' }] } } })
  s.at('a').script = says(429, { 'retry-after': '9' })
  await ask(s)
  t.match(lines(s, 'a model of the channel rests'), [
    { level: 'warn', channel: 'a', model: MODEL, upstream_key: /^[0-9a-f]{16}$/, scope: 'others', rest_ms: 2000 },
  ])
})

t.test('a dead channel has a bounded number of lines, and says how many were left out', async t => {
  const s = await open(t, two)
  s.at('a').script = says(503)
  s.at('b').script = says(503)
  const log = s.services.upstreamLog
  for (let i = 0; i < 50; i++) log.goesOn('x', 'dead', 'b')
  t.equal(lines(s, 'another channel is asked').length, 20)
  s.clock.advance(10_000)
  log.goesOn('x', 'dead', 'b')
  t.match(lines(s, 'another channel is asked').at(-1), { unsaid: 30 })
})
