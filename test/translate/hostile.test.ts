/** Upstreams that speak chat completions as they like, and what a client of the messages protocol is told of them. */
import t from 'tap'
import { come, readAll, tell, writerOptions } from './support/answers.ts'
import { accumulated } from './support/clients.ts'
import { chat, messages } from './support/protocols.ts'

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
const calls = (...tool_calls: object[]): string => chunk({ tool_calls })
const DONE = 'data: [DONE]\n\n'
const TOOLS = chunk({}, 'tool_calls') + DONE
const part = (args?: unknown, name?: string): object => ({ function: { name, arguments: args } })

interface Seen {
  kind: string
  text: string
  call?: { id: string; name: string }
}

const seen = (text: string): { calls: string[]; stop: string; text: string } => {
  const { blocks, stop } = come(readAll(chat, [Buffer.from(text)]))
  const all = blocks as Seen[]
  return {
    calls: all.filter(({ kind }) => kind === 'call').map(({ call, text }) => `${call?.id} ${call?.name} ${text}`),
    text: all
      .filter(({ kind }) => kind === 'text')
      .map(({ text }) => text)
      .join('|'),
    stop,
  }
}

const TABLE: [what: string, stream: string, calls: string[], stop: string][] = [
  [
    'the first delta comes with the name',
    calls({ index: 0, id: 'a', ...part('{"x"', 'f') }) + calls({ index: 0, ...part(':1}') }) + TOOLS,
    ['a f {"x":1}'],
    'tool',
  ],
  [
    'an empty list of calls beside the text is no call',
    chunk({ content: 'Hi', tool_calls: [] }) + chunk({ tool_calls: [] }, 'stop') + DONE,
    [],
    'end',
  ],
  [
    'parallel calls are mixed',
    calls({ index: 0, id: 'a', ...part('', 'f') }, { index: 1, id: 'b', ...part('', 'g') }) +
      calls({ index: 1, ...part('{"y":') }, { index: 0, ...part('{"x":') }) +
      calls({ index: 0, ...part('1}') }, { index: 1, ...part('2}') }) +
      TOOLS,
    ['a f {"x":1}', 'b g {"y":2}'],
    'tool',
  ],
  [
    'calls without an index, each whole',
    calls({ id: 'a', ...part('{}', 'f') }) + calls({ id: 'b', ...part('{"y":2}', 'g') }) + TOOLS,
    ['a f {}', 'b g {"y":2}'],
    'tool',
  ],
  [
    'calls without an index, in pieces without an id',
    calls({ id: 'a', ...part('{"x"', 'f') }) + calls(part(':1}')) + calls({ id: 'b', ...part('{}', 'g') }) + TOOLS,
    ['a f {"x":1}', 'b g {}'],
    'tool',
  ],
  [
    'calls without index and id',
    calls(part('{"x":', 'f')) + calls(part('1}')) + calls(part('{}', 'g')) + TOOLS,
    ['call_01abc_0 f {"x":1}', 'call_01abc_1 g {}'],
    'tool',
  ],
  [
    'all calls have the same index, and ids of their own',
    calls({ index: 0, id: 'a', ...part('{"x":1}', 'f') }) +
      calls({ index: 0, id: 'b', ...part('{"y":2}', 'f') }) +
      TOOLS,
    ['a f {"x":1}', 'b f {"y":2}'],
    'tool',
  ],
  [
    'the id comes late',
    calls({ index: 0, ...part('{"x":', 'f') }) + calls({ index: 0, id: 'a', ...part('1}') }) + TOOLS,
    ['call_01abc_0 f {"x":1}'],
    'tool',
  ],
  [
    'the name comes late',
    calls({ index: 0, id: 'a', ...part('{"x":') }) + calls({ index: 0, ...part('1}', 'f') }) + TOOLS,
    ['a f {"x":1}'],
    'tool',
  ],
  [
    'name and id come with every piece',
    calls({ index: 0, id: 'a', ...part('{"x":', 'f') }) + calls({ index: 0, id: 'a', ...part('1}', 'f') }) + TOOLS,
    ['a f {"x":1}'],
    'tool',
  ],
  ['arguments are an object', calls({ index: 0, id: 'a', ...part({ x: 1 }, 'f') }) + TOOLS, ['a f {"x":1}'], 'tool'],
  ['arguments are null', calls({ index: 0, id: 'a', ...part(null, 'f') }) + TOOLS, ['a f {}'], 'tool'],
  ['calls without a finish', calls({ index: 0, id: 'a', ...part('{}', 'f') }) + DONE, ['a f {}'], 'unknown'],
  [
    'the finish says that there are none',
    calls({ index: 0, id: 'a', ...part('{}', 'f') }) + chunk({}, 'stop') + DONE,
    ['a f {}'],
    'tool',
  ],
  ['a finish with calls, and none is there', chunk({ content: 'Hi' }) + TOOLS, [], 'end'],
  [
    'a text between calls, and behind them',
    calls({ index: 0, id: 'a', ...part('{"x"', 'f') }) +
      chunk({ content: 'Hi' }) +
      calls({ index: 0, ...part(':1}') }) +
      TOOLS,
    ['a f {"x":1}'],
    'tool',
  ],
  [
    'the form before there were several calls',
    chunk({ function_call: { name: 'f', arguments: '{"x"' } }) +
      chunk({ function_call: { arguments: ':1}' } }) +
      chunk({}, 'function_call') +
      DONE,
    ['call_01abc_0 f {"x":1}'],
    'tool',
  ],
  [
    'an id with characters that others refuse',
    calls({ index: 0, id: 'functions.f:0', ...part('{}', 'f') }) + TOOLS,
    ['call_1r3U3jKKIu3WEPlUi09Bnz f {}'],
    'tool',
  ],
  [
    'a call that is cut off by the maximum',
    calls({ index: 0, id: 'a', ...part('{"x"', 'f') }) + chunk({}, 'length') + DONE,
    ['a f {"x"'],
    'length',
  ],
  ['a refusal by a filter', chunk({ content: 'I' }) + chunk({}, 'content_filter') + DONE, [], 'refusal'],
  ['a refusal in words', chunk({ refusal: 'No.' }) + chunk({}, 'stop') + DONE, [], 'refusal'],
  ['a finish that nobody knows', chunk({ content: 'Hi' }) + chunk({}, 'moon') + DONE, [], 'unknown'],
  ['a finish that nobody knows, and nothing else', chunk({}, 'moon') + DONE, [], 'unknown'],
  ['nothing but the end', DONE, [], 'failed: the answer ended without a reason'],
  ['a text without a finish', chunk({ content: 'Hi' }) + DONE, [], 'failed: the answer ended without a reason'],
  [
    'a finish by an error',
    chunk({ content: 'Hi' }) + chunk({}, 'error') + DONE,
    [],
    'failed: the upstream stopped: error',
  ],
  [
    'the stream ends behind the finish',
    chunk({ content: 'Hi' }, 'stop'),
    [],
    'failed: the answer ended before its end',
  ],
  ['the stream ends before the finish', chunk({ content: 'Hi' }), [], 'failed: the answer ended before its end'],
  [
    'an error in the middle',
    `${chunk({ content: 'Hi' })}data: {"error":{"message":"boom","code":503}}\n\n`,
    [],
    'failed: boom',
  ],
  ['an error as a text', `data: {"error":"boom"}\n\n`, [], 'failed: boom'],
  ['an event that is no JSON', `data: <html>\n\n`, [], 'failed: an event of the answer is not JSON'],
  [
    'another choice than the first',
    `data: {"choices":[{"index":1,"delta":{"content":"x"}}]}\n\n${chunk({ content: 'Hi' }, 'stop')}${DONE}`,
    [],
    'end',
  ],
]

