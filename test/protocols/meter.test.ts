import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { Meter } from '../../lib/protocols/answers/meter.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { Withholder } from '../../lib/protocols/answers/withhold.ts'
import { noUsage, type Usage } from '../../lib/protocols/words/usage.ts'
import { cut, type Random, seeded } from '../support/random.ts'

const feed = (meter: Meter, chunk: Buffer): void => meter.feed(chunk, chunk.toString('latin1'))

type Event = { event?: string; data: unknown }
const OPTIONS = { events: true, lengthStop: false, cacheTtl: '5m' } as const
const SAYINGS = [
  'Hello',
  ' "usage":{"prompt_tokens":9999}',
  ' 你好',
  '\n\ndata: [DONE]\n\n',
  ' {"usageMetadata":{"promptTokenCount":7}}',
  ' event: error',
  '',
]

/** A stream of each protocol, with what a reader of whole events must find in it. */
const STREAMS: Record<
  'messages' | 'chat' | 'responses' | 'generate',
  (r: Random, words: string[]) => [Event[], Partial<Usage>]
> = {
  messages(r, words) {
    const [input, output, read, write] = [r.int(0, 9999), r.int(1, 999), r.int(0, 99), r.int(0, 99)]
    const start = {
      input_tokens: input,
      output_tokens: 1,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: write,
    }
    const named = (type: string, rest: object): Event => ({ event: type, data: { type, ...rest } })
    return [
      [
        named('message_start', { message: { id: 'm', model: 'a', usage: start } }),
        named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
        ...words.map(text => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
        named('content_block_stop', { index: 0 }),
        named('message_delta', { delta: {}, usage: { output_tokens: output } }),
        named('message_stop', {}),
      ],
      { input, output, cache_read: read, cache_write_5m: write },
    ]
  },
  chat(r, words) {
    const [prompt, completion, cached] = [r.int(100, 9999), r.int(0, 999), r.int(0, 100)]
    const chunk = (choices: unknown[], usage: unknown = null): Event => ({
      data: { id: 'c', model: 'm', created: 1, choices, usage },
    })
    const usage = {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: cached },
    }
    return [
      [...words.map(content => chunk([{ index: 0, delta: { content } }])), chunk([], usage), { data: '[DONE]' }],
      { input: prompt - cached, cache_read: cached, output: completion },
    ]
  },
  responses(r, words) {
    const [input, output] = [r.int(0, 9999), r.int(0, 999)]
    const named = (type: string, rest: object): Event => ({ event: type, data: { type, ...rest } })
    const tools = [{ parameters: { usage: { input_tokens: 1, output_tokens: 1 } } }]
    return [
      [
        named('response.created', { response: { id: 'r', usage: null, tools } }),
        ...words.map(delta => named('response.output_text.delta', { delta })),
        named('response.completed', {
          response: {
            id: 'r',
            tools,
            output: words,
            usage: { input_tokens: input, output_tokens: output },
            user: null,
          },
        }),
      ],
      { input, output },
    ]
  },
  generate(r, words) {
    const [prompt, output, thoughts] = [r.int(0, 9999), r.int(0, 999), r.int(0, 99)]
    const chunk = (text: string, last: boolean): Event => ({
      data: {
        candidates: [{ content: { parts: [{ text }] }, ...(last ? { finishReason: 'STOP' } : {}) }],
        usageMetadata: last
          ? { promptTokenCount: prompt, candidatesTokenCount: output, thoughtsTokenCount: thoughts }
          : { trafficType: 'x' },
      },
    })
    return [words.map((w, i) => chunk(w, i === words.length - 1)), { input: prompt, output: output + thoughts }]
  },
}

