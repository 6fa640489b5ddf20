/** A conversation that ends with the assistant (prefill): the answer goes on where its text ends, or the request is refused by name. */
import t from 'tap'
import type { Channel, Protocol } from '../../lib/terms/records.ts'
import type { TranslationTarget } from '../../lib/translate/ask.ts'
import type { KindName } from '../../lib/protocols/words/kinds.ts'
import { KINDS } from '../../lib/protocols/words/kinds.ts'
import { targetOf } from '../../lib/world/table.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'
import { bodyOf, refuses, via } from './support/rows.ts'

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