for (const [what, stream, calls, stop] of TABLE)
  t.test(what, async t => {
    const found = seen(stream)
    t.same(found.calls, calls)
    t.equal(found.stop, stop)
  })

t.test('a client of the messages protocol takes each of them, or is told that it broke off', async t => {
  for (const [what, stream, calls, stop] of TABLE) {
    const message = accumulated('messages', readAll(chat, [Buffer.from(stream)]))
    if (stop.startsWith('failed')) {
      await t.rejects(message, /broken off/, what)
      continue
    }
    const told = await message
    t.equal(told.calls.length, calls.length, what)
    t.equal(told.runs, stop === 'tool' || (stop === 'unknown' && calls.length > 0), what)
  }
})

const BROKEN_ARGS: [args: string[], why: RegExp][] = [
  [['{"x":1'], /not whole|no JSON object/],
  [['nonsense'], /no JSON object/],
  [['[1]'], /no JSON object/],
  [['{}', '{"x":1}'], /no JSON object/],
  [['{"x":1}{}'], /no JSON object/],
  [['{"x":"a\nb"}'], /no JSON object/],
]

t.test('a call whose arguments are no object is not told to a client that would run it', async t => {
  for (const [pieces, why] of BROKEN_ARGS) {
    const stream =
      calls({ index: 0, id: 'a', ...part('', 'f') }) +
      pieces.map(args => calls({ index: 0, ...part(args) })).join('') +
      TOOLS
    for (const events of [true, false]) {
      const writer = messages.answerWriter(writerOptions({ events }))
      tell(writer, readAll(chat, [Buffer.from(stream)]))
      t.match(writer.failure?.message, why, pieces.join(' '))
    }
    t.notOk(seen(stream).stop.startsWith('failed'), 'in chat, arguments are any text')
    await t.rejects(accumulated('messages', readAll(chat, [Buffer.from(stream)])), /broken off/)
  }
})
