/**
 * An answer that had come to its end, with the upstream's final report, and failed behind it was charged what had been
 * counted of its text, where that was more than the report.
 */
// The bug behind these rows: charged more than reported.
import t from 'tap'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { SPEECH } from './support/speech.ts'
import type { Call } from './support/upstream.ts'
import type { Talking } from '../support/talking.ts'

const named = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const WORDS = 'The quick brown fox jumps over the lazy dog. '.repeat(20)
const OUTPUT = 3

const ENDED: Partial<Record<Talking, string>> = {
  messages:
    named('message_start', { message: { id: 'm', usage: { input_tokens: 70, output_tokens: 1 } } }) +
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: WORDS } }) +
    named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: OUTPUT } }) +
    named('message_stop', {}),
  chat: `${data({ choices: [{ delta: { content: WORDS } }] })}${data({ choices: [], usage: { prompt_tokens: 70, completion_tokens: OUTPUT } })}data: [DONE]\n\n`,
  responses:
    named('response.output_text.delta', { delta: WORDS }) +
    named('response.completed', { response: { usage: { input_tokens: 70, output_tokens: OUTPUT } } }),
  // an answer whose only event is not whole is taken back, so there is one before the end
  generate:
    data({ candidates: [{ content: { parts: [{ text: WORDS }] } }] }) +
    data({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 70, candidatesTokenCount: OUTPUT },
    }),
}
const ERROR: Partial<Record<Talking, string>> = {
  messages: named('error', { error: { type: 'api_error', message: 'late' } }),
  chat: data({ error: { message: 'late' } }),
  responses: named('error', { message: 'late' }),
  generate: data({ error: { code: 500, message: 'late', status: 'INTERNAL' } }),
}

const FAILS: Record<string, (call: Call, ended: string, error: string) => void> = {
  'an error in one piece with the end': (call, ended, error) => {
    call.chunk(ended + error)
    call.end()
  },
  'an end without its last line break, then a reset': (call, ended) => {
    call.chunk(ended.slice(0, -1))
    setImmediate(() => call.reset())
  },
}

for (const [what, fail] of Object.entries(FAILS))
  t.test(what, async t => {
    const s = await open(t)
    for (const [i, protocol] of (Object.keys(ENDED) as Talking[]).entries()) {
      const client = s.ask(SPEECH[protocol].ask)
      const call = await s.at('a').call(i)
      call.stream()
      fail(call, ENDED[protocol] as string, ERROR[protocol] as string)
      await client.end()
      const books = await s.books()
      t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
      t.match(books.rows.at(-1), { basis: 'reported', input: 70, output: OUTPUT }, protocol)
      s.clock.advance(25_000) // the break is not held against the channel
    }
  })
