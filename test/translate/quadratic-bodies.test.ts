/**
 * Bodies of a few hundred KiB took seconds or overflowed the stack: many envelopes in a row, schemas in which much refers to much,
 * ids that are alike, and lists that were handed over as arguments.
 */
// The bug behind these rows: bodies that held up translation.
import t from 'tap'
import { cleaned } from '../../lib/translate/generate/schema.ts'
import { envelopeCuts } from '../../lib/translate/opaque.ts'
import { plainTarget } from '../../lib/translate/ask.ts'
import { type Translated, translatedRow, translatedUpstream } from '../../lib/translate/table.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'

const MANY = 130_000
const FEWER = 25_000
const list = <T>(length: number, make: (n: number) => T): T[] => Array.from({ length }, (_, n) => make(n))

const read = (from: Translated, body: object) =>
  from.readRequest(Buffer.from(JSON.stringify(body)), { model: 'm', stream: true })
const through = (from: Translated, to: Pick<Translated, 'writeRequest'>, body: object): string =>
  to.writeRequest(read(from, body), plainTarget('m')).body

t.test('many envelopes in a row', async t => {
  const content = list(MANY / 4, () => ({ signature: 'gw1.abcdefghijkl.s..x' }))
  const body = JSON.stringify({ messages: [{ content: [...content, { text: 'y' }] }] })
  const cuts = envelopeCuts(body, translatedRow('messages')?.state ?? [], { model: 'm', thinking: 'effort' })
  t.equal(cuts.length, MANY / 4)
  t.equal(cuts.at(-1)?.span.end, body.indexOf('{"text"'))
})

t.test('many parts', async t => {
  const text = { type: 'text', text: 'a' }
  const few = list(MANY / 2, () => text)
  const system = list(MANY, () => ({ text: 'a' }))
  const turns = [{ role: 'user', content: 'q' }]
  t.equal(read(messages, { max_tokens: 9, system, messages: turns }).system.length, MANY)
  t.equal(read(chat, { messages: [{ role: 'system', content: few }, ...turns] }).system.length, MANY / 2)
  const result = { type: 'tool_result', tool_use_id: 'nobody', content: list(MANY, () => ({ type: 'text' })) }
  t.doesNotThrow(() => through(messages, generate, { max_tokens: 9, messages: [{ role: 'user', content: [result] }] }))
  const turn = { role: 'user', content: few }
  t.doesNotThrow(() => through(chat, messages, { messages: [...turns, { role: 'system', content: 'x' }, turn] }))
})

t.test('many results, many pieces of one thought, and an address with many endings', async t => {
  const results = list(50_000, n => ({ role: 'tool', tool_call_id: `c${n}`, content: 'x' }))
  const turns = [{ role: 'user', content: 'q' }, ...results]
  t.equal(read(chat, { messages: turns }).turns.at(-1)?.parts.length, 50_000)
  const parts = list(80_000, () => ({ text: 'hm', thought: true }))
  const contents = [{ parts: [{ text: 'q' }] }, { role: 'model', parts }, { parts: [{ text: 'q' }] }]
  t.equal(read(generate, { contents }).turns[1]?.parts.length, 1)
  const url = `https://a.example/${'.png?'.repeat(1_000_000)}"`
  const content = [{ type: 'image_url', image_url: { url } }]
  t.match(through(chat, generate, { messages: [{ role: 'user', content }] }), '"mimeType":"image/png"')
})

t.test('ids that are alike', async t => {
  const call = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
  const sent = (ids: string[]): string[] => {
    const talk = [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: ids.map(call) },
    ]
    const body = through(messages, chat, { max_tokens: 9, messages: [...talk, { role: 'user', content: 'q' }] })
    return JSON.parse(body).messages[1].tool_calls.map(({ id }: { id: string }) => id)
  }
  t.same(sent(['a', 'a', 'a_2', 'a']), ['a', 'a_2', 'a_2_2', 'a_3'], 'each once')
  const numbered = list(FEWER, n => `a_${n + 2}`)
  t.equal(new Set(sent(['a', ...numbered, 'a', 'a'])).size, FEWER + 3)
  const long = list(FEWER, n => 'x'.repeat(50) + n)
  t.equal(new Set(sent([...long, ...long])).size, 2 * FEWER)
})

