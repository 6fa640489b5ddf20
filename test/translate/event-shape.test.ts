/**
 * Events that are like the one before are not read as JSON. Whatever comes, what is found is what the general reader finds, to which
 * the same bytes are given one by one, so that it never has a whole event at hand.
 */
import t from 'tap'
import { FoundEvents, EventShape } from '../../lib/translate/event-shape.ts'
import { literal } from '../../lib/translate/json/literal.ts'
import { NONE, Tree } from '../../lib/translate/json/tree.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { type Random, seeded, text } from '../support/random.ts'
import { cuts, pieces, readAll, usageOf, writeAll } from './support/answers.ts'
import { oddLiteral } from './support/asks.ts'
import { PROTOCOLS } from './support/clients.ts'

const RUNS = Number(process.env['RUNS'] ?? 60)

/** An event of which `%` is the text, `#` a number that grows, and `~` what hides the length of the text. */
const EVENTS: Record<string, { begin: string; deltas: readonly string[]; between: readonly string[]; end: string }> = {
  chat: {
    begin: '',
    deltas: [
      'data: {"id":"c","choices":[{"index":0,"delta":{"content":%},"finish_reason":null}],"usage":null,"obfuscation":~}\n\n',
      'data: {"choices":[{"delta":{"reasoning_content":%}}]}\n\n',
      'data: {"choices":[{"delta":{"reasoning":%,"reasoning_details":[{"text":%}]}}]}\n\n',
      'data: {"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":%}}]}}]}\n\n',
      'data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":%}}]}}]}\n\n',
      'data: {"choices":[{"delta":{"content":[{"type":"text","text":%}]}}],"sequence_number":#}\n\n',
      'data: {"choices":[{"delta":{"content":%,"tool_calls":[{"index":1,"function":{"arguments":"{"}}]}}]}\n\n',
      'data: {"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":%}},{"index":2,"function":{"arguments":"x"}}]}}]}\n\n',
      'data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":%}},{"index":1}]}}]}\n\n',
      'data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"h","arguments":%}}]}}]}\n\n',
      'data: {"choices":[{"delta":{"content":"a","content":%}}]}\n\n',
      'data: {"usage":{"prompt_tokens":3,"completion_tokens":#},"choices":[{"delta":{"content":%}}]}\n\n',
      'data: {"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":#}},"choices":[{"delta":{"content":%}}]}\n\n',
    ],
    between: [
      'data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"a","function":{"name":"f"}}]}}]}\n\n',
      'data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"g"}}]}}]}\n\n',
      'data: {"choices":[{"delta":{"tool_calls":[{"index":2,"function":{"name":"g"}}]}}]}\n\n',
      'data: {"choices":[{"delta":{"content":{"a":1}}}]}\n\n',
      ': alive\n\n',
    ],
    end: 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
  },
  messages: {
    begin: 'event: message_start\ndata: {"type":"message_start","message":{"id":"m"}}\n\n',
    deltas: [
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%}}\n\n',
      'event: content_block_delta\ndata: {"index":0,"delta":{"type":"thinking_delta","thinking":%}}\n\n',
      'data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":%}}\n\n',
      'id: 7\nevent: content_block_delta\ndata: {"index":0,"delta":{"text":%,"type":"text_delta"}}\n\n',
      'data: {"type":"content_block_delta","index":0,\ndata: "delta":{"type":"text_delta","text":%}}\n\n',
      'data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":%}}\n\n',
    ],
    between: [
      'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
      'data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}\n\n',
      'data: {"type":"content_block_stop","index":1}\n\n',
      'event: ping\ndata: {"type":"ping"}\n\n',
    ],
    end: 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n',
  },
  responses: {
    begin: 'data: {"type":"response.created","response":{"id":"r"}}\n\n',
    deltas: [
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":#,"output_index":0,"delta":%,"obfuscation":~}\n\n',
      'data: {"type":"response.reasoning_summary_text.delta","output_index":1,"obfuscation":~,"delta":%,"sequence_number":#}\n\n',
      'data: {"type":"response.output_text.done","output_index":2,"text":%}\n\n',
      'data: {"type":"response.function_call_arguments.delta","output_index":3,"delta":%}\n\n',
      'data: {"type":"response.function_call_arguments.done","output_index":4,"arguments":%}\n\n',
    ],
    between: [
      'data: {"type":"response.output_item.added","output_index":3,"item":{"type":"function_call","call_id":"a","name":"f"}}\n\n',
      'data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message"}}\n\n',
    ],
    end: 'data: {"type":"response.completed","response":{"status":"completed","output":[]}}\n\n',
  },
  generate: {
    begin: '',
    deltas: [
      'data: {"candidates":[{"content":{"parts":[{"text":%}]},"index":0}]}\n\n',
      'data: {"candidates":[{"content":{"parts":[{"text":%,"thought":true}]}}],"usageMetadata":{"promptTokenCount":#}}\n\n',
      'data: {"candidates":[{"content":{"parts":[{"text":%}]}}],"usageMetadata":{"thoughtsTokenCount":7,"totalTokenCount":#}}\n\n',
      'data: {"candidates":[{"content":{"parts":[{"text":%}]}}],"usageMetadata":{"thoughtsTokenCount":#}}\n\n',
      'data: {"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":%}}\n\n',
    ],
    between: ['data: {"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"YQ=="}]}}]}\n\n'],
    end: 'data: {"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}\n\n',
  },
}

