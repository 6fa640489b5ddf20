/**
 * A body that cannot be translated was read once for each channel that translates, and one that can be was written once for each: with
 * twenty channels, a client without money held up all others twenty times as long.
 */
// The bug behind these rows: bodies read again for each channel.
import t from 'tap'
import type { Translated } from '../../lib/translate/table.ts'
import { HEADERS, MODEL, open, PATHS } from './support/gateway.ts'
import { chat, messages } from '../translate/support/protocols.ts'

const names = ['a', 'b', 'c', 'd', 'e']
const one = { protocols: ['messages'], priority: 0 }

/** How often a protocol's function is called. */
function counted(of: Translated, name: 'readRequest' | 'writeRequest'): { times: number } {
  const calls = { times: 0 }
  const own = of[name] as (...args: unknown[]) => unknown
  const counting = (...args: unknown[]): unknown => {
    calls.times++
    return own(...args)
  }
  Object.assign(of, { [name]: counting })
  t.teardown(() => Object.assign(of, { [name]: own }))
  return calls
}

t.test('once for all channels that are alike', async t => {
  const s = await open(t, { channels: Object.fromEntries(names.map(name => [name, one])) })
  const reads = counted(chat, 'readRequest')
  const writes = counted(messages, 'writeRequest')
  const ask = async (more: object, text: string): Promise<number> => {
    const body = { model: MODEL, messages: [{ role: 'user', content: text }], ...more }
    const asked = s.ask({ path: PATHS.chat, headers: HEADERS, body })
    t.equal(await asked.end(), 'whole')
    return asked.status
  }
  const unfit = () => s.metric('gateway_translations_total', { what: 'request', outcome: 'unfit' })

  t.equal(await ask({ audio: { voice: 'alloy', format: 'wav' } }, 'x'), 400)
  t.same([reads.times, writes.times], [1, 0], 'what cannot be read')
  const many = Array.from({ length: 2000 }, () => ({ role: 'user', content: 'x'.repeat(300) }))
  t.equal(await ask({ audio: { voice: 'alloy', format: 'wav' }, messages: many }, ''), 400)
  t.equal(await unfit(), 1, 'in the other thread, too')
  const sound = [{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }]
  t.equal(await ask({ messages: [{ role: 'user', content: sound }] }, ''), 400)
  t.same([reads.times, writes.times], [2, 1], 'what cannot be written')
  for (const name of names) s.at(name).script = call => call.whole(500, { error: { message: 'no' } })
  t.equal(await ask({}, 'x'), 500)
  t.same([reads.times, writes.times], [3, 2], 'failures that go on')
  t.ok(names.reduce((sum, name) => sum + (s.asked()[name] ?? 0), 0) > 1)
})