t.test('names of documents that are alike', async t => {
  const document = (title?: string) => ({ type: 'document', title, source: { type: 'text', data: 'a' } })
  const sent = (titles: (string | undefined)[]): string[] => {
    const content = [{ type: 'text', text: 'q' }, ...titles.map(document)]
    const body = through(messages, translatedUpstream('converse'), {
      max_tokens: 9,
      messages: [{ role: 'user', content }],
    })
    const blocks: { document?: { name: string } }[] = JSON.parse(body).messages[0].content
    return blocks.flatMap(block => block.document?.name ?? [])
  }
  t.same(sent(['a', 'a', 'a (2)', 'a']), ['a', 'a (2)', 'a (2) (2)', 'a (3)'], 'each once')
  t.equal(new Set(sent(list(FEWER, () => undefined))).size, FEWER)
  const numbered = list(FEWER, n => `document (${n + 2})`)
  t.equal(new Set(sent([...numbered, undefined, undefined, undefined])).size, FEWER + 3)
  const long = list(FEWER / 2, n => 'x'.repeat(190) + n)
  const names = sent([...long, ...long])
  t.equal(new Set(names).size, FEWER)
  t.ok(names.every(name => name.length <= 200))
})

t.test('many parts around a turn of which nothing is left', async t => {
  const contents = [
    { parts: [{ text: 'q' }] },
    { role: 'model', parts: [{ text: 'hm', thought: true }] },
    { parts: list(MANY, () => ({ text: 'a' })) },
  ]
  t.doesNotThrow(() => through(generate, translatedUpstream('converse'), { contents }))
})

t.test('schemas in which much refers to much', async t => {
  const names = list(20_000, n => `n${n}`)
  const all = <T>(make: (name: string) => T): Record<string, T> =>
    Object.fromEntries(names.map(one => [one, make(one)]))
  const empty = all(() => ({}))
  const schemas: Record<string, object> = {
    'many definitions': { properties: all(one => ({ $ref: `#/$defs/${one}` })), $defs: empty },
    'many properties': {
      properties: { all: { properties: empty }, ...all(one => ({ $ref: `#/properties/all/properties/${one}` })) },
    },
    'one with many parts': { properties: all(() => ({ $ref: '#/x' })), x: { allOf: list(100_000, () => ({})) } },
    'one with many names': { properties: all(() => ({ $ref: '#/x' })), x: { required: list(100_000, () => 1) } },
    'one with many values': { properties: all(() => ({ $ref: '#/x' })), x: { enum: list(100_000, () => null) } },
    'one with many types': { properties: all(() => ({ $ref: '#/x' })), x: { type: list(100_000, () => 'a') } },
    'one with many members, that refers to itself': {
      properties: all(() => ({ $ref: '#/$defs/x', type: 'object' })),
      $defs: { x: { $ref: '#/$defs/x', properties: empty } },
    },
  }
  for (const [what, schema] of Object.entries(schemas)) {
    const clean = (): string => {
      try {
        return cleaned(JSON.stringify({ type: 'object', ...schema }), 'tools.f')
      } catch (error) {
        return (error as Error).message
      }
    }
    t.match(clean(), /^\{"type":"object"|^tools\.f cannot be translated$/, what)
  }
})

t.test('a hundred thousand tools', async t => {
  const tools = list(50_000, n => ({ type: 'function', name: `tool.${n}` }))
  t.doesNotThrow(() => through(responses, messages, { input: 'q', tools, tool_choice: 'required' }))
  const functionDeclarations = list(100_000, n => ({ name: `f${n}` }))
  const mode = { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f7', 'f99999'] } }
  const contents = [{ parts: [{ text: 'q' }] }]
  t.doesNotThrow(() => through(generate, responses, { contents, tools: [{ functionDeclarations }], toolConfig: mode }))
})
