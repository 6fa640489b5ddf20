import t from 'tap'
import { type Ask, type TranslationTarget, plainTarget } from '../../lib/translate/ask.ts'
import { cleaned } from '../../lib/translate/generate/schema.ts'
import { issuerOf, seal } from '../../lib/translate/opaque.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { closedSchema } from '../../lib/translate/schema.ts'
import { seeded } from '../support/random.ts'
import { type Takes, plain, randomAsk } from './support/asks.ts'
import { converse } from './support/converse.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'

const RUNS = 200

/** `seen`: what a request says after it went through the protocol, where that is not the same in other words. */
const PROTOCOLS: Record<string, { protocol: Translated; takes: Takes; target: TranslationTarget }> = {
  messages: {
    protocol: messages,
    takes: { media: ['image', 'document'], thoughts: false, systemTurns: false },
    target: { ...plainTarget('m'), thinking: 'adaptive' },
  },
  chat: {
    protocol: chat,
    takes: { media: ['image', 'document', 'audio'], thoughts: false, systemTurns: true },
    target: { ...plainTarget('m'), topK: true },
  },
  responses: {
    protocol: responses,
    takes: { media: ['image', 'document'], thoughts: true, systemTurns: true },
    target: plainTarget('m'),
  },
  generate: {
    protocol: generate,
    takes: { media: ['image', 'document', 'audio'], thoughts: false, systemTurns: false },
    target: { ...plainTarget('m'), thinking: 'level' },
  },
  converse: {
    protocol: converse,
    takes: { media: ['image', 'document', 'audio'], thoughts: true, systemTurns: false, addresses: false },
    target: { ...plainTarget('us.anthropic.claude-x'), thinking: 'adaptive' },
  },
}

for (const [name, { protocol, takes, target }] of Object.entries(PROTOCOLS)) {
  t.test(`${name}: what is written reads as what it was made of`, async t => {
    const random = seeded(t)
    for (let run = 0; run < RUNS; run++) {
      const ask = randomAsk(random, takes, issuerOf(name, target.model))
      const written = protocol.writeRequest(ask, target)
      const body = Buffer.from(written.body, 'latin1')
      t.doesNotThrow(() => JSON.parse(body.toString()), `run ${run} is JSON`)
      t.equal(protocol.writeRequest(ask, target).body, written.body, `run ${run} is written the same again`)
      const again = protocol.readRequest(body, { model: 'model', stream: ask.stream })
      const expected = plain(ask, written.losses) as Record<string, unknown>
      const got = plain(again, written.losses) as Record<string, unknown>
      if (name === 'messages') asMessages(expected)
      if (name === 'responses') asResponses(expected, written.losses)
      if (name === 'converse') asConverse(expected, got)
      if (name === 'generate') {
        asGenerate(expected, written.losses)
        got['thinking'] &&= { ...(got['thinking'] as object), show: null }
        got['turns'] = joined(got['turns'] as PlainTurn[])
      }
      if (name === 'chat') for (const side of [expected, got]) side['turns'] = asChat(side['turns'] as PlainTurn[])
      if (!t.same(got, expected, `run ${run}`)) return
    }
  })
}

interface PlainTurn {
  role: string
  parts: Record<string, unknown>[]
}

/** In messages there is always a maximum, and objects of answers are closed. */
function asMessages(expected: Record<string, unknown>): void {
  expected['maxOutput'] ??= 32_000
  const format = expected['format'] as { schema?: string }
  if (format.schema !== undefined) format.schema = closedSchema(format.schema).schema
}

/**
 * In responses, tools are strict where nothing is said, a maximum has a least value, and results that are errors say so in
 * their text. State that goes to the upstream it came from has no envelope, by which a reader would know it.
 */
function asResponses(expected: Record<string, unknown>, losses: Ask['losses']): void {
  if (losses.has('max_output')) expected['maxOutput'] = 16
  for (const tool of expected['tools'] as { strict: boolean | null }[]) tool.strict ??= false
  for (const part of (expected['turns'] as PlainTurn[]).flatMap(({ parts }) => parts)) {
    if ('thought' in part) part['value'] = undefined
    if (part['error'] !== true) continue
    part['error'] = false
    const [first] = part['parts'] as Record<string, unknown>[]
    if (first !== undefined) first['text'] = `Error: ${first['text']}`
  }
}

