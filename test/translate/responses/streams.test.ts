/** Answers in the form of responses: what stands in which event, what is repeated, and what comes back. */
import t from 'tap'
import { protocolRow } from '../../../lib/protocols/table.ts'
import type { AnswerEvent } from '../../../lib/translate/events.ts'
import { ToolNames } from '../../../lib/translate/names.ts'
import { envelopeCuts, issuerOf } from '../../../lib/translate/opaque.ts'
import { plainTarget } from '../../../lib/translate/ask.ts'
import { translatedRow } from '../../../lib/translate/table.ts'
import { seeded, text } from '../../support/random.ts'
import { type Loose, readAll, tell, usageOf, writeAll, writerOptions } from '../support/answers.ts'
import { oddLiteral } from '../support/asks.ts'
import { chat, messages, responses } from '../support/protocols.ts'

const head = { model: 'the-model', stream: true }
const ASK = {
  model: 'the-model',
  instructions: 'You are',
  input: [{ type: 'message', role: 'user', content: 'q' }],
  tools: [
    { type: 'custom', name: 'patch', description: 'P', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    { type: 'namespace', name: 'ns', description: 'N', tools: [{ type: 'function', name: 'f', parameters: null }] },
    { type: 'web_search' },
  ],
  parallel_tool_calls: false,
  reasoning: { effort: 'low' },
  text: { verbosity: 'low' },
  metadata: { big: '12345678901234567890' },
  max_output_tokens: 500,
}
const ask = responses.readRequest(Buffer.from(JSON.stringify(ASK)), head)
const { renamed } = new ToolNames(ask.tools)

const anthropic = (data: object): string => `event: ${(data as Loose)['type']}\ndata: ${JSON.stringify(data)}\n\n`
const block = (index: number, content_block: object, ...deltas: object[]): string =>
  anthropic({ type: 'content_block_start', index, content_block }) +
  deltas.map(delta => anthropic({ type: 'content_block_delta', index, delta })).join('') +
  anthropic({ type: 'content_block_stop', index })
const UPSTREAM =
  anthropic({ type: 'message_start', message: { id: 'msg_1', model: 'm', usage: { input_tokens: 3 } } }) +
  block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'hm é' },
    { type: 'signature_delta', signature: 'c2ln' },
  ) +
  block(1, { type: 'text', text: '' }, { type: 'text_delta', text: 'Hi "you"' }) +
  block(
    2,
    { type: 'tool_use', id: 'toolu_1', name: 'patch', input: {} },
    { type: 'input_json_delta', partial_json: '{"input": "*** é' },
    { type: 'input_json_delta', partial_json: '\\n"}' },
  ) +
  block(3, { type: 'tool_use', id: 'toolu_2', name: 'ns__f', input: {} }) +
  anthropic({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } }) +
  anthropic({ type: 'message_stop' })

const eventsOf = (bytes: Buffer): Loose[] =>
  bytes
    .toString()
    .split('\n\n')
    .filter(one => one !== '')
    .map(one => {
      const [name, data] = one.split('\n') as [string, string]
      const parsed = JSON.parse(data.slice('data: '.length))
      t.equal(name, `event: ${parsed.type}`)
      return parsed
    })

const answer = readAll(messages, [Buffer.from(UPSTREAM)], { issuer: issuerOf('messages', 'm'), renamed })

t.test('each event in its place, with one number after the other', async t => {
  const events = eventsOf(writeAll(responses, answer, usageOf({ cache_read: 2, output: 9 }), { ask }))
  t.same(
    events.map(({ type }) => type.slice('response.'.length)),
    [
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ],
  )
  t.same(
    events.map(one => one['sequence_number']),
    events.map((_, at) => at),
  )
  const { response } = events.at(-1) as Loose
  t.match(response.output, [
    { id: 'rs_01abc_0', type: 'reasoning', summary: [{ text: 'hm é' }], encrypted_content: /^gw1\./ },
    { id: 'msg_01abc_1', status: 'completed', content: [{ type: 'output_text', text: 'Hi "you"', annotations: [] }] },
    {
      id: 'ctc_01abc_2',
      call_id: 'toolu_1',
      type: 'custom_tool_call',
      name: 'patch',
      input: '*** é\n',
      status: 'completed',
    },
    { id: 'fc_01abc_3', call_id: 'toolu_2', type: 'function_call', name: 'f', namespace: 'ns', arguments: '{}' },
  ])
  const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
  t.same(done, response.output, 'the last event repeats the items')
  const ids = [...new Set(events.filter(one => 'item_id' in one).map(one => one['item_id']))]
  t.same(ids, ['rs_01abc_0', 'msg_01abc_1', 'ctc_01abc_2', 'fc_01abc_3'])
  t.match(response, { status: 'completed', model: 'the-model', store: false, previous_response_id: null, error: null })
  t.match(response.usage, { input_tokens: 13, output_tokens: 9, total_tokens: 22 })
})

