/** An upstream's answer in one protocol as a client of another one sees it. */
import { decode } from '../../lib/protocols/json/text.ts'
import t from 'tap'
import { protocolRow } from '../../lib/protocols/table.ts'
import type { FunctionTool, Tool } from '../../lib/translate/ask.ts'
import { TextOfInput } from '../../lib/translate/freeform.ts'
import { quote } from '../../lib/translate/json/literal.ts'
import { ToolNames } from '../../lib/translate/names.ts'
import { issuerOf, unseal } from '../../lib/translate/opaque.ts'
import { seeded, text } from '../support/random.ts'
import {
  type Loose,
  cuts,
  pieces,
  readAll,
  readerOptions,
  tell,
  usageOf,
  writeAll,
  writerOptions,
} from './support/answers.ts'
import { oddLiteral } from './support/asks.ts'
import { chat, messages } from './support/protocols.ts'

const event = (data: object): string => `event: ${(data as { type: string }).type}\ndata: ${JSON.stringify(data)}\n\n`
const delta = (index: number, delta: object): string => event({ type: 'content_block_delta', index, delta })
const start = (index: number, content_block: object): string =>
  event({ type: 'content_block_start', index, content_block })
const stop = (index: number): string => event({ type: 'content_block_stop', index })
const BEGIN = event({ type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 3 } } })
const END = (stop_reason: string): string =>
  event({
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } },
  }) + event({ type: 'message_stop' })

const THOUGHT =
  start(0, { type: 'thinking', thinking: '', signature: '' }) +
  delta(0, { type: 'thinking_delta', thinking: 'hm é' }) +
  delta(0, { type: 'signature_delta', signature: 'c2ln' }) +
  stop(0)

interface Chunk {
  choices: { delta: Loose; finish_reason: string | null }[]
  usage?: Loose | null
}

const chunksOf = (bytes: Buffer): Chunk[] =>
  bytes
    .toString()
    .split('\n\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice(6)))

t.test('messages to chat: thoughts, their state, texts, calls, usage', async t => {
  const upstream =
    BEGIN +
    THOUGHT +
    start(1, { type: 'text', text: '' }) +
    delta(1, { type: 'text_delta', text: 'Hi "you"' }) +
    stop(1) +
    start(2, { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }) +
    delta(2, { type: 'input_json_delta', partial_json: '' }) +
    delta(2, { type: 'input_json_delta', partial_json: '{"x":"é"}' }) +
    stop(2) +
    start(3, { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} }) +
    stop(3) +
    END('tool_use')
  const issuer = issuerOf('messages', 'm')
  const bytes = writeAll(
    chat,
    readAll(messages, [Buffer.from(upstream)], { issuer }),
    usageOf({ cache_read: 2, output: 9 }),
  )
  const chunks = chunksOf(bytes)
  const deltas = chunks.map(({ choices }) => choices[0]?.delta ?? {})
  const joined = (member: string): string => deltas.map(one => one[member] ?? '').join('')
  t.equal(joined('reasoning_content'), 'hm é')
  t.equal(joined('content'), 'Hi "you"')
  const state = deltas.find(one => 'reasoning_details' in one)?.['reasoning_details'][0].data
  t.same(unseal(JSON.stringify(state)), { issuer, of: 'signed', value: '"c2ln"' })
  const calls = deltas.flatMap(one => one['tool_calls'] ?? [])
  t.match(calls[0], { index: 0, id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '' } })
  t.same(
    calls
      .filter(({ index }) => index === 0)
      .map(one => one.function.arguments)
      .join(''),
    '{"x":"é"}',
  )
  t.same(
    calls
      .filter(({ index }) => index === 1)
      .map(one => one.function.arguments)
      .join(''),
    '{}',
  )
  t.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'tool_calls')
  t.match(chunks.at(-1), {
    choices: [],
    usage: {
      prompt_tokens: 13,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 4 },
    },
  })
})

