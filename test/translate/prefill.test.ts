/** A conversation that ends with the assistant (prefill): the answer goes on where its text ends, or the request is refused by name. */
import t from 'tap'
import type { Protocol } from '../../lib/protocols/names.ts'
import type { Channel } from '../../lib/terms/records.ts'
import type { TranslationTarget } from '../../lib/translate/ask.ts'
import type { KindName } from '../../lib/protocols/words/kinds.ts'
import { KINDS } from '../../lib/protocols/words/kinds.ts'
import { writeConverseRequest } from '../../lib/translate/converse/request-writer.ts'
import { targetOf } from '../../lib/world/table.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'
import { bodyOf, refuses, via } from './support/rows.ts'

const HEAD = { model: 'm', stream: false }
const BEGUN = '{"answer": '
const MESSAGES = {
  max_tokens: 9,
  messages: [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: BEGUN },
  ],
}
const CONTENTS = {
  contents: [
    { role: 'user', parts: [{ text: 'q' }] },
    { role: 'model', parts: [{ text: BEGUN }] },
  ],
}
const marked = (mark: string) => ({
  messages: [MESSAGES.messages[0], { role: 'assistant', content: BEGUN, [mark]: true }],
})
const PLAIN: Partial<TranslationTarget> = { prefill: 'plain' }

t.test('a target that goes on is told so in its way', async t => {
  const last = (body: ReturnType<typeof bodyOf>) => body['messages'].at(-1)
  const turn = { role: 'assistant', content: BEGUN }
  for (const [from, body] of [
    [messages, MESSAGES],
    [generate, CONTENTS],
  ] as const) {
    t.same(last(bodyOf(via(from, chat, body, { prefill: 'prefix' }))), { ...turn, prefix: true })
    t.same(last(bodyOf(via(from, chat, body, { prefill: 'partial' }))), { ...turn, partial: true })
    t.same(last(bodyOf(via(from, chat, body, PLAIN))), turn)
  }
  for (const [from, body] of [
    [generate, CONTENTS],
    [chat, marked('prefix')],
    [chat, marked('partial')],
  ] as const) {
    const { role, content } = last(bodyOf(via(from, messages, body, PLAIN)))
    t.same(
      [role, content],
      ['assistant', [{ type: 'text', text: BEGUN.trimEnd() }]],
      'messages refuses space at the end',
    )
  }
})

t.test('one that would begin anew is not asked', async t => {
  for (const to of [chat, responses, generate]) refuses(t, messages, to, MESSAGES, 'messages')
  for (const to of [chat, responses]) refuses(t, generate, to, CONTENTS, 'contents')
  for (const to of [responses, generate]) refuses(t, chat, to, marked('prefix'), 'messages')
})

t.test('a call without its result is no beginning of an answer', async t => {
  const call = { type: 'tool_use', id: 'a', name: 'f', input: {} }
  const body = { ...MESSAGES, messages: [MESSAGES.messages[0], { role: 'assistant', content: [call] }] }
  t.throws(() => via(messages, chat, body, PLAIN), { name: 'Error', field: 'messages' })
  const model = { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] }
  t.throws(() => via(generate, chat, { contents: [CONTENTS.contents[0], model] }, PLAIN), {
    name: 'Error',
    field: 'contents',
  })
})

t.test('chat without a mark is asked everywhere as its own upstreams are', async t => {
  for (const to of [messages, responses, generate])
    t.match(via(chat, to, { messages: MESSAGES.messages }).body, 'answer')
})

t.test('Converse is asked where the model goes on', async t => {
  const model = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'
  const channel = { kind: 'bedrock', cacheMarks: 'asked', finish: 'strict' } as unknown as Channel
  const at = (name: string) => targetOf(channel, undefined, name, 'converse')
  for (const [from, body] of [
    [messages, MESSAGES],
    [generate, CONTENTS],
    [chat, marked('prefix')],
  ] as const) {
    const { body: written } = writeConverseRequest(from.readRequest(Buffer.from(JSON.stringify(body)), HEAD), at(model))
    t.same(JSON.parse(written).messages.at(-1), { role: 'assistant', content: [{ text: BEGUN.trimEnd() }] })
    const newer = () =>
      writeConverseRequest(
        from.readRequest(Buffer.from(JSON.stringify(body)), HEAD),
        at(`${model}`.replace('4-5', '4-6')),
      )
    t.throws(newer, { name: 'Error', field: from === generate ? 'contents' : 'messages' })
  }
  const goOn = [
    'anthropic.claude-v2:1',
    'anthropic.claude-instant-v1',
    'anthropic.claude-3-haiku-20240307-v1:0',
    'us.anthropic.claude-3-7-sonnet-20250219-v1:0',
    'anthropic.claude-opus-4-20250514-v1:0',
    'global.anthropic.claude-haiku-4-5-20251001-v1:0',
    'arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-1-20250805-v1:0',
  ]
  const not = [
    'anthropic.claude-opus-4-6-v1',
    'eu.anthropic.claude-sonnet-4-6',
    'anthropic.claude-opus-5',
    'anthropic.claude-sonnet-4-50',
    'amazon.nova-lite-v1:0',
    'meta.llama3-70b-instruct-v1:0',
    'claude-3-haiku',
  ]
  for (const name of goOn) t.equal(at(name).prefill, 'plain', name)
  for (const name of not) t.equal(at(name).prefill, null, name)
})

t.test('who goes on', async t => {
  const channel = (kind: KindName | null) => ({ kind, cacheMarks: 'asked', finish: 'strict' }) as unknown as Channel
  const goesOn = (kind: KindName | null, protocol: Protocol) =>
    targetOf(channel(kind), undefined, 'm', protocol).prefill
  t.equal(goesOn(null, 'messages'), 'plain')
  for (const protocol of ['chat', 'responses', 'generate'] as const) t.equal(goesOn(null, protocol), null, protocol)
  const kinds = (Object.keys(KINDS) as KindName[]).flatMap(kind => {
    const how = goesOn(kind, 'chat')
    return how === null ? [] : [`${kind} ${how}`]
  })
  t.same(kinds, ['dashscope partial', 'mistral prefix', 'moonshot partial', 'openrouter plain'])
})