/** The events as bytes, framed in every way that is allowed. */
function framed(r: Random, events: Event[]): Buffer {
  const eol = r.pick(['\n', '\n', '\r\n', '\r'])
  const space = r.pick([' ', ' ', ''])
  let text = r.next() < 0.1 ? '\ufeff' : ''
  for (const [i, { event, data }] of events.entries()) {
    if (r.next() < 0.1) text += `: comment${eol}${eol}`
    if (event !== undefined) text += `event:${space}${event}${eol}`
    const json = typeof data === 'string' ? data : r.next() < 0.1 ? JSON.stringify(data, null, 1) : JSON.stringify(data)
    text += json
      .split('\n')
      .map(line => `data:${space}${line}${eol}`)
      .join('')
    if (i < events.length - 1 || r.next() < 0.8) text += eol
  }
  return Buffer.from(text)
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

t.test('usage, terminal and content, whatever the framing and the chunks', async t => {
  const random = seeded(t)
  for (const [protocol, make] of Object.entries(STREAMS)) {
    for (let i = 0; i < 400; i++) {
      const words = Array.from({ length: random.int(1, 12) }, () => random.pick(SAYINGS))
      const [events, want] = make(random, words)
      const bytes = framed(random, events)
      const meter = protocolRow(protocol as Protocol).meter(OPTIONS)
      for (const chunk of cut(random, bytes)) feed(meter, chunk)
      meter.end(true)
      const found = meter.usage === null ? null : { ...meter.usage }
      const wanted = { ...noUsage(), ...want }
      if (JSON.stringify(found) !== JSON.stringify(wanted)) t.same(found, wanted, `${protocol}: ${bytes}`)
      if (!meter.terminal || meter.failed)
        t.fail(`${protocol}: terminal ${meter.terminal}, failed ${meter.failed}: ${bytes}`)
    }
  }
  t.pass('1600 streams')
})

t.test('what is counted is the content, framing excluded', async t => {
  const random = seeded(t)
  for (const [protocol, make] of Object.entries(STREAMS)) {
    const words = Array.from({ length: 50 }, () => 'The quick brown fox jumps over the lazy dog. ')
    const [events] = make(random, words)
    const meter = protocolRow(protocol as Protocol).meter({ ...OPTIONS, lengthStop: true })
    for (const chunk of cut(random, framed(random, events))) feed(meter, chunk)
    const tokens = (50 * 45) / 4.4
    t.ok(Math.abs(meter.counted - tokens) < 3, `${protocol}: ${meter.counted} of ${tokens}`)
  }
})

t.test('a cut anywhere leaves the latest usage, and is not taken for the end', async t => {
  const random = seeded(t)
  for (let i = 0; i < 300; i++) {
    const [events] = STREAMS.messages(random, ['a', 'b'])
    const bytes = framed(random, events)
    const meter = protocolRow('messages').meter(OPTIONS)
    feed(meter, bytes.subarray(0, random.int(0, bytes.length - 20)))
    t.notOk(meter.terminal && !bytes.subarray(0, bytes.length - 20).includes('message_stop'))
  }
})

t.test('events of 10 MB: usage near the end is found, memory is not', async t => {
  const big = 'x'.repeat(10 << 20)
  const rows: [Protocol, string][] = [
    [
      'responses',
      `event: response.completed\ndata: {"type":"response.completed","response":{"output":["${big}"],"usage":{"input_tokens":5,"output_tokens":6},"user":null}}\n\n`,
    ],
    [
      'chat',
      `data: {"choices":[{"delta":{"content":"${big}"}}],"usage":{"prompt_tokens":5,"completion_tokens":6,"total_tokens":11}}\n\n`,
    ],
    [
      'generate',
      `data: {"candidates":[{"content":{"parts":[{"text":"${big}"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":6}}\n\n`,
    ],
  ]
  for (const [protocol, text] of rows) {
    const bytes = Buffer.from(text)
    const meter = protocolRow(protocol).meter(OPTIONS)
    const before = process.memoryUsage()
    for (let at = 0; at < bytes.length; at += 65_536) feed(meter, bytes.subarray(at, at + 65_536))
    collect()
    const after = process.memoryUsage()
    t.match(meter.usage, { input: 5, output: 6 }, protocol)
    t.ok(after.heapUsed - before.heapUsed < 8 << 20, `${protocol}: nothing of it is kept`)
  }
})

t.test('a decoy deep in a long event is not usage', async t => {
  const meter = protocolRow('responses').meter(OPTIONS)
  const decoy = `"tools":[{"usage":{"input_tokens":1,"output_tokens":1}}]`
  feed(meter, Buffer.from(`event: response.completed\ndata: {"response":{"a":"${'x'.repeat(100_000)}",${decoy}}}\n\n`))
  t.equal(meter.usage, null)
  t.ok(meter.terminal)
})

t.test('senseless numbers are not reported', async t => {
  const rows: unknown[] = [
    {},
    [],
    7,
    'x',
    null,
    { prompt_tokens: -5, completion_tokens: 1e10 },
    { prompt_tokens: 'many', completion_tokens: null },
  ]
  for (const usage of rows) {
    const meter = protocolRow('chat').meter({ ...OPTIONS, events: false })
    feed(meter, Buffer.from(JSON.stringify({ choices: [], usage })))
    t.equal(meter.usage, null, JSON.stringify(usage))
    t.ok(meter.terminal)
  }
  for (const none of [-5, 1e18, 1_000_000_000.5, -0.5, 'many', null, [7]])
    for (const names of ['input', 'output'] as const) {
      const usage = {
        prompt_tokens: names === 'input' ? 3 : none,
        completion_tokens: names === 'output' ? 4 : none,
        total_tokens: 9,
      }
      const meter = protocolRow('chat').meter({ ...OPTIONS, events: false })
      feed(meter, Buffer.from(JSON.stringify({ choices: [], usage })))
      // the total tells the half that is missing
      const want = names === 'input' ? { input: 3, output: 6 } : { input: 5, output: 4 }
      t.match(meter, { usage: want, namesInput: true, final: true }, JSON.stringify(usage))
    }
})

t.test('a total and one half of a usage', async t => {
  const INPUT = { namesInput: true, final: false }
  const OUTPUT = { namesInput: false, final: true }
  const WHOLE = { namesInput: true, final: true }
  const rows: [usage: object, input: number, output: number, told: object][] = [
    [{ prompt_tokens: 3 }, 3, 0, INPUT],
    [{ prompt_tokens: 3, total_tokens: 3 }, 3, 0, INPUT],
    [{ prompt_tokens: 3, total_tokens: 2 }, 3, 0, INPUT],
    [{ prompt_tokens: 3, total_tokens: 9, citation_tokens: 2 }, 5, 0, INPUT],
    [{ prompt_tokens: 3, total_tokens: 9, completion_tokens_details: { reasoning_tokens: 6 } }, 3, 6, WHOLE],
    [{ prompt_tokens: 3, total_tokens: 9, completion_tokens_details: { reasoning_tokens: 7 } }, 3, 7, INPUT],
    [{ completion_tokens: 4, total_tokens: 4 }, 0, 4, OUTPUT],
    [{ completion_tokens: 4, total_tokens: 9, completion_tokens_details: { reasoning_tokens: 2 } }, 0, 4, OUTPUT],
    [{ completion_tokens: 4, total_tokens: 9, cached_tokens: 2 }, 3, 4, WHOLE],
    [{ completion_tokens: 4, total_tokens: 9, cached_tokens: 5 }, 0, 4, OUTPUT],
  ]
  for (const [usage, input, output, told] of rows) {
    const meter = protocolRow('chat').meter({ ...OPTIONS, events: false })
    feed(meter, Buffer.from(JSON.stringify({ choices: [], usage })))
    t.match(meter, { usage: { input, output }, ...told }, JSON.stringify(usage))
  }
})

t.test('the withheld event, and nothing else', async t => {
  const random = seeded(t)
  for (let i = 0; i < 600; i++) {
    const words = Array.from({ length: random.int(1, 8) }, () => random.pick(SAYINGS))
    const [events] = STREAMS.chat(random, words)
    const without = events.filter(
      e => typeof e.data === 'string' || (e.data as { choices: unknown[] }).choices.length > 0,
    )
    const seed = random.int(0, 2 ** 31)
    const plain = (list: Event[]) =>
      list
        .map(
          e => `data: ${typeof e.data === 'string' ? e.data : JSON.stringify(e.data)}${seed % 2 ? '\r\n\r\n' : '\n\n'}`,
        )
        .join('')
    const withholder = new Withholder()
    const meter = protocolRow('chat').meter(OPTIONS)
    const out: Buffer[] = []
    for (const chunk of cut(random, Buffer.from(plain(events)), 900)) {
      feed(meter, chunk)
      const isSpared = seed % 5 > 0 && meter.isContent && withholder.passesContent
      const passed = isSpared ? chunk : withholder.push(chunk, seed % 3 === 0 ? 0 : meter.matters)
      if (passed !== null) out.push(...(Array.isArray(passed) ? passed : [passed]))
    }
    const rest = withholder.flush()
    if (rest !== null) out.push(rest)
    if (Buffer.concat(out).toString() !== plain(without)) t.equal(Buffer.concat(out).toString(), plain(without))
  }
  t.pass('600 streams')
})

t.test('events of a type that only one provider has are taken out, wherever the bytes are cut', t => {
  const said = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
  const own = said('vertex_event', { usage: { input_tokens: 9, output_tokens: 1 } })
  const delta = said('content_block_delta', {
    index: 0,
    delta: { type: 'text_delta', text: 'a "vertex_event" is no text' },
  })
  const start = said('message_start', { message: { usage: { input_tokens: 9, output_tokens: 1 } } })
  const end = said('message_delta', { delta: {}, usage: { output_tokens: 7 } }) + said('message_stop', {})
  for (const parts of [
    [own, start, delta, end],
    [start, own, delta, own, delta, end],
    [start, delta, end, own],
    [start, delta, end],
  ])
    for (const size of [1, 2, 7, 50, 300, 10_000]) {
      const bytes = Buffer.from(parts.join(''))
      const withholder = new Withholder('vertex_event')
      const meter = protocolRow('messages').meter(OPTIONS)
      const out: Buffer[] = []
      for (let at = 0; at < bytes.length; at += size) {
        const chunk = bytes.subarray(at, at + size)
        feed(meter, chunk)
        const isSpared = meter.isContent && withholder.passesContent
        out.push(...[isSpared ? chunk : (withholder.push(chunk, meter.matters) ?? [])].flat())
      }
      t.equal(withholder.flush(), null)
      t.equal(Buffer.concat(out).toString(), parts.filter(part => part !== own).join(''), `by ${size}`)
      t.match([meter.usage, meter.terminal, meter.foreign], [{ input: 9, output: 7 }, true, false])
    }
  t.end()
})

t.test('the same output is counted wherever the bytes are cut, also beside keys without a text', t => {
  for (const delta of [
    '{"content":"","reasoning_content":"one two three four"}',
    '{"content":null,"arguments":"one \\u00e9 \\"two\\" three \\\\"}',
    '{"type":"content", "content" : "one two three four"}',
  ]) {
    const bytes = Buffer.from(`data: {"choices":[{"delta":${delta}}]}\n\n`)
    const counted = (...chunks: Buffer[]) => {
      const meter = protocolRow('chat').meter(OPTIONS)
      for (const chunk of chunks) feed(meter, chunk)
      return meter.counted
    }
    const whole = counted(bytes)
    t.ok(whole > 0)
    for (let at = 1; at < bytes.length; at++)
      t.equal(counted(bytes.subarray(0, at), bytes.subarray(at)), whole, `${delta} cut at ${at}`)
  }
  t.end()
})

t.test('of a burst that comes whole, only the events are read that may say something', t => {
  const says = (data: object) => `data: ${JSON.stringify(data)}\n\n`
  const text = (content: string) => says({ id: 'c', choices: [{ index: 0, delta: { content } }], usage: null })
  const usage = says({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 40, total_tokens: 43 } })
  const before = text('x').repeat(40)
  const bytes = Buffer.from(`: hello\n\n${says({ vendor: 1 })}${before}${usage}data: [DONE]\n\n`)
  const meter = protocolRow('chat').meter(OPTIONS)
  feed(meter, bytes)
  t.equal(meter.matters, bytes.indexOf('pt_tokens"'), 'what stands before may pass as it came')
  t.match(meter.usage, { input: 3, output: 40 })
  t.match([meter.terminal, meter.foreign, meter.final], [true, false, true])
  t.ok(new Withholder().push(bytes, meter.matters)?.length ?? 0 <= 3, 'in a few pieces, and not event by event')

  const late = protocolRow('chat').meter(OPTIONS)
  feed(late, Buffer.from(`${says({ vendor: 1 })}${before}`))
  t.equal(late.foreign, false, 'an event of the protocol is found behind one that is not')
  t.end()
})