/**
 * In Converse no tool is strict, nothing says that only one may be called or none, documents have plain names that differ, and objects of
 * answers are closed.
 */
function asConverse(expected: Record<string, unknown>, got: Record<string, unknown>): void {
  const hasCalls = JSON.stringify(expected['turns']).includes('{"call":')
  const choice = expected['choice'] as { type: string } | null
  if (choice?.type === 'none' && !hasCalls) expected['tools'] = []
  if (choice?.type === 'none') expected['choice'] = { type: 'unset' }
  expected['parallel'] = got['parallel']
  for (const tool of expected['tools'] as { strict: null }[]) tool.strict = null
  const format = expected['format'] as { schema?: string }
  if (format.schema !== undefined) format.schema = closedSchema(format.schema).schema
  for (const side of [expected, got])
    for (const part of (side['turns'] as PlainTurn[]).flatMap(({ parts }) => parts))
      if ('kind' in part) delete part['name']
}

/** In generate-content, results stand alone in a turn. */
function joined(turns: readonly PlainTurn[]): PlainTurn[] {
  const all: PlainTurn[] = []
  for (const { role, parts } of turns) {
    const last = all.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else all.push({ role, parts: [...parts] })
  }
  return all
}

/** There, schemas have fewer words, pictures at addresses say what they are, and nothing says that only one tool may be called. */
function asGenerate(expected: Record<string, unknown>, losses: Ask['losses']): void {
  if (losses.has('parallel_tool_calls')) expected['parallel'] = null
  for (const tool of expected['tools'] as { strict: boolean | null; schema: string }[]) {
    if (losses.has('strict')) tool.strict = null
    tool.schema = cleaned(tool.schema, 'x')
  }
  const format = expected['format'] as { schema?: string }
  if (format.schema !== undefined) format.schema = cleaned(format.schema, 'x')
  for (const { parts } of expected['turns'] as PlainTurn[])
    for (const part of parts.flatMap(one => [one, ...((one['parts'] as typeof parts | undefined) ?? [])])) {
      if (part['url'] !== undefined) part['mime'] = 'image/png'
      if (losses.has('documents') && part['kind'] === 'document') delete part['name']
    }
}

/** In chat, results are texts, with a word where they are errors, and their pictures stand with the user's own parts. */
function asChat(turns: PlainTurn[]): unknown[] {
  const flat = turns.flatMap(({ role, parts }) => {
    const results = parts.filter(part => 'result' in part)
    const others = parts.filter(part => !('result' in part) && !/^Output of tool call/.test(String(part['text'])))
    const inside = results.flatMap(({ parts }) => (parts as Record<string, unknown>[]).filter(part => 'kind' in part))
    const texts = results.map(({ result, parts, error }) => ({
      result,
      text: (parts as Record<string, unknown>[])
        .filter(part => 'text' in part)
        .map(part => (error === true ? `Error: ${part['text']}` : part['text']))
        .join('\n'),
    }))
    return [...texts, ...[...inside, ...others].map(part => ({ role, ...part }))]
  })
  return flat
}

t.test('an upstream gets its own state back, and nobody else does', async t => {
  const opaque = { issuer: issuerOf('messages', 'm'), of: 'signed', value: '"c2ln"' } as const
  const thinking = { type: 'thinking', thinking: 'hm', signature: JSON.parse(seal(opaque)) }
  const call = { type: 'tool_use', id: 'c', name: 'f', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'c', content: 'x' }
  const body = {
    max_tokens: 5000,
    thinking: { type: 'adaptive' },
    messages: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: [thinking, call] },
      { role: 'user', content: [result] },
    ],
  }
  const ask = messages.readRequest(Buffer.from(JSON.stringify(body)), { model: 'x', stream: true })
  const own = messages.writeRequest(ask, { ...plainTarget('m'), thinking: 'adaptive' })
  t.match(JSON.parse(own.body).messages[1].content[0], { type: 'thinking', thinking: 'hm', signature: 'c2ln' })
  t.match(JSON.parse(own.body).thinking, { type: 'adaptive' })
  const other = messages.writeRequest(ask, { ...plainTarget('other'), thinking: 'adaptive' })
  t.equal(JSON.parse(other.body).messages[1].content[0].type, 'tool_use')
  t.match(
    JSON.parse(other.body).thinking,
    { type: 'disabled' },
    'a round of tools without its thoughts is refused otherwise',
  )
  t.ok(other.losses.has('thinking'))
})
