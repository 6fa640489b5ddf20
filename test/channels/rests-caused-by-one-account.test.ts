/** What fails for one account only, whatever it is answered, must not take a channel or a key from the others. */
// The bug behind these rows: a channel taken from others.
import t from 'tap'
import { Breaker, type AttemptOutcome } from '../../lib/channels/breaker.ts'
import { CLIENT_PROTOCOLS } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { modelsPath } from '../../lib/upstream/own-request.ts'
import { KEY, OTHER_KEY, open, POOR_KEY, type Scene } from '../exchange/support/gateway.ts'
import { answers, document, says } from '../exchange/support/speech.ts'
import type { Call, Script } from '../exchange/support/upstream.ts'

const good = answers(100, 10)
const asks = (s: Scene, key: string, more: object = {}) => {
  const client = s.ask(document(more, { authorization: `Bearer ${key}` }))
  return client.end().then(() => client.status)
}
/** By what the client wrote, so that each account is answered in its own way. */
const poisoned =
  (bad: Script, list: Script = good): Script =>
  (call: Call) => {
    if (call.head.startsWith('GET ')) list(call)
    else if (call.body.includes('poison')) bad(call)
    else good(call)
  }
const poison = { user: 'poison' }

t.test('free count requests that are refused, or fail, say nothing of the channel', async t => {
  for (const bad of [
    says(403),
    says(401),
    says(500),
    says(429, { 'retry-after': '60' }),
    (call: Call) => call.reset(),
  ]) {
    const s = await open(t)
    s.at('a').script = bad
    for (let i = 0; i < 10; i++) {
      const headers = { 'x-api-key': POOR_KEY }
      const client = s.ask({ path: '/v1/messages/count_tokens', headers, body: { model: 'm', ...poison } })
      await client.end()
      t.equal(client.status, 200)
    }
    t.equal(s.state('a'), 'closed')
    s.at('a').script = good
    t.equal(await asks(s, KEY), 200)
  }
})

t.test('what fails for one account while others are answered rests nothing', async t => {
  for (const bad of [says(500), says(503), says(403), says(401), (call: Call) => call.reset()]) {
    const s = await open(t, { channels: { a: {}, b: {} } })
    for (const name of ['a', 'b']) s.at(name).script = poisoned(bad)
    t.equal(await asks(s, KEY), 200)
    for (let i = 0; i < 11; i++) t.not(await asks(s, OTHER_KEY, poison), 200)
    await s.settled()
    t.equal(s.state('a'), 'closed')
    const before = s.asked()['a'] as number
    t.equal(await asks(s, KEY), 200)
    t.equal(s.asked()['a'], before + 1)
  }
})

t.test('an account that is alone rests a channel that fails; so do two that both meet failures', async t => {
  for (const keys of [[KEY], [KEY, OTHER_KEY]] as const) {
    const s = await open(t, { channels: { a: {}, b: {} } })
    s.at('a').script = says(500)
    s.at('b').script = good
    for (let i = 0; i < 10; i++) t.equal(await asks(s, keys[i % keys.length] as string), 200)
    t.same([s.state('a'), s.asked()['a']], ['open', 5])
  }
})

t.test('a key that one account is refused with rests when a question of our own is refused, too', async t => {
  for (const [list, state] of [
    [says(401), 'open'],
    [says(403), 'open'],
    [good, 'closed'],
    [says(404), 'closed'],
    [(call: Call) => call.reset(), 'closed'],
  ] as const) {
    const s = await open(t, { channels: { a: {}, b: {} } })
    s.at('a').script = poisoned(says(403), list)
    s.at('b').script = good
    for (let i = 0; i < 3; i++) t.equal(await asks(s, KEY, poison), 200)
    const question = await s.at('a').call(3)
    t.match(question.head, /^GET \/v1\/models HTTP/)
    t.equal(question.header('x-api-key') ?? question.header('authorization'), 'up-a')
    for (let i = 0; i < 5; i++) await s.settled()
    t.equal(s.state('a'), state)
    for (let i = 0; i < 6; i++) t.equal(await asks(s, KEY, poison), 200)
    const questions = s.at('a').calls.filter(call => call.head.startsWith('GET '))
    t.equal(questions.length, 1, 'it is not asked again soon')
  }
})

t.test('refusals of different accounts are about the key', async t => {
  const s = await open(t, { channels: { a: {}, b: {} } })
  s.at('a').script = says(403)
  s.at('b').script = good
  for (const key of [KEY, OTHER_KEY, KEY, OTHER_KEY]) t.equal(await asks(s, key), 200)
  t.same([s.state('a'), s.asked()['a'], s.refusedKeys()], ['open', 3, ['a']])
})

t.test('whom a breaker listens to', t => {
  const rows: [said: [atS: number, account: number, outcome: AttemptOutcome, times: number][], state: string][] = [
    [[[0, 1, 'failed', 5]], 'open'],
    [
      [
        [0, 2, 'ok', 1],
        [1, 1, 'failed', 50],
      ],
      'closed',
    ],
    [
      [
        [0, 2, 'ok', 1],
        [21, 1, 'failed', 5],
      ],
      'open',
    ],
    [
      [
        [0, 2, 'ok', 1],
        [1, 1, 'failed', 9],
        [2, 2, 'failed', 1],
      ],
      'open',
    ],
    [
      [
        [0, 1, 'ok', 1],
        [1, 1, 'failed', 5],
      ],
      'open',
    ],
    [
      [
        [0, 1, 'auth', 2],
        [0, 2, 'ok', 1],
        [0, 3, 'auth', 9],
      ],
      'closed',
    ],
  ]
  for (const [said, state] of rows) {
    const breaker = new Breaker(() => 0)
    for (const [atS, account, outcome, times] of said)
      for (let i = 0; i < times; i++) breaker.report(outcome, atS * 1000, account)
    t.equal(breaker.state((said.at(-1)?.[0] as number) * 1000), state, JSON.stringify(said))
  }
  t.end()
})

t.test('where the list of models stands beside each path', t => {
  for (const [protocol, path, list] of [
    ['messages', '/v1/messages', '/v1/models'],
    ['chat', '/api/paas/v4/chat/completions', '/api/paas/v4/models'],
    ['images', '/v1/images/generations', '/v1/models'],
    ['embeddings', '/v1/embeddings', '/v1/models'],
    ['generate', '/v1beta/models/{model}:{verb}', '/v1beta/models'],
    ['chat', '/openai/deployments/{model}/chat/completions', null],
    ['chat', '/somewhere/else', null],
    ['converse', '/model/{model}/{verb}', null],
  ] as const)
    t.equal(modelsPath(protocol, path), list)
  for (const protocol of CLIENT_PROTOCOLS)
    t.match(modelsPath(protocol, protocolRow(protocol).upstream.path), /^\/v1(beta)?\/models$/, protocol)
  t.end()
})