/** What stands in the place of a text: mostly one, sometimes what is none. */
function hole(random: Random): string {
  const whole = oddLiteral(random, `x${text(random)}`)
  if (random.next() < 0.2) return random.pick(['"{"', '"}"', '"{}"', '"\\"a\\":"', '"b\\""', '"{\\"input\\":\\""'])
  if (random.next() < 0.9) return random.pick([whole, random.pick(pieces(random, whole))])
  return random.pick([
    '""',
    '"\\"',
    '"\\x"',
    '"\\u12"',
    '"a',
    '"a\tb"',
    '"a\nb"',
    'null',
    '7',
    '{"a":1}',
    '"a","b":"c"',
    ' "x"',
  ])
}

function streamOf(random: Random, name: string): string {
  const ends = random.pick(['\n', '\n', '\n', '\n', '\r\n', '\r'])
  const { begin, deltas, between, end } = EVENTS[name] as (typeof EVENTS)[string]
  let stream = begin
  let number = random.pick([0, 8, 98])
  for (let runs = random.int(1, 6); runs > 0; runs--) {
    if (random.next() < 0.6) stream += random.pick(between)
    const delta = random.pick(deltas)
    for (let count = random.int(1, 12); count > 0; count--) {
      const place = random.next() < 0.95 ? String(number++) : random.pick(['07', '-1', '1.5', '"2"', '', '1e3'])
      const one = delta
        .replaceAll('%', () => hole(random))
        .replaceAll('#', place)
        .replaceAll('~', () => (random.next() < 0.95 ? literal(text(random)) : hole(random)))
      const odd = (): string => random.pick([one.replaceAll('\n', '\r\n'), one.slice(0, -1), `${one}\n`])
      // a stream that has several kinds of line ends, one of them CR alone, is read by how it is cut
      stream += ends !== '\n' || random.next() < 0.95 ? one : odd()
    }
  }
  const first = ends === '\n' ? 0 : random.pick([stream.length, stream.indexOf('\n\n', stream.length / 2) + 2])
  return stream.slice(0, first).replaceAll('\n', ends) + stream.slice(first) + end
}

