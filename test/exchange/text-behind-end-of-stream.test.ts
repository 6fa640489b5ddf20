/**
 * An upstream said all it had to, was charged, and went on talking: the hold had ended, more of it was asked for and never
 * came, and the client waited for ever.
 */
// The bug behind these rows: text behind the end.
import t from 'tap'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { SPEECH } from './support/speech.ts'

t.test('text behind the end of a stream whose hold grows: the stream ends', async t => {
  const s = await open(t, { config: { hold: { output_tokens: 20 } } })
  const { ask, first, rest } = SPEECH.chat
  const client = s.ask(ask)
  const call = await s.at('a').call()
  call.stream()
  call.chunk(first + rest)
  await client.sees('[DONE]')
  call.chunk(first.repeat(50))
  call.end()
  t.equal(await client.end(), 'whole')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ charge: 280, basis: 'reported' }] })
})
