/**
 * The first event of a messages stream names one output token, which is a placeholder. It was taken for the upstream's
 * report: counting ended there, and a stream that was cut or left cost one token, however much of it had been relayed. A
 * report that tells the input alone, or one with content behind it, did the same on other protocols.
 */
// The bug behind these rows: a placeholder taken for usage.
import t from 'tap'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { SPEECH } from './support/speech.ts'
import type { Call } from './support/upstream.ts'
import type { Talking } from '../support/talking.ts'

const named = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const WORDS = 'The quick brown fox jumps over the lazy dog. '.repeat(20)
/** Bytes of text are some 4.4 to the token. */
const LEAST = 200
/** After so long a break is not held against its channel. */
const FORGOTTEN_MS = 25_000

const start = (usage: object): string => named('message_start', { message: { id: 'm', usage } })
const START = start({ input_tokens: 70, output_tokens: 1 })
const delta = (text: string): string => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
const part = (text: string, usage: object): string =>
  data({ candidates: [{ content: { parts: [{ text }] } }], usageMetadata: usage })
const choice = (content: string, usage: unknown = null): string => data({ choices: [{ delta: { content } }], usage })

/** What was sent before the break; the input charged, if it was reported; and the output, if that was reported. */
const STREAMS: [string, Talking, string, { input?: number; output?: number }][] = [
  ['a first event with a placeholder', 'messages', START + delta(WORDS), { input: 70 }],
  [
    'a placeholder that grows with a second start',
    'messages',
    START + start({ input_tokens: 71, output_tokens: 3 }) + delta(WORDS),
    { input: 71 },
  ],
  ['no usage in the first event', 'messages', start({}) + delta(WORDS), {}],
  [
    'content behind a report',
    'messages',
    START + named('message_delta', { usage: { output_tokens: 2 } }) + delta(WORDS),
    { input: 70 },
  ],
  [
    'a report of more than was seen',
    'messages',
    START + delta('a') + named('message_delta', { usage: { output_tokens: 5000 } }),
    { input: 70, output: 5000 },
  ],
  ['usage with every chunk', 'chat', choice(WORDS, { prompt_tokens: 70, completion_tokens: 1 }), { input: 70 }],
  [
    'content behind a report',
    'chat',
    choice('', { prompt_tokens: 70, completion_tokens: 0 }) + choice(WORDS),
    { input: 70 },
  ],
  [
    'a report of more than was seen',
    'chat',
    choice('a', { prompt_tokens: 70, completion_tokens: 5000 }),
    { input: 70, output: 5000 },
  ],
  ['a prompt alone', 'generate', part(WORDS, { promptTokenCount: 70, totalTokenCount: 70 }), { input: 70 }],
  ['thoughts alone', 'generate', part(WORDS, { promptTokenCount: 70, thoughtsTokenCount: 3 }), { input: 70 }],
  [
    'a report of more than was seen',
    'generate',
    part('a', { promptTokenCount: 70, candidatesTokenCount: 5000 }),
    { input: 70, output: 5000 },
  ],
  ['nothing reported', 'responses', named('response.output_text.delta', { delta: WORDS }), {}],
]

const BREAKS: Record<string, (call: Call) => void> = {
  reset: call => call.reset(),
  'ended without its last event': call => call.end(),
}

for (const [how, act] of Object.entries(BREAKS))
  t.test(how, async t => {
    const s = await open(t)
    for (const [i, [what, protocol, sent, want]] of STREAMS.entries()) {
      s.clock.advance(FORGOTTEN_MS)
      const client = s.ask(SPEECH[protocol].ask)
      const call = await s.at('a').call(i)
      call.stream()
      call.chunk(sent)
      await client.sees(sent)
      act(call)
      t.equal(await client.end(), 'cut')
      const books = await s.books()
      t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
      const row = books.rows.at(-1)!
      const basis = want.output === undefined ? 'counted' : 'reported'
      t.match(row, { basis, end: 'upstream_cut', ...want }, `${protocol}: ${what}`)
      t.ok(row.input > 0 && row.output >= (want.output ?? LEAST) && row.output < 6000, `output ${row.output}`)
    }
  })

t.test('the client leaves', async t => {
  const s = await open(t, { config: { client_gone: { concurrent: 0 } } })
  for (const [i, [what, protocol, sent, want]] of STREAMS.entries()) {
    const client = s.ask(SPEECH[protocol].ask)
    const call = await s.at('a').call(i)
    call.stream()
    call.chunk(sent)
    await client.sees(sent)
    client.leave()
    await s.readOut()
    await call.cut()
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    const row = books.rows.at(-1)!
    t.match(row, { end: 'client_gone', ...want }, `${protocol}: ${what}`)
    t.ok(row.output >= (want.output ?? LEAST), `output ${row.output}`)
  }
})

/** Complete streams and documents that report no output worth the name: the content is counted. */
const COMPLETE: [string, Talking, string][] = [
  ['no report behind the placeholder', 'messages', START + delta(WORDS) + named('message_stop', {})],
  [
    'zeros behind the content',
    'messages',
    START + delta(WORDS) + named('message_delta', { usage: { output_tokens: 0 } }) + named('message_stop', {}),
  ],
  [
    'content between the report and the end',
    'chat',
    `${choice('a', { prompt_tokens: 70, completion_tokens: 1 })}${choice(WORDS)}data: [DONE]\n\n`,
  ],
  [
    'zeros',
    'chat',
    `${choice(WORDS)}${data({ choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } })}data: [DONE]\n\n`,
  ],
  [
    'content behind the end, in one piece with it',
    'chat',
    `${data({ choices: [], usage: { prompt_tokens: 70, completion_tokens: 1 } })}data: [DONE]\n\n${choice(WORDS)}`,
  ],
  [
    'a last chunk without usage',
    'generate',
    part('a', { promptTokenCount: 70, candidatesTokenCount: 1 }) +
      data({ candidates: [{ content: { parts: [{ text: WORDS }] }, finishReason: 'STOP' }] }),
  ],
  [
    'no deltas and no usage',
    'responses',
    named('response.output_item.done', { item: { content: [{ text: WORDS.repeat(2) }] } }) +
      named('response.completed', { response: { output: [{ content: [{ text: WORDS.repeat(2) }] }], usage: null } }),
  ],
]

t.test('complete, and without a report of what was said', async t => {
  const s = await open(t)
  for (const [i, [what, protocol, sent]] of COMPLETE.entries()) {
    const client = s.ask(SPEECH[protocol].ask)
    const call = await s.at('a').call(i)
    call.stream()
    call.chunk(sent)
    call.end()
    await client.end()
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    const row = books.rows.at(-1)!
    t.match(row, { basis: 'counted', end: 'completed' }, `${protocol}: ${what}`)
    t.ok(row.output >= LEAST, `output ${row.output}`)
  }
})

t.test('nothing but zeros in a document is no report; zero output beside a prompt is one', async t => {
  const s = await open(t)
  for (const usage of [
    { prompt_tokens: 0, completion_tokens: 0 },
    { prompt_tokens: 70, completion_tokens: 0 },
  ]) {
    s.at('a').script = call => call.whole(200, { choices: [{ message: { content: WORDS } }], usage })
    const { ask } = SPEECH.chat
    t.equal(await s.ask({ ...ask, body: { ...(ask.body as object), stream: false } }).end(), 'whole')
  }
  const { rows } = await s.books()
  t.match(rows, [{ basis: 'counted' }, { basis: 'reported', input: 70, output: 0 }])
  t.ok(rows[0]!.output >= LEAST && rows[0]!.input > 0)
})
