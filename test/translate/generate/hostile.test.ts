import t from 'tap'
import { come, type Loose, readAll, tell, usageOf, writerOptions } from '../support/answers.ts'
import { generate } from '../support/protocols.ts'

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
    'failed: the upstream stopped: MALFORMED_FUNCTION_CALL',
  ],
  [
    'a call that cannot be read, and nothing else',
    chunk({ text: 'hm', thought: true }) + stop('MALFORMED_FUNCTION_CALL'),
    ['thought: hm'],
    'failed: the upstream stopped: MALFORMED_FUNCTION_CALL',
  ],
  ['an unknown reason, with a text', stop('NEW', { text: 'Hi' }), ['text: Hi'], 'unknown'],
  ['an unknown reason, with nothing', stop('NEW'), [], 'unknown'],
  ['no reason that is known', stop('OTHER'), [], 'failed: the upstream stopped for a reason that is not known'],
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

t.test('a client that wants an array: elements, the length stop, and an end that is none', async t => {
  const part = (name: string): string => chunk({ text: name })
  const written = (stream: string, end: 'finish' | 'stopByLength' | 'breakOff'): string => {
    const writer = generate.answerWriter(writerOptions({ events: false, array: true }))
    const text = tell(writer, readAll(generate, [Buffer.from(stream)]))
    const failure = { kind: 'server', status: 502, message: 'broken off' } as const
    return text + (end === 'breakOff' ? writer.breakOff(failure) : writer[end](usageOf()))
  }
  const reasons = (text: string) => JSON.parse(text).map((one: Loose) => one['candidates'][0].finishReason)
  t.same(reasons(written(part('a') + part('b') + STOP, 'finish')), [undefined, undefined, 'STOP'])
  t.same(reasons(written(part('a') + stop('MAX_TOKENS'), 'finish')), [undefined, 'MAX_TOKENS'])
  t.same(reasons(written(part('a'), 'stopByLength')), [undefined, 'MAX_TOKENS'])
  t.same(reasons(written('', 'stopByLength')), ['MAX_TOKENS'], 'when nothing has been told')
  const broken = written(part('a'), 'breakOff')
  t.match(broken, /^\[\{[^\n]*\},\r\n\{"error":\{"code":502,[^\n]*\}\}$/)
  t.throws(() => JSON.parse(broken))
})
