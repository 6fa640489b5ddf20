/**
 * An answer that cannot be told in the client's protocol is free, and so is one whose first byte did not come in time, while their upstreams
 * take money for all that was written. One account had as many of them as it liked: by the call of a tool that is no object, for a prompt of
 * 200,000 tokens each time, or by whole answers that take longer than the time-out.
 */
// The bug behind these rows: one account costs as much as it likes, and pays nothing.
import t from 'tap'
import { HEADERS, MODEL, NOTHING_LEFT, open, OTHER_KEY, PATHS, type Scene } from './support/gateway.ts'
import type { Script } from './support/upstream.ts'

const MINUTE_MS = 60_000
const OTHERS = { authorization: `Bearer ${OTHER_KEY}`, 'x-api-key': OTHER_KEY }

const untold: Script = call =>
  call.whole(200, {
    id: 'c',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '[1]' } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 10 },
  })
const told: Script = call =>
  call.whole(200, {
    id: 'c',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 20, completion_tokens: 10 },
  })

const body = { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }
async function statuses(s: Scene, times: number, headers = HEADERS as Record<string, string>): Promise<number[]> {
  const all: number[] = []
  for (let i = 0; i < times; i++) {
    const asked = s.ask({ path: PATHS.messages, headers, body })
    await asked.end()
    all.push(asked.status)
  }
  return all
}
const some = (status: number, times: number): number[] => Array.from({ length: times }, () => status)

t.test('ten answers that cannot be told, and then one a minute; others are served', async t => {
  const s = await open(t, { channels: { a: { protocols: ['chat'] } }, config: { retry: { attempts: 1 } } })
  s.at('a').script = untold
  t.same(await statuses(s, 12), [...some(502, 10), 503, 503])
  t.same(await statuses(s, 1, OTHERS), [502])
  s.clock.advance(MINUTE_MS)
  t.same(await statuses(s, 3), [502, 503, 503])
  s.clock.advance(MINUTE_MS)
  s.at('a').script = told
  t.same(await statuses(s, 12), some(200, 12))
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test('who pays for more than that is never held up', async t => {
  const s = await open(t, { channels: { a: { protocols: ['chat'] } }, config: { retry: { attempts: 1 } } })
  for (let i = 0; i < 15; i++) {
    s.at('a').script = untold
    t.same(await statuses(s, 1), [502])
    s.at('a').script = told
    t.same(await statuses(s, 2), [200, 200])
  }
})

t.test('an answer that was taken back counts, whoever answers in its place', async t => {
  const s = await open(t, { channels: { a: { protocols: ['chat'] }, b: { protocols: ['chat'] } } })
  s.at('a').script = untold
  s.at('b').script = untold
  t.same(await statuses(s, 7), [...some(502, 6), 503], 'five for both channels, and one more for the second')
})

t.test('who pays as much for the answer in its place is not held up', async t => {
  const channels = { a: { protocols: ['chat'], priority: 1 }, b: { protocols: ['chat'] } }
  const s = await open(t, { channels, config: { retry: { budget: '100%' } } })
  s.at('a').script = untold
  s.at('b').script = told
  t.same(await statuses(s, 15), some(200, 15))
  t.same([s.at('a').calls.length, s.at('b').calls.length], [15, 15])
})

t.test('ten answers whose first byte did not come', async t => {
  const config = { timeouts: { main: '0s', first_byte: '20s', idle: '60s' }, retry: { attempts: 1 } }
  const s = await open(t, { channels: { a: { protocols: ['chat'] } }, config })
  const a = s.at('a')
  for (let i = 0; i < 10; i++) {
    a.script = told
    t.same(await statuses(s, 3, OTHERS), some(200, 3), 'the channel is well for others')
    a.script = () => {}
    const asked = s.ask({ path: PATHS.messages, headers: HEADERS, body })
    await a.call(4 * i + 3)
    s.clock.advance(21_000)
    await asked.end()
    t.equal(asked.status, 504)
  }
  t.same(await statuses(s, 1), [503])
  t.match(await s.books(), { left: NOTHING_LEFT, failures: [] })
  t.match(await s.store.audit(), { ok: true })
})

/** A whole answer of so many characters, for which so many tokens are reported. */
const longAnswer =
  (length: number, completion_tokens: number): Script =>
  call =>
    call.whole(200, {
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(length) }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 20, completion_tokens },
    })

t.test('answers for which another account left no memory', async t => {
  const config = { retry: { attempts: 1 }, limits: { buffered: '1MiB' } }
  const s = await open(t, { channels: { a: { protocols: ['chat'] } }, config })
  const { buffered } = s.services
  const ofAnother = 900 * 1024
  t.ok(buffered.take(99, 0, ofAnother, 1024 * 1024))
  s.at('a').script = longAnswer(100_000, 30_000)
  t.same(await statuses(s, 12), some(503, 12))
  t.equal(s.at('a').calls.length, 12, 'it asks as before')
  buffered.give(99, ofAnother)
  t.same(await statuses(s, 1), [200])
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test('ten answers for which the account left no memory', async t => {
  const config = { retry: { attempts: 1 }, limits: { buffered: '1MiB', body: '1MiB' } }
  const s = await open(t, { channels: { a: { protocols: ['chat'] } }, config })
  s.at('a').script = longAnswer(1_200_000, 300_000)
  t.same(await statuses(s, 12), some(503, 12))
  t.equal(s.at('a').calls.length, 10)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})
