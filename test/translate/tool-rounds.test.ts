/**
 * An agent calls a tool, gets its result and calls the next one, without a word of the user between. All of these rounds became one
 * turn with all calls, and all results behind it: another conversation, and another beginning of the prompt with each round.
 */
// The bug behind these rows: rounds of tools that became one.
import t from 'tap'
import { plainTarget } from '../../lib/translate/ask.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'

const ROUNDS = ['a', 'b', 'c']
const PROTOCOLS: Record<string, Translated> = { messages, chat, responses, generate }

const FROM: Record<string, object> = {
  messages: {
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'q' },
      ...ROUNDS.flatMap(id => [
        { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: `of ${id}` }] },
      ]),
    ],
  },
  chat: {
    messages: [
      { role: 'user', content: 'q' },
      ...ROUNDS.flatMap(id => [
        { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: id, content: `of ${id}` },
      ]),
    ],
  },
  responses: {
    input: [
      { role: 'user', content: 'q' },
      ...ROUNDS.flatMap(id => [
        { type: 'function_call', call_id: id, name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: id, output: `of ${id}` },
      ]),
    ],
  },
  generate: {
    contents: [
      { role: 'user', parts: [{ text: 'q' }] },
      ...ROUNDS.flatMap(id => [
        { role: 'model', parts: [{ functionCall: { id, name: 'f', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { id, name: 'f', response: { output: `of ${id}` } } }] },
      ]),
    ],
  },
}

for (const [name, from] of Object.entries(PROTOCOLS))
  t.test(`${name}: each round is a turn of its own, and the next request begins like the last`, async t => {
    for (const [other, to] of Object.entries(PROTOCOLS)) {
      if (to === from) continue
      const head = { model: 'm', stream: true }
      const written = (body: object): string =>
        to.writeRequest(from.readRequest(Buffer.from(JSON.stringify(body)), head), plainTarget('m')).body
      const text = written(FROM[name] as object)
      // each call and its result, one behind the other
      const found = [...text.matchAll(/"of (\w)"|"(?:id|call_id)":"(\w)"/g)].map(([, result, call]) => result ?? call)
      const order = found.filter((id, n) => id !== found[n - 1]).join('')
      t.equal(order, 'abc', other)
      const [[member, turns]] = Object.entries(FROM[name] as object).filter(([, value]) => Array.isArray(value)) as [
        [string, unknown[]],
      ]
      const before = written({ ...FROM[name], [member]: turns.slice(0, -2) })
      const same = before.lastIndexOf('of b')
      t.equal(text.slice(0, same), before.slice(0, same), `${other}: what came before stays as it was`)
    }
  })