t.test('chat to messages: each block is closed before the next, and a whole call waits for nobody', async t => {
  const writer = messages.answerWriter(writerOptions())
  const reader = chat.answerReader(readerOptions())
  const push = (delta: object, finish_reason: string | null = null): string =>
    tell(
      writer,
      reader.push(Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`)),
    )
  const call = (index: number, args: string, more: object = {}): object => ({
    index,
    ...more,
    function: { arguments: args, ...more },
  })
  t.match(push({ role: 'assistant', content: '' }), /message_start[\s\S]*"input_tokens":7/)
  t.match(push({ reasoning_content: 'hm' }), /"type":"thinking"[\s\S]*thinking_delta/)
  t.match(
    push({ content: 'Hi' }),
    /signature_delta","signature":"gw1\.abcdefghijkl\.s\.\.[\s\S]*content_block_stop[\s\S]*"index":1[\s\S]*text_delta/,
  )
  t.match(
    push({ tool_calls: [call(0, '', { id: 'a', name: 'f' })] }),
    /content_block_stop","index":1[\s\S]*"index":2,"content_block":{"type":"tool_use"/,
  )
  t.match(push({ tool_calls: [call(1, '{"y":', { id: 'b', name: 'g' })] }), /^$/, 'the second call waits')
  t.ok(writer.held > 0)
  t.match(push({ tool_calls: [call(0, '{"x":1')] }), /"index":2[\s\S]*input_json_delta/)
  t.match(
    push({ tool_calls: [call(0, '}')] }),
    /input_json_delta[\s\S]*content_block_stop","index":2[\s\S]*"index":3[\s\S]*partial_json":"{\\"y\\":"/,
    'the first is whole, and the second begins',
  )
  t.equal(writer.held, 0)
  t.match(push({ tool_calls: [call(1, '2}')] }), /content_block_stop","index":3/)
  t.equal(push({}, 'tool_calls'), '')
  t.equal(tell(writer, reader.push(Buffer.from('data: [DONE]\n\n'))), '', 'the end is held back')
  t.match(
    writer.finish(usageOf()),
    /^event: message_delta\ndata: .*"stop_reason":"tool_use".*"input_tokens":11.*\n\nevent: message_stop\n/,
  )
  t.match(writer.keepAlive, /^event: ping\n/)
  t.equal(messages.answerWriter(writerOptions()).keepAlive, '\n', 'before the message begins there is nothing to ping')
})

t.test('state that comes without a thought is a hidden one', async t => {
  const upstream = BEGIN + start(0, { type: 'redacted_thinking', data: 'ZW5j' }) + stop(0) + END('end_turn')
  const answer = readAll(messages, [Buffer.from(upstream)])
  t.match(
    chunksOf(writeAll(chat, answer, usageOf()))[1]?.choices[0]?.delta['reasoning_details'][0].data,
    /^gw1\.\w+\.h\.\.ZW5j$/,
  )
  const document = JSON.parse(writeAll(messages, answer, usageOf(), { events: false }).toString())
  t.match(document.content, [{ type: 'redacted_thinking', data: /^gw1\./ }])
})

t.test('an upstream that breaks off has no end', async t => {
  const whole = BEGIN + THOUGHT + END('end_turn')
  for (let length = 0; length < whole.length - 2; length += 7) {
    const events = readAll(messages, [Buffer.from(whole.slice(0, length))])
    t.equal(events.at(-1)?.type, 'fail')
    t.notOk(events.some(({ type }) => type === 'stop'))
  }
  const error = event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
  t.match(readAll(messages, [Buffer.from(BEGIN + error)]).at(-1), {
    failure: { kind: 'overloaded', status: 529, message: 'Overloaded' },
  })
})

t.test('documents of one protocol are documents of the other', async t => {
  const upstream = {
    id: 'c',
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          content: 'Hi',
          reasoning_content: 'hm',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x": 1.0}' } }],
        },
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  }
  const answer = readAll(chat, [Buffer.from(JSON.stringify(upstream))], { events: false })
  const bytes = writeAll(messages, answer, usageOf({ cache_write_1h: 4, cache_write_5m: 2 }), { events: false })
  t.match(bytes.toString(), /"input":\{"x": 1\.0\}/)
  const document = JSON.parse(bytes.toString())
  t.match(document, {
    id: 'msg_01abc',
    type: 'message',
    role: 'assistant',
    model: 'the-model',
    content: [
      { type: 'thinking', thinking: 'hm', signature: /^gw1\./ },
      { type: 'text', text: 'Hi' },
      { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: {
      input_tokens: 11,
      cache_creation_input_tokens: 6,
      cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 4 },
    },
  })
  const streamed = writeAll(chat, readAll(messages, [bytes], { events: false }), usageOf())
  t.match(streamed.toString(), /data: \[DONE\]\n\n$/, 'a document for a client that wants a stream')
  t.match(readAll(chat, [Buffer.from('{"error":{"message":"no"}}')], { events: false }), [{ type: 'fail' }])
  t.match(
    readAll(messages, [Buffer.from('{"type":"error","error":{"type":"api_error","message":"no"}}')], { events: false }),
    [{ type: 'fail', failure: { message: 'no' } }],
  )
  t.match(readAll(messages, [Buffer.from('<html>')], { events: false }), [{ type: 'fail' }])
})

t.test('the text of a tool that takes text, however its object is cut', async t => {
  const random = seeded(t)
  const tool: Tool = { type: 'freeform', name: 'patch', namespace: 'ns', description: null, grammar: null }
  const names = new ToolNames([tool])
  t.equal(names.to('patch', 'ns'), 'ns__patch')
  t.same(names.renamed.get('ns__patch'), { name: 'patch', namespace: 'ns', freeform: true })
  for (let run = 0; run < 500; run++) {
    const said = oddLiteral(random, text(random))
    const object = `{"input":${said}}`
    const taken = new TextOfInput()
    const told =
      pieces(random, quote(object))
        .map(piece => taken.feed(piece).slice(1, -1))
        .join('') + taken.end().slice(1, -1)
    if (!t.equal(decode(`"${told}"`), decode(said), object)) return
  }
  for (const [args, expected] of [
    ['raw text', 'raw text'],
    ['{}', ''],
    ['{"other":1}', '{"other":1}'],
    ['{"input":"a\nb"}', 'a\nb'],
    ['{"input":"cut off', 'cut off'],
  ] as const) {
    const taken = new TextOfInput()
    const told = taken.feed(quote(args)).slice(1, -1) + taken.end().slice(1, -1)
    t.equal(decode(`"${told}"`), expected, args)
  }
  const stream =
    BEGIN +
    start(0, { type: 'tool_use', id: 'a', name: 'ns__patch', input: {} }) +
    delta(0, { type: 'input_json_delta', partial_json: '{"input": "*** é' }) +
    delta(0, { type: 'input_json_delta', partial_json: '\\n"}' }) +
    stop(0) +
    END('tool_use')
  const chunks = chunksOf(
    writeAll(chat, readAll(messages, cuts(random, Buffer.from(stream)), { renamed: names.renamed }), usageOf()),
  )
  const calls = chunks.flatMap(({ choices }) => choices[0]?.delta['tool_calls'] ?? [])
  t.match(calls[0], { type: 'custom', custom: { name: 'patch', input: '' } })
  t.equal(calls.map(call => call.custom.input).join(''), '*** é\n')
})

t.test('two tools of different namespaces have different names', async t => {
  const tool = (namespace: string | undefined, name: string): FunctionTool => ({
    type: 'function',
    name,
    description: null,
    schema: null,
    strict: null,
    ...(namespace === undefined ? {} : { namespace }),
  })
  const tools = [
    tool('a', 'b__c'),
    tool('a__b', 'c'),
    tool(undefined, 'x'.repeat(80)),
    tool(undefined, `${'x'.repeat(80)}y`),
  ]
  const names = new ToolNames(tools)
  const upstream = tools.map(({ name, namespace }) => names.to(name, namespace))
  t.equal(new Set(upstream).size, tools.length)
  for (const [at, { name, namespace }] of tools.entries())
    t.match(
      names.renamed.get(upstream[at] as string) ?? { name: upstream[at] },
      namespace === undefined ? { name } : { name, namespace },
    )
})

t.test('what a writer counts is what the meter of its protocol counts', async t => {
  const random = seeded(t)
  for (let run = 0; run < 100; run++) {
    const said = Array.from({ length: 20 }, () => oddLiteral(random, `x${text(random)}`))
    const writer = chat.answerWriter(writerOptions())
    const events = [
      { type: 'begin', id: '', model: '' } as const,
      { type: 'open', index: 0, kind: 'text' } as const,
      ...said.map(text => ({ type: 'delta', index: 0, text }) as const),
    ]
    const bytes = Buffer.from(tell(writer, events), 'latin1')

    const meter = protocolRow('chat').meter({ events: true, lengthStop: false, cacheTtl: '5m' })
    meter.feed(bytes, bytes.toString('latin1'))
    t.equal(writer.counted, meter.counted, `run ${run}`)
  }
})
