/** Upstreams that speak generate-content as they like, and what clients of the other protocols are told of them. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { chat } from '../../../lib/translate/chat/chat.ts'
import type { AnswerEvent } from '../../../lib/translate/events.ts'
import { generate } from '../../../lib/translate/generate/generate.ts'
import { messages } from '../../../lib/translate/messages/messages.ts'
import type { Translated } from '../../../lib/translate/protocol.ts'
import { type Random, seeded } from '../../support/random.ts'
import { come, cuts, readAll, tell, usageOf, writerOptions } from '../support/answers.ts'

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\r\n\r\n`
const said = (parts: object[], more: object = {}): object => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
})
const chunk = (...parts: object[]): string => event(said(parts))
const stop = (finishReason: string, ...parts: object[]): string => event(said(parts, { finishReason }))
const call = (name: string, args?: unknown, more: object = {}): object => ({ functionCall: { name, args, ...more } })
const STOP = stop('STOP')

interface Seen {
  kind: string
  text: string
  call?: { id: string; name: string }
}

const seen = (answer: string, events = true): { blocks: string[]; stop: string } => {
  const { blocks, stop } = come(readAll(generate, [Buffer.from(answer)], { events }))
  const told = (blocks as Seen[]).map(({ kind, call, text }) =>
    kind === 'call' ? `${call?.id} ${call?.name} ${text}` : `${kind}: ${text}`,
  )
  return { blocks: told, stop }
}

const TABLE: [what: string, stream: string, blocks: string[], stop: string][] = [
  ['texts', chunk({ text: 'Hi ' }) + chunk({ text: 'you' }) + STOP, ['text: Hi you'], 'end'],
  [
    'thoughts and calls, with and without ids',
    chunk({ text: 'hm', thought: true }) + chunk(call('f', { x: 1 }, { id: 'a' }), call('f', {})) + STOP,
    ['thought: hm', 'a f {"x":1}', 'call_01abc_2 f {}'],
    'tool',
  ],
  ['arguments as text', chunk(call('f', '{"x":1}')) + STOP, ['call_01abc_0 f {"x":1}'], 'tool'],
  ['no arguments', chunk(call('f')) + STOP, ['call_01abc_0 f {}'], 'tool'],
  ['everything in one chunk', stop('STOP', { text: 'Hi' }), ['text: Hi'], 'end'],
  ['usage behind the end', STOP + event({ usageMetadata: { promptTokenCount: 1 } }), [], 'end'],
  ['the end said early, and text behind it', chunk({ text: 'a' }) + STOP + chunk({ text: 'b' }), ['text: ab'], 'end'],
  ['another candidate', event({ candidates: [{ index: 1, content: { parts: [{ text: 'x' }] } }] }) + STOP, [], 'end'],
  ['a maximum', stop('MAX_TOKENS', { text: 'Hi' }), ['text: Hi'], 'length'],
  ['a maximum behind a call', stop('MAX_TOKENS', call('f', {})), ['call_01abc_0 f {}'], 'length'],
  ['it goes on elsewhere', stop('CONTINUATION', { text: 'Hi' }), ['text: Hi'], 'length'],
  ['safety', stop('SAFETY', { text: 'Hi' }), ['text: Hi'], 'refusal'],
  ['no picture', stop('NO_IMAGE'), [], 'refusal'],
  [
    'the prompt is blocked',
    event({ promptFeedback: { blockReason: 'SAFETY' } }),
    ['refusal: The prompt was blocked by the provider.'],
    'refusal',
  ],
  [
    'a call that cannot be read, with a text',
    stop('MALFORMED_FUNCTION_CALL', { text: 'Hi' }),
    ['text: Hi'],
    'malformed',
  ],
  [
    'a call that cannot be read, and nothing else',
    chunk({ text: 'hm', thought: true }) + stop('MALFORMED_FUNCTION_CALL'),
    ['thought: hm'],
    'failed: the upstream stopped: MALFORMED_FUNCTION_CALL',
  ],
  ['an unknown reason, with a text', stop('NEW', { text: 'Hi' }), ['text: Hi'], 'other'],
  ['an unknown reason, with nothing', stop('NEW'), [], 'failed: the upstream stopped for a reason that is not known'],
  ['no end', chunk({ text: 'Hi' }), ['text: Hi'], 'failed: the answer ended before its end'],
  ['nothing', '', [], 'failed: the answer ended before its end'],
  ['an error', chunk({ text: 'Hi' }) + event({ error: { code: 503, message: 'down' } }), ['text: Hi'], 'failed: down'],
  ['errors in a list', event([{ error: { code: 503, message: 'down' } }]), [], 'failed: down'],
  ['a call without a name', chunk(call('', {})) + STOP, [], 'failed: a call of the answer has no name'],
  ['no JSON', 'data: hello\n\n', [], 'failed: an event of the answer is not JSON'],
]
for (const [what, stream, blocks, reason] of TABLE)
  t.test(what, async t => {
    const told = what === 'errors in a list' ? seen(stream.slice(6).trim(), false) : seen(stream)
    t.same(told, { blocks, stop: reason })
  })

t.test('one document, and all events as one array', async t => {
  t.same(seen(JSON.stringify(said([{ text: 'Hi' }], { finishReason: 'STOP' })), false), {
    blocks: ['text: Hi'],
    stop: 'end',
  })
  const list = [said([{ text: 'Hi ' }]), said([{ text: 'you' }], { finishReason: 'STOP' })]
  t.same(seen(JSON.stringify(list, null, 2), false), { blocks: ['text: Hi you'], stop: 'end' })
  t.match(seen(JSON.stringify(list.slice(0, 1)), false), { stop: 'failed: the answer ended before its end' })
  t.match(seen('{}', false), { stop: 'failed: the answer has no candidates' })
})

t.test('state stands where it was', async t => {
  const stream =
    chunk({ text: 'hm', thought: true, thoughtSignature: 'YQ==' }) +
    chunk({ text: 'Hi' }) +
    chunk({ text: '', thoughtSignature: 'Yg==' }) +
    chunk({ ...call('f', {}), thoughtSignature: 'Yw==' }) +
    STOP
  const events = readAll(generate, [Buffer.from(stream)])
  const seals = events.filter(one => one.type === 'seal').map(({ index, opaque }) => [index, opaque.of, opaque.value])
  t.same(seals, [
    [0, 'signed', '"YQ=="'],
    [1, 'text', '"Yg=="'],
  ])
  const opened = events.find(one => one.type === 'open' && one.kind === 'call')
  t.match(opened, { call: { opaque: { of: 'call', value: '"Yw=="' } } })
  // the same through a client of the protocol itself
  const again = Buffer.from(tell(generate.answerWriter(writerOptions()), events), 'latin1').toString()
  t.equal(again.match(/"thoughtSignature":"Z3cxL/g)?.length, 3)
})

const PARTS: ((random: Random) => unknown)[] = [
  () => ({ text: 'a' }),
  () => ({ text: 'h', thought: true, thoughtSignature: 'YQ==' }),
  () => ({ text: '', thoughtSignature: 'YQ==' }),
  random => call(random.pick(['f', 'g']), random.pick([{}, '{"x":1}', { x: [1] }, undefined, '{"x'])),
  () => ({ inlineData: { mimeType: 'image/png', data: 'aGk=' } }),
  () => ({ executableCode: { code: 'x' } }),
  () => null,
  () => 7,
  () => ({}),
]
const REASONS = [undefined, undefined, 'STOP', 'MAX_TOKENS', 'SAFETY', 'OTHER', 'MALFORMED_FUNCTION_CALL', 9]

const randomStream = (random: Random): string =>
  Array.from({ length: random.int(0, 6) }, () => {
    const parts = Array.from({ length: random.int(0, 3) }, () => random.pick(PARTS)(random))
    return event(
      random.next() < 0.9
        ? said(parts as object[], { finishReason: random.pick(REASONS) })
        : random.pick([{}, 1, [], { candidates: 1 }]),
    )
  }).join('')

const answering = (bytes: Buffer) => async (): Promise<Response> =>
  new Response(new Uint8Array(bytes), { status: 200, headers: { 'content-type': 'text/event-stream' } })

t.test('whatever comes, clients of other protocols get an answer or an error', async t => {
  const random = seeded(t)
  for (let run = 0; run < 150; run++) {
    const stream = Buffer.from(randomStream(random))
    const events = readAll(generate, [stream])
    t.same(come(readAll(generate, cuts(random, stream))), come(events), `run ${run}, cut`)
    t.match(events.at(-1)?.type, /^(?:end|fail)$/)
    for (const protocol of [messages, chat]) await client(protocol, events)
  }
})

async function client(protocol: Translated, events: readonly AnswerEvent[]): Promise<void> {
  const writer = protocol.answerWriter(writerOptions())
  const text = tell(writer, events)
  if (events.at(-1)?.type !== 'end' || writer.failure !== null) return
  const fetch = answering(Buffer.from(text + writer.finish(usageOf()), 'latin1'))
  const messages = [{ role: 'user' as const, content: 'x' }]
  if (protocol === chat)
    await new OpenAI({ apiKey: 'k', fetch }).chat.completions.stream({ model: 'm', messages }).finalChatCompletion()
  else
    await new Anthropic({ apiKey: 'k', fetch }).messages.stream({ model: 'm', max_tokens: 9, messages }).finalMessage()
}