t.test('the request is repeated as it was sent', async t => {
  for (const events of [true, false]) {
    const bytes = writeAll(responses, answer, usageOf(), { ask, events })
    const response = events ? eventsOf(bytes).at(-1)?.['response'] : JSON.parse(bytes.toString())
    const { instructions, tools, parallel_tool_calls, metadata, max_output_tokens } = ASK
    t.match(response, { instructions, tools, parallel_tool_calls, metadata, max_output_tokens })
    t.same(response.text, { format: { type: 'text' }, verbosity: 'low' })
    t.same(response.reasoning, { effort: 'low', summary: null })
    t.match(response, { temperature: 1, top_p: 1, tool_choice: 'auto', truncation: 'disabled', background: false })
  }
})

t.test('what a client returns of an answer is what it was made of', async t => {
  for (const events of [true, false]) {
    const bytes = writeAll(responses, answer, usageOf(), { ask, events })
    const { output } = events ? (eventsOf(bytes).at(-1) as Loose)['response'] : JSON.parse(bytes.toString())
    const results = [
      { type: 'custom_tool_call_output', call_id: 'toolu_1', output: 'ok' },
      { type: 'function_call_output', call_id: 'toolu_2', output: 'two' },
    ]
    const next = { ...ASK, input: [...ASK.input, ...output, ...results] }
    const again = responses.readRequest(Buffer.from(JSON.stringify(next)), head)
    const written = messages.writeRequest(again, { ...plainTarget('m'), thinking: 'adaptive' })
    const [, assistant, user] = JSON.parse(Buffer.from(written.body, 'latin1').toString()).messages
    t.match(assistant.content, [
      { type: 'thinking', thinking: 'hm é', signature: 'c2ln' },
      { type: 'text', text: 'Hi "you"' },
      { type: 'tool_use', id: 'toolu_1', name: 'patch', input: { input: '*** é\n' } },
      { type: 'tool_use', id: 'toolu_2', name: 'ns__f', input: {} },
    ])
    t.match(user.content, [{ tool_use_id: 'toolu_1' }, { tool_use_id: 'toolu_2' }])
    const other = messages.writeRequest(again, { ...plainTarget('other'), thinking: 'adaptive' })
    t.notMatch(other.body, /"thinking":"hm/, 'another model is not sent it')
    t.ok(other.losses.has('thinking'))
  }
})

t.test('an upstream of the protocol is not sent the state of another one, and everything else as it is', async t => {
  const { output } = (eventsOf(writeAll(responses, answer, usageOf(), { ask })).at(-1) as Loose)['response']
  const input = [{ type: 'message', role: 'user', content: 'q' }, ...output]
  const body = JSON.stringify({ ...ASK, input }, null, 1)
  let sent = body
  const cuts = envelopeCuts(body, translatedRow('responses')?.state ?? [], { model: 'm', thinking: 'effort' })
  for (const { span } of cuts.toReversed()) sent = sent.slice(0, span.start) + sent.slice(span.end)
  t.same(JSON.parse(sent), { ...ASK, input: input.filter(item => item.type !== 'reasoning') })
  t.equal(input.filter(item => item.type === 'reasoning').length, 1)
})

t.test('state at a call and at a text has an item of its own, and finds its way back', async t => {
  const opaque = { issuer: issuerOf('generate', 'm'), of: 'call', value: '"c2ln"' } as const
  const ofText = { ...opaque, of: 'text' } as const
  const events: AnswerEvent[] = [
    { type: 'begin', id: '', model: '' },
    { type: 'open', index: 0, kind: 'text' },
    { type: 'delta', index: 0, text: '"Hi"' },
    { type: 'seal', index: 0, opaque: ofText },
    { type: 'close', index: 0 },
    { type: 'open', index: 1, kind: 'call', call: { id: 'a', name: 'f', freeform: false, opaque } },
    { type: 'close', index: 1 },
    { type: 'stop', reason: 'tool', sequence: null },
    { type: 'end' },
  ]
  for (const streamed of [true, false]) {
    const bytes = writeAll(responses, events, usageOf(), { events: streamed })
    const { output } = streamed ? (eventsOf(bytes).at(-1) as Loose)['response'] : JSON.parse(bytes.toString())
    t.same(
      output.map((item: Loose) => item['type']),
      ['message', 'reasoning', 'reasoning', 'function_call'],
    )
    const { turns } = responses.readRequest(Buffer.from(JSON.stringify({ input: output })), head)
    t.match(turns, [
      {
        parts: [
          { type: 'text', opaque: ofText },
          { type: 'call', opaque },
        ],
      },
    ])
  }
})

t.test('two calls with the same id are two calls', async t => {
  const call = { name: 'f', freeform: false }
  const events: AnswerEvent[] = [
    { type: 'begin', id: '', model: '' },
    ...['a', 'a', 'a_2', 'a'].flatMap((id, index): AnswerEvent[] => [
      { type: 'open', index, kind: 'call', call: { id, ...call } },
      { type: 'close', index },
    ]),
    { type: 'stop', reason: 'tool', sequence: null },
    { type: 'end' },
  ]
  const bytes = writeAll(responses, events, usageOf(), { events: false })
  const ids = JSON.parse(bytes.toString()).output.map((item: Loose) => item['call_id'])
  t.equal(new Set(ids).size, 4)
  t.equal(ids[0], 'a')
})

t.test('tools that take text, at an upstream that knows them', async t => {
  const stream = [
    { type: 'response.created', response: { id: 'r', model: 'm' } },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: '' },
    },
    { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: '  {"input":"x"}' },
    { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: '\n' },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'custom_tool_call', call_id: 'a', name: 'patch' },
    },
    { type: 'response.completed', response: { status: 'completed' } },
  ]
  const bytes = Buffer.from(stream.map(one => `data: ${JSON.stringify(one)}\n\n`).join(''))
  const text = writeAll(chat, readAll(responses, [bytes], { renamed }), usageOf()).toString()
  const chunks = text.split('\n\n').filter(one => one.startsWith('data: {'))
  const calls = chunks.flatMap(one => JSON.parse(one.slice(6)).choices[0]?.delta.tool_calls ?? [])
  t.match(calls[0], { type: 'custom', custom: { name: 'patch' } })
  t.equal(calls.map(call => call.custom.input).join(''), '  {"input":"x"}\n')
})

