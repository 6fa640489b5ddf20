/** A channel is tried out with a request of our own, whatever its breaker says, and nobody pays. */
import t from 'tap'
import { balanceCallAt } from '../../lib/catalog-file/upstreams.ts'
import { tryChannel } from '../../lib/exchange/channel-trial.ts'
import { MODEL, open, type Scene } from './support/gateway.ts'
import { answers, says } from './support/speech.ts'
import { upstreamBalance } from '../../lib/upstream/own-request.ts'
import { type Script, silent } from './support/upstream.ts'

const trial = (s: Scene, change: object = {}) =>
  tryChannel(s.services, { channel: 'a', model: MODEL, protocol: 'chat', key: 1, ...change })

t.test(
  'an upstream that answers, in each protocol of text, with the path, the key and the body of its own',
  async t => {
    const s = await open(t, {
      channels: {
        a: { key: 'up-a', models: { [MODEL]: 'theirs' }, protocols: ['chat', 'messages', 'responses', 'generate'] },
      },
    })
    for (const protocol of ['chat', 'messages', 'responses', 'generate'] as const) {
      s.at('a').script = call => answers(3, 1)(call)
      const seen = await trial(s, { protocol })
      t.match(seen, { status: 200, failure: null, firstByteMs: Number }, protocol)
      const call = s.at('a').calls.at(-1)
      t.match(call?.head, protocol === 'generate' ? /^POST \S+theirs:generateContent / : /^POST \/v1\//)
      t.match(call?.head, /up-a/)
      if (protocol !== 'generate') t.match(JSON.parse(String(call?.body)), { model: 'theirs' })
    }
    await s.books()
  },
)

t.test('why it fails, without a breaker that hears of it', async t => {
  const s = await open(t)
  for (const [status, expected] of [
    [401, 'auth'],
    [429, 'busy'],
    [503, '5xx'],
    [400, 'refused'],
  ] as const) {
    s.at('a').script = says(status, { 'x-request-id': 'req_7' })
    for (let i = 0; i < 4; i++)
      t.match(await trial(s), { status, upstreamId: 'req_7', failure: { class: expected, reason: String } })
  }
  t.equal(s.services.health.states().get('a')?.state, 'closed')
  t.match(s.services.upstreamLog.failures.of('a').lately, { auth: 4, busy: 4, '5xx': 4 })
  s.at('a').script = call => call.reset()
  t.match(await trial(s), { status: 0, firstByteMs: null, failure: { class: 'cut' } })
  s.at('a').script = silent
  const late = trial(s)
  await s.at('a').call(17)
  s.clock.advance(20_000)
  t.match(await late, { failure: { class: 'slow', error: 'timeout' } })
  t.equal(s.services.health.states().get('a')?.open, 0, 'no place is kept')
})

t.test('what is not there is not tried', async t => {
  const s = await open(t)
  for (const change of [{ channel: 'gone' }, { model: 'gone' }, { key: 2 }, { protocol: 'speech' }])
    t.equal(await trial(s, change), null, JSON.stringify(change))
})

t.test('how much money is left is asked with the key, at the path of the kind', async t => {
  const s = await open(t, { channels: { a: { key: 'up-secret', kind: 'deepseek', protocols: ['chat'] } } })
  const [channel] = s.services.world.routes.channels
  const [key] = channel!.keys
  const ask = () => upstreamBalance(s.services.pools, s.clock, channel!, key!)
  const infos = [{ currency: 'CNY', total_balance: '110.00' }]
  const rows: [string, Script, unknown][] = [
    [
      'an answer',
      call => call.whole(200, { is_available: true, balance_infos: infos }),
      { amount: 110_000_000, currency: 'CNY' },
    ],
    ['a refused key', call => call.whole(401, { error: 'no up-secret here' }), { reason: 'it answers 401' }],
    [
      'a redirect is not followed',
      call => call.whole(302, '', { location: 'http://127.0.0.1:1/' }),
      { reason: 'it answers 302' },
    ],
    ['another form', call => call.whole(200, { credit: 5 }), { reason: 'its answer names no balance' }],
    ['a page', call => call.whole(200, '<html>up-secret'), { reason: 'its answer names no balance' }],
    ['a flood', call => call.whole(200, ' '.repeat(70_000)), { reason: 'an answer of more than 65536 bytes' }],
    ['a reset', call => call.reset(), { reason: 'ECONNRESET' }],
  ]
  for (const [name, script, told] of rows) {
    s.at('a').script = script
    const seen = await ask()
    if ('reason' in (told as object) && name === 'a reset') t.match(seen, { reason: /ECONNRESET|closed|socket/i }, name)
    else t.strictSame(seen, told, name)
    t.notMatch(JSON.stringify(seen), /up-secret/, name)
  }
  const { head } = s.at('a').calls[0]!
  t.match(head, /^GET \/user\/balance HTTP/)
  t.match(head, /^authorization: Bearer up-secret\r?$/im)
  s.at('a').script = silent
  const late = ask()
  await s.at('a').call(rows.length)
  s.clock.advance(10_000)
  t.strictSame(await late, { reason: 'no answer within 10000 ms' })
  t.equal(s.services.health.states().get('a')?.state, 'closed', 'no breaker hears of it')
})

t.test('where the call is, whatever part of a path the address has', t => {
  const at = (kind: string, baseUrl: string) => balanceCallAt({ kind: kind as never, baseUrl })?.path ?? null
  for (const [kind, address, path] of [
    ['deepseek', 'https://api.deepseek.com', '/user/balance'],
    ['deepseek', 'https://api.deepseek.com/v1', '/user/balance'],
    ['deepseek', 'https://api.deepseek.com/anthropic', '/user/balance'],
    ['deepseek', 'https://relay.example/deepseek', '/deepseek/user/balance'],
    ['moonshot', 'https://api.moonshot.cn/v1', '/v1/users/me/balance'],
    ['moonshot', 'https://api.moonshot.ai/anthropic', '/v1/users/me/balance'],
    ['siliconflow', 'https://api.siliconflow.cn/v1/', '/v1/user/info'],
    ['openrouter', 'https://openrouter.ai/api/v1', '/api/v1/credits'],
    ['openrouter', 'https://openrouter.ai/api', '/api/v1/credits'],
    ['openrouter', 'https://openrouter.ai', '/api/v1/credits'],
    ['openai', 'https://api.openai.com', null],
  ] as const)
    t.equal(at(kind, address), path, `${kind} ${address}`)
  t.equal(balanceCallAt({ kind: null, baseUrl: 'https://x.example' }), null)
  t.end()
})
