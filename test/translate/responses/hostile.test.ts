import t from 'tap'
import { come, readAll } from '../support/answers.ts'
import { accumulated, PROTOCOLS } from '../support/clients.ts'
import { responses } from '../support/protocols.ts'

const event = (type: string, data: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const CREATED = event('response.created', { response: { id: 'resp_1', model: 'm', status: 'in_progress' } })
const added = (output_index: number, item: object): string =>
  event('response.output_item.added', { output_index, item })
const done = (output_index: number, item: object): string => event('response.output_item.done', { output_index, item })
const delta = (output_index: number, what: string, delta: unknown, more: object = {}): string =>
  event(`response.${what}.delta`, { output_index, item_id: `i_${output_index}`, delta, ...more })
const end = (response: object = {}): string =>
  event('response.completed', { response: { id: 'resp_1', status: 'completed', output: [], ...response } })
const cut = (reason: string): string =>
  event('response.incomplete', { response: { status: 'incomplete', incomplete_details: { reason } } })
const call = (call_id: string, name: string, args: unknown = '', more: object = {}): object => ({
  type: 'function_call',
  id: `fc_${call_id}`,
  call_id,
  name,
  arguments: args,
  ...more,
})
const message = (text: string): object => ({ type: 'message', id: 'msg_1', content: [{ type: 'output_text', text }] })
const END = end()

interface Seen {
  kind: string
  text: string
  call?: { id: string; name: string }
}

const seen = (stream: string): { blocks: string[]; stop: string } => {
  const { blocks, stop } = come(readAll(responses, [Buffer.from(stream)]))
  const told = (blocks as Seen[]).map(({ kind, call, text }) =>
    kind === 'call' ? `${call?.id} ${call?.name} ${text}` : `${kind}: ${text}`,
  )
  return { blocks: told, stop }
}

const TABLE: [what: string, stream: string, blocks: string[], stop: string][] = [
  [
    'everything is said several times',
    CREATED +
      added(0, { type: 'message', id: 'i_0', content: [] }) +
      delta(0, 'output_text', 'Hi ') +
      delta(0, 'output_text', 'you') +
      event('response.output_text.done', { output_index: 0, content_index: 0, text: 'Hi you' }) +
      done(0, message('Hi you')) +
      end({ output: [message('Hi you')] }),
    ['text: Hi you'],
    'end',
  ],
  [
    'no deltas, but the text at its end',
    CREATED + event('response.output_text.done', { output_index: 0, text: 'Hi' }) + done(0, message('Hi')) + END,
    ['text: Hi'],
    'end',
  ],
  [
    'no deltas, but whole items',
    CREATED + done(0, message('Hi')) + done(1, call('a', 'f', '{}')) + END,
    ['text: Hi', 'a f {}'],
    'tool',
  ],
  [
    'nothing but the last event',
    CREATED + end({ output: [message('Hi'), call('a', 'f', '{"x":1}')] }),
    ['text: Hi', 'a f {"x":1}'],
    'tool',
  ],
  [
    'parallel calls are mixed',
    added(0, call('a', 'f')) +
      added(1, call('b', 'g')) +
      delta(1, 'function_call_arguments', '{"y":') +
      delta(0, 'function_call_arguments', '{"x":1}') +
      delta(1, 'function_call_arguments', '2}') +
      done(1, call('b', 'g', '{"y":2}')) +
      done(0, call('a', 'f', '{"x":1}')) +
      END,
    ['a f {"x":1}', 'b g {"y":2}'],
    'tool',
  ],
  [
    'ids change from event to event',
    added(0, { type: 'message', id: 'r1' }) +
      event('response.output_text.delta', { output_index: 0, item_id: 'r2', delta: 'Hi' }) +
      done(0, { ...message('Hi'), id: 'r3' }) +
      end({ output: [{ ...message('Hi'), id: 'r4' }] }),
    ['text: Hi'],
    'end',
  ],
  [
    'items are not numbered',
    event('response.output_item.added', { item: call('a', 'f') }) +
      event('response.function_call_arguments.delta', { item_id: 'fc_a', delta: '{}' }) +
      event('response.output_item.done', { item: call('a', 'f', '{}') }) +
      end({ output: [call('a', 'f', '{}')] }),
    ['a f {}'],
    'tool',
  ],
  ['the name comes with the end', added(0, call('', '')) + done(0, call('a', 'f', '{}')) + END, ['a f {}'], 'tool'],
  ['a call that is never named', added(0, call('a', '')) + END, [], 'end'],
  ['arguments as an object', done(0, call('a', 'f', { x: 1 })) + END, ['a f {"x":1}'], 'tool'],
  [
    'a call without ids',
    done(0, { type: 'function_call', name: 'f', arguments: '{}' }) + END,
    ['call_01abc_0 f {}'],
    'tool',
  ],
  [
    'a call that does not end',
    added(0, call('a', 'f')) + delta(0, 'function_call_arguments', '{}') + END,
    ['a f {}'],
    'tool',
  ],
  [
    'a call that is cut off by the maximum',
    added(0, call('a', 'f')) + delta(0, 'function_call_arguments', '{"x"') + cut('max_output_tokens'),
    ['a f {"x"'],
    'length',
  ],
  ['an answer that a filter cut', delta(0, 'output_text', 'I') + cut('content_filter'), ['text: I'], 'refusal'],
  ['a refusal in words', delta(0, 'refusal', 'No.') + END, ['refusal: No.'], 'refusal'],
  [
    'a thought in several parts, with its state',
    delta(0, 'reasoning_summary_text', 'one', { summary_index: 0 }) +
      delta(0, 'reasoning_summary_text', 'two', { summary_index: 1 }) +
      done(0, { type: 'reasoning', id: 'rs_1', summary: [{ text: 'one' }, { text: 'two' }], encrypted_content: 'x' }) +
      done(1, message('Hi')) +
      END,
    ['thought: one\n\ntwo', 'text: Hi'],
    'end',
  ],
  ['a thought as it was thought', delta(0, 'reasoning_text', 'hm') + END, ['thought: hm'], 'end'],
  [
    'an error as they write it',
    CREATED + event('error', { error: { code: 'rate_limit_exceeded', message: 'slow' } }),
    [],
    'failed: slow',
  ],
  ['an error as they say they write it', event('error', { code: 'server_error', message: 'boom' }), [], 'failed: boom'],
  [
    'a failure',
    event('response.failed', { response: { status: 'failed', error: { code: 'server_error', message: 'x' } } }),
    [],
    'failed: x',
  ],
  [
    'a failure without a word',
    event('response.failed', { response: { status: 'failed' } }),
    [],
    'failed: the upstream failed',
  ],
  [
    'somebody cancelled it',
    event('response.cancelled', { response: {} }),
    [],
    'failed: the answer is not whole: cancelled',
  ],
  [
    'the stream ends before its end',
    delta(0, 'output_text', 'Hi'),
    ['text: Hi'],
    'failed: the answer ended before its end',
  ],
  [
    'the end of another protocol is none',
    `${delta(0, 'output_text', 'Hi')}data: [DONE]\n\n`,
    ['text: Hi'],
    'failed: the answer ended before its end',
  ],
  [
    'the end of another protocol behind the end',
    `${done(0, message('Hi'))}${END}data: [DONE]\n\n`,
    ['text: Hi'],
    'end',
  ],
  ['no names of events', delta(0, 'output_text', 'Hi').replace(/^event:.*\n/gm, '') + END, ['text: Hi'], 'end'],
  [
    'an event that nobody knows',
    event('response.moon', { delta: 'x' }) + done(0, message('Hi')) + END,
    ['text: Hi'],
    'end',
  ],
  ['an event that is no JSON', 'data: <html>\n\n', [], 'failed: an event of the answer is not JSON'],
]

for (const [what, stream, blocks, stop] of TABLE)
  t.test(what, async t => {
    t.same(seen(stream), { blocks, stop })
  })

t.test('documents', async t => {
  const read = (body: object) => come(readAll(responses, [Buffer.from(JSON.stringify(body))], { events: false }))
  t.match(read({ status: 'completed', output: [message('Hi'), call('a', 'f', '{}')] }), {
    stop: 'tool',
    blocks: { length: 2 },
  })
  t.equal(
    read({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] }).stop,
    'length',
  )
  t.equal(read({ status: 'failed', error: { code: 'server_error', message: 'x' }, output: [] }).stop, 'failed: x')
  t.equal(read({ status: 'queued', output: [] }).stop, 'failed: the answer is not whole: queued')
  t.equal(read({ error: { message: 'no' } }).stop, 'failed: no')
})

t.test('clients take each of them, or are told that it broke off', async t => {
  for (const [what, stream, blocks, stop] of TABLE)
    for (const name of Object.keys(PROTOCOLS)) {
      const told = accumulated(name, readAll(responses, [Buffer.from(stream)]))
      if (stop.startsWith('failed')) await t.rejects(told, /broken off/, `${name}: ${what}`)
      else {
        const { calls, runs } = await told
        const all = blocks.filter(block => !/^(?:text|thought|refusal): /.test(block)).length
        // where calls are told whole, one that was cut is not told
        if (name !== 'generate' || stop !== 'length') t.equal(calls.length, all, `${name}: ${what}`)
        t.equal(runs, stop === 'tool', `${name}: ${what}`)
      }
    }
})
