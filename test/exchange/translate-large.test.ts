/** Large bodies are translated by another thread: what the upstream is sent, what the client gets, and what happens meanwhile. */
import t, { type Test } from 'tap'
import { until } from '../support/wait.ts'
import type { Ask } from './support/client.ts'
import { HEADERS, MODEL, NOTHING_LEFT, type Options, open, PATHS, type Scene } from './support/gateway.ts'
import type { Script } from './support/upstream.ts'

const TEXT = `${'so "it" is \u00e9\n'.repeat(60_000)}.`
/** The same in parts, none of which is only moved, so that it is above what is translated on the main thread. */
const PARTS = (TEXT.match(/[\s\S]{1,3000}/g) as string[]).map(text => ({ type: 'text', text }))

const asks = (content: string | object[], more: object = {}): Ask => ({
  path: PATHS.messages,
  headers: HEADERS,
  body: { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content }], ...more },
})
const document = (content: string) => ({
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 100, completion_tokens: 10 },
})
const answers =
  (content: string): Script =>
  call =>
    call.whole(200, document(content))
const CHAT: Options = { channels: { a: { protocols: ['chat'] } } }
const translated = (s: Scene, what: string, outcome: string) =>
  s.metric('gateway_translations_total', { what, outcome })
const nothingLeft = async (t: Test, s: Scene) => {
  const { left, ok, failures } = await s.books()
  t.same([left, ok, failures], [NOTHING_LEFT, true, []])
  t.equal(s.services.buffered.bytes, 0)
}

t.test('a large request and a large document arrive as small ones do, and are charged alike', async t => {
  const s = await open(t, CHAT)
  s.at('a').script = answers(TEXT)
  const asked = s.ask(asks(PARTS))
  t.equal(await asked.end(), 'whole')
  const { status, headers, body } = asked.answer
  t.match([status, headers.get('x-gateway-via')], [200, 'chat'])
  t.match(JSON.parse(body), {
    content: [{ type: 'text', text: TEXT }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 100, output_tokens: 10 },
  })
  const sent = JSON.parse((await s.at('a').call()).body)
  t.same(sent.messages[0].content, PARTS)
  t.equal(sent.max_tokens, 100)
  t.match((await s.books()).rows, [{ via: 'chat', basis: 'reported', charge: 280, end: 'completed' }])
  t.same([await translated(s, 'request', 'done'), await translated(s, 'answer', 'done')], [1, 1])
  t.match(await s.metric('gateway_upstream_attempts_total', { channel: 'a', result: 'ok' }), 1)
  await nothingLeft(t, s)
})

t.test('a long string is moved on the main thread, to the byte, and read whole by another one', async t => {
  const content = [TEXT, 'x'].map(text => ({ type: 'text', text }))
  for (const [more, done] of [
    [{}, 0],
    [{ metadata: { user_id: TEXT } }, 1],
  ] as const) {
    const s = await open(t, CHAT)
    s.at('a').script = answers('Good morning to you')
    const asked = s.ask(asks(content, more))
    t.equal(await asked.end(), 'whole')
    t.equal(asked.status, 200)
    t.equal(JSON.parse((await s.at('a').call()).body).messages[0].content[0].text, TEXT)
    t.match((await s.books()).rows, [{ via: 'chat', basis: 'reported', charge: 280, end: 'completed' }])
    t.equal((await translated(s, 'request', 'done')) ?? 0, done)
    await nothingLeft(t, s)
  }
})

t.test('a long string that is no JSON is refused, whether it is moved or not', async t => {
  const s = await open(t, CHAT)
  const body = JSON.stringify({ model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: TEXT }] })
  for (const wrong of ['\n', '\\x', '\\u12g4', '\0']) {
    const at = body.indexOf('so', 400_000)
    const asked = s.ask({ ...asks(''), body: `${body.slice(0, at)}${wrong}${body.slice(at)}` })
    t.equal(await asked.end(), 'whole')
    t.equal(asked.status, 400, JSON.stringify(wrong))
    t.match(asked.text, /不支持参数 body/)
  }
  t.same(s.asked(), { a: 0 })
  await nothingLeft(t, s)
})