for (const name of Object.keys(EVENTS))
  t.test(`${name}: the same is found and told with it and without it`, async t => {
    const random = seeded(t)
    const reader = PROTOCOLS[name] as Translated
    for (let run = 0; run < RUNS; run++) {
      const bytes = Buffer.from(streamOf(random, name), random.pick(['utf8', 'latin1']))
      const freeform = random.next() < 0.3
      const renamed = new Map(freeform ? ['f', 'g', 'h'].map(name => [name, { name, freeform }]) : [])
      const read = (chunks: Iterable<Buffer>) => readAll(reader, chunks, { renamed })
      const general = read(Array.from(bytes, byte => Buffer.of(byte)))
      const whole = read([bytes])
      t.same(whole, general, `run ${run}, in one chunk`)
      t.same(read(cuts(random, bytes)), general, `run ${run}, cut`)
      for (const client of Object.values(PROTOCOLS)) {
        const told = (events: typeof whole): string => writeAll(client, events, usageOf()).toString('latin1')
        if (told(whole) !== told(general)) t.fail(`run ${run}: a client is told something else`)
      }
    }
  })

t.test('what is like the event before is found, up to the first that is not', async t => {
  const event = (words: string, more = ''): string =>
    `data: {"n":1,"text":${literal(words)},"obfuscation":"x${more}"}\n\n`
  const learned = event('first')
  const tree = new Tree()
  tree.read(learned.slice('data: '.length, -2))
  const shape = new EventShape()
  shape.learn(learned, tree, tree.get(tree.root, 'text'))
  const found = new FoundEvents()
  found.delta(0, '"first"', NONE)
  found.take()
  const chunk = (text: string): Buffer => Buffer.from(text, 'latin1')

  const many = Array.from({ length: 500 }, (_, n) => `word "${n}" é`)
  const all = chunk(many.map((word, n) => event(word, '.'.repeat(n % 7))).join(''))
  t.equal(shape.tell(all, 0, found), all.length, 'more than is compared at a time')
  t.same(
    found.take(),
    many.map(word => ({ type: 'delta', index: 0, text: literal(word) })),
  )
  for (const [what, other] of Object.entries({
    'another member': event('x').replace('"n":1', '"n":2'),
    'an empty text': event(''),
    'one that is not whole': event('x').slice(0, -1),
    'a text that is no JSON': event('x').replace('"x"', '"\\x"'),
    'what hides the length is none': event('x').replace('"x"}', 'null}'),
  })) {
    t.equal(shape.tell(chunk(event('a') + other + event('b')), 0, found), event('a').length, what)
    t.match(found.take(), [{ text: '"a"' }], what)
    t.equal(shape.tell(chunk(event('a')), 0, found), 0, 'behind it nothing is looked for')
    shape.learn(learned, tree, tree.get(tree.root, 'text'))
  }
  shape.forget()
  t.equal(shape.tell(chunk(event('a')), 0, found), 0, 'after another event nothing is like the last one')
})

t.test('what may be several events, or has its text in several lines, is not remembered', async t => {
  for (const event of [
    'data: {"text":"a"}\r\rdata: {"text":"b"}\n\n',
    'data: {"x":1,\ndata: "text":"b"}\n\n',
    `data: {"text":"b","more":"${'x'.repeat(2000)}"}\n\n`,
  ]) {
    const shape = new EventShape()
    const tree = new Tree()
    tree.read(event.includes('more') ? event.slice(6, -2) : '{"text":"b"}')
    shape.learn(event, tree, tree.get(tree.root, 'text'))
    t.equal(shape.tell(Buffer.from(event), 0, new FoundEvents()), 0)
  }
})

t.test('a stream whose events are never alike is looked at only now and then', async t => {
  const shape = new EventShape()
  const tree = new Tree()
  let due = 0
  for (let n = 0; n < 200; n++) {
    const event = `data: {"n":${n},"text":"x"}\n\n`
    shape.forget()
    if (!shape.isDue) continue
    due++
    tree.read(event.slice('data: '.length, -2))
    shape.learn(event, tree, tree.get(tree.root, 'text'))
    t.equal(shape.tell(Buffer.from('data: {"other":1}\n\n'), 0, new FoundEvents()), 0)
  }
  t.ok(due >= 4 && due < 20, `${due} of 200`)
})
