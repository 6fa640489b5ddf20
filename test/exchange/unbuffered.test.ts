/** What comes in pieces tells the proxies on its way to pass each of them on; a document does not. */
import t from 'tap'
import { TALKING } from '../support/talking.ts'
import type { Client } from './support/client.ts'
import { open } from './support/gateway.ts'
import { answers, document, SPEECH, says } from './support/speech.ts'

const told = ({ answer: { headers } }: Client) => [headers.get('cache-control'), headers.get('x-accel-buffering')]
const UNBUFFERED = ['no-cache', 'no']
const NOTHING = [undefined, undefined]

for (const protocol of TALKING) {
  const { ask, first, rest } = SPEECH[protocol]

  t.test(`${protocol}: a stream, also one that starts early`, async t => {
    const s = await open(t, { config: { keepalive: { early: '80s' } } })
    const client = s.ask(ask)
    const call = await s.at('a').call()
    call.stream({ 'cache-control': 'public, max-age=600', 'x-accel-buffering': 'yes' })
    call.chunk(first + rest)
    call.end()
    t.equal(await client.end(), 'whole')
    t.same(told(client), UNBUFFERED)
    const early = s.ask(ask)
    const late = await s.at('a').call(1)
    s.clock.advance(81_000)
    await early.sees('\n')
    t.same(told(early), UNBUFFERED)
    late.stream()
    late.chunk(first + rest)
    late.end()
    t.equal(await early.end(), 'whole')
  })
}

for (const [client, via] of [
  ['messages', 'chat'],
  ['chat', 'messages'],
  ['responses', 'chat'],
  ['generate', 'chat'],
] as const)
  t.test(`${client} by ${via}: a translated stream`, async t => {
    const s = await open(t, { channels: { a: { protocols: [via] } } })
    const asking = s.ask({ ...SPEECH[client].ask, body: bodyOf(client) })
    const call = await s.at('a').call()
    call.stream()
    call.chunk(SPEECH[via].first + SPEECH[via].rest)
    call.end()
    await asking.end()
    t.equal(asking.status, 200)
    t.same(told(asking), UNBUFFERED)
  })

function bodyOf(client: 'messages' | 'chat' | 'responses' | 'generate'): object {
  const messages = [{ role: 'user', content: 'hi' }]
  if (client === 'generate') return { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
  const more = client === 'responses' ? { input: 'hi' } : { messages, max_tokens: 100 }
  return { model: 'm', stream: true, ...more }
}

t.test('a stream whose upstream calls it something else, and elements of an array', async t => {
  const s = await open(t)
  const { ask, first, rest } = SPEECH.chat
  const client = s.ask(ask)
  const call = await s.at('a').call()
  call.stream({ 'content-type': 'text/plain' })
  call.chunk(first + rest)
  call.end()
  t.equal(await client.end(), 'whole')
  t.same(told(client), UNBUFFERED)
  const array = s.ask({ ...SPEECH.generate.ask, path: '/v1beta/models/m:streamGenerateContent' })
  const other = await s.at('a').call(1)
  other.stream({ 'content-type': 'application/json' })
  other.chunk('[{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}]')
  other.end()
  t.equal(await array.end(), 'whole')
  t.same(told(array), UNBUFFERED)
})

t.test('documents and refusals', async t => {
  const s = await open(t)
  s.at('a').script = answers(100, 10)
  const whole = s.ask(document())
  t.equal(await whole.end(), 'whole')
  t.same(told(whole), NOTHING)
  s.at('a').script = says(400)
  const refused = s.ask(SPEECH.chat.ask)
  t.equal(await refused.end(), 'whole')
  t.equal(refused.status, 400)
  t.same(told(refused), NOTHING)
  const unknown = s.ask({ ...document(), headers: { authorization: 'Bearer sk-nobody' } })
  await unknown.end()
  t.same(told(unknown), NOTHING)
})
