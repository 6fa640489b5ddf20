/**
 * The end of an event waits for its charge to be in the journal, and its beginning is with the client: a sign of life was
 * written between the two, because the meter had seen the whole event.
 */
// The bug behind these rows: life signs before the charge.
import t from 'tap'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { SPEECH } from './support/speech.ts'
import { until } from '../support/wait.ts'

t.test('no sign of life in the middle of an event whose end waits', async t => {
  const s = await open(t)
  const waiting: (() => void)[] = []
  s.clock.soon = fn => void waiting.push(fn)
  const { ask, first, rest } = SPEECH.messages
  const client = s.ask(ask)
  const call = await s.at('a').call()
  call.stream()
  call.chunk(first + rest.slice(0, -10))
  await client.sees('message_stop')
  call.chunk(rest.slice(-10))
  await until('the charge waits', () => waiting.length > 0)
  s.clock.advance(60_000)
  await s.settled()
  t.equal(client.text, first + rest.slice(0, -10))
  for (const write of waiting) write()
  call.end()
  t.equal(await client.end(), 'whole')
  t.equal(client.text, first + rest)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ charge: 280, basis: 'reported' }] })
})