t.test('what the writer counts is what the meter of the protocol counts', async t => {
  const random = seeded(t)
  for (let run = 0; run < 50; run++) {
    const said = Array.from({ length: 200 }, () => oddLiteral(random, `x${text(random)}`))
    const writer = responses.answerWriter(writerOptions())
    const events = [
      { type: 'begin', id: '', model: '' } as const,
      { type: 'open', index: 0, kind: 'text' } as const,
      ...said.map(text => ({ type: 'delta', index: 0, text }) as const),
    ]
    const bytes = Buffer.from(tell(writer, events), 'latin1')
    const meter = protocolRow('responses').meter({ events: true, lengthStop: false, cacheTtl: '5m' })
    meter.feed(bytes, bytes.toString('latin1'))
    t.equal(writer.counted, meter.counted, `run ${run}`)
    const ended = Buffer.from(writer.stopByLength(usageOf()), 'latin1')
    const last = ended.toString().trim().split('data: ').at(-1) as string
    const content = JSON.parse(last).response.output[0].content[0].text
    t.equal(content, said.map(one => JSON.parse(Buffer.from(one, 'latin1').toString())).join(''), 'all pieces are kept')
  }
})

t.test('an answer that is too long is a failure of the upstream', async t => {
  const writer = responses.answerWriter(writerOptions())
  writer.write({ type: 'open', index: 0, kind: 'text' })
  const piece = `"${'x'.repeat(1024 * 1024)}"`
  for (let at = 0; at < 33; at++) writer.write({ type: 'delta', index: 0, text: piece })
  t.match(writer.failure, { status: 502, message: /too long/ })
  t.ok(writer.held > 32 * 1024 * 1024)
})
