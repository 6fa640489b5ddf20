/** A channel is tried out with a request of our own, whatever its breaker says, and nobody pays. */
import t from 'tap'
import { tryChannel } from '../../lib/exchange/channel-trial.ts'
import { MODEL, open, type Scene } from './support/gateway.ts'
import { answers, says } from './support/speech.ts'
import { silent } from './support/upstream.ts'

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