t.test('a body of many small values is large, too', async t => {
  const s = await open(t, CHAT)
  s.at('a').script = answers('Good morning to you')
  const content = Array.from({ length: 2000 }, () => ({ type: 'text', text: 'x' }))
  const asked = s.ask(asks('', { messages: [{ role: 'user', content }] }))
  t.equal(await asked.end(), 'whole')
  t.equal(asked.status, 200)
  t.equal(JSON.parse((await s.at('a').call()).body).messages[0].content.length, content.length)
  t.equal(await translated(s, 'request', 'done'), 1)
  await nothingLeft(t, s)
})

t.test('a client that leaves while its request is written: no upstream hears of it', async t => {
  const s = await open(t, CHAT)
  const asked = s.ask(asks(PARTS))
  await until('the request is being written', () => s.services.buffered.bytes > 1.5 * TEXT.length)
  asked.leave()
  await until('it is called off', async () => (await translated(s, 'request', 'left')) === 1)
  t.same((await s.books()).rows, [])
  t.same(s.asked(), { a: 0 })
  await nothingLeft(t, s)
})

t.test('a client that leaves while its answer is read is charged for it', async t => {
  const s = await open(t, CHAT)
  const asked = s.ask(asks('Hi'))
  const call = await s.at('a').call()
  const { translating } = s.services
  const run = translating.run.bind(translating)
  translating.run = (...job) => {
    const running = run(...job)
    asked.leave()
    return running
  }
  call.whole(200, document(TEXT))
  await until('it is called off', async () => (await translated(s, 'answer', 'left')) === 1)
  t.match((await s.books()).rows, [{ via: 'chat', basis: 'reported', charge: 280, end: 'client_gone' }])
  await nothingLeft(t, s)
})

t.test('what cannot be said is refused, or another candidate is asked', async t => {
  const chat = (content: string): Ask => ({ ...asks(content, { n: 2 }), path: PATHS.chat })
  const one = await open(t, { channels: { a: { protocols: ['messages'] } } })
  const refused = one.ask(chat(TEXT))
  t.equal(await refused.end(), 'whole')
  t.equal(refused.status, 400)
  t.match(refused.text, /不支持参数 n/)
  t.same(one.asked(), { a: 0 })
  await nothingLeft(t, one)

  const two = await open(t, { channels: { a: { protocols: ['chat'] }, b: { protocols: ['messages'] } } })
  two.at('a').script = call => call.whole(503, { error: { message: 'too much' } })
  const failed = two.ask(chat(TEXT))
  t.equal(await failed.end(), 'whole')
  t.equal(failed.status, 503, 'the only one who could be asked has the last word')
  t.match(failed.text, /too much/)
  t.same(two.asked(), { a: 1, b: 0 })
  await nothingLeft(t, two)
})

t.test('a failure goes on to one that translates', async t => {
  const s = await open(t, { channels: { a: { protocols: ['messages'] }, b: { protocols: ['chat'] } } })
  s.at('a').script = call => call.whole(503, { error: { message: 'no' } })
  s.at('b').script = answers('Good morning to you')
  const asked = s.ask(asks(TEXT))
  t.equal(await asked.end(), 'whole')
  t.equal(asked.status, 200)
  t.match((await s.books()).rows, [{ channel: 'b', via: 'chat', attempts: [{ channel: 'a' }, { channel: 'b' }] }])
  await nothingLeft(t, s)
})

t.test('without room for another large body nobody is asked', async t => {
  const s = await open(t, { ...CHAT, config: { limits: { buffered: '1600KiB' } } })
  const asked = s.ask(asks(TEXT))
  t.equal(await asked.end(), 'whole')
  t.equal(asked.status, 503)
  t.same(s.asked(), { a: 0 })
  await nothingLeft(t, s)
})

t.test('a document that comes slowly is waited for, and nobody else is asked meanwhile', async t => {
  const s = await open(t, {
    channels: { a: { protocols: ['chat'] }, b: { protocols: ['chat'] } },
    hedge: '2s',
    config: { timeouts: { main: '0s', first_byte: '20s', idle: '60s' } },
  })
  const asked = s.ask(asks('Hi'))
  const call = await s.at('a').call()
  const text = JSON.stringify(document('Good morning to you'))
  call.start(200, { 'content-type': 'application/json', 'content-length': String(text.length) })
  call.raw(text.slice(0, 20))
  await s.settled()
  for (let s_ = 0; s_ < 40; s_++) {
    s.clock.advance(1000)
    await s.settled()
  }
  call.raw(text.slice(20))
  t.equal(await asked.end(), 'whole')
  t.equal(asked.status, 200)
  t.same(s.asked(), { a: 1, b: 0 })
  await nothingLeft(t, s)
})