t.test(
  'among events that differ in their text alone, one that says more is read, wherever it stands and the bytes are cut',
  t => {
    const says = (data: object) => `data: ${JSON.stringify({ id: 'c', ...data })}\n\n`
    const text = (content: string) =>
      says({ choices: [{ index: 0, delta: { content }, finish_reason: null }], usage: null })
    const alike = ['', ' one', ' error', ' "usage":{', ' [DONE]', ' é\\"', ' completion_tokens', ' two'].map(text)
    const usage = { prompt_tokens: 3, completion_tokens: 40, total_tokens: 43 }
    for (const [name, other] of Object.entries({
      'a report': says({ choices: [{ index: 0, delta: { content: ' x' }, finish_reason: null }], usage }),
      'an error': says({ error: { message: 'overloaded' } }),
      'an end': says({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null }),
      'other content': says({ choices: [{ index: 0, delta: { reasoning_content: ' three' }, finish_reason: null }] }),
    }))
      for (let place = 1; place <= alike.length; place++) {
        const events = [...alike.slice(0, place), other, ...alike.slice(place), text(' x')]
        const told = (chunks: Buffer[]) => {
          const meter = protocolRow('chat').meter(OPTIONS)
          for (const chunk of chunks) feed(meter, chunk)
          const { counted, produced, failed, final, thinks } = meter
          return { counted, produced, usage: meter.usage, failed, final, thinks }
        }
        const bytes = Buffer.from(events.join(''))
        const oneByOne = told(events.map(event => Buffer.from(event)))
        t.equal(oneByOne.usage !== null, name === 'a report')
        t.equal(oneByOne.failed, name === 'an error')
        t.same(told([bytes]), oneByOne, `${name} at ${place}, whole`)
        for (let at = 1; at < bytes.length; at += 7)
          t.same(told([bytes.subarray(0, at), bytes.subarray(at)]), oneByOne, `${name} at ${place}, cut at ${at}`)
      }
    t.end()
  },
)
