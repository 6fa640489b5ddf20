/**
 * Upstreams that send anything in the words of their protocol: calls without an index, ids and names that come late or twice,
 * arguments that are objects, ends without calls and calls without an end. However the bytes are cut, readers find the same and never
 * throw; and the official client of every protocol takes what is written of it, or hears that it broke off.
 */
import t from 'tap'
import type { AnswerEvent } from '../../lib/translate/events.ts'
import { quote } from '../../lib/translate/json/literal.ts'
import { objectIn } from '../../lib/translate/json/tree.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { type Random, seeded, text as anyText } from '../support/random.ts'
import { come, cuts, readAll, tell, usageOf, writerOptions } from './support/answers.ts'
import { PROTOCOLS, accumulated } from './support/clients.ts'

const RUNS = Number(process.env['RUNS'] ?? 120)

const maybe = (random: Random, name: string, make: () => unknown): object =>
  random.next() < 0.6 ? { [name]: make() } : {}
const list = <T>(random: Random, most: number, make: () => T): T[] => Array.from({ length: random.int(0, most) }, make)
const event = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

/** What may stand anywhere. */
const value = (random: Random): unknown =>
  random.pick([
    null,
    '',
    'x',
    1,
    [],
    {},
    '{"a":',
    '1}',
    '{}',
    ' ',
    { a: 1 },
    anyText(random),
    [{ type: 'text', text: 'y' }],
  ])
const args = (random: Random): unknown =>
  random.pick(['{', '"a":', '1', '}', '{}', '{"b":"\\n"}', { c: [1] }, null, ''])
const index = (random: Random): unknown => random.pick([0, 0, 0, 1, 1, 2, 3, null, -1, 'x'])
const id = (random: Random): unknown => random.pick(['a', 'b', 'functions.f:0', '', null])
const name = (random: Random): unknown => random.pick(['f', 'f', 'g', '', null])

const STREAMS: Record<string, (random: Random) => string> = {
  messages(random) {
    const block = (): object =>
      random.pick([
        { type: 'text', ...maybe(random, 'text', () => value(random)) },
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'redacted_thinking', data: 'ZA==' },
        { type: 'tool_use', id: id(random), name: name(random), input: args(random) },
        { type: 'server_tool_use', id: 's' },
        {},
      ])
    const delta = (): object =>
      random.pick([
        { type: 'text_delta', text: value(random) },
        { type: 'thinking_delta', thinking: value(random) },
        { type: 'signature_delta', signature: 'c2ln' },
        { type: 'input_json_delta', partial_json: args(random) },
        { type: 'citations_delta', citation: { type: 'char_location', cited_text: 'x' } },
        { type: 'moon' },
      ])
    const one = (): string =>
      random.pick([
        () => event('content_block_start', { index: index(random), content_block: block() }),
        () => event('content_block_delta', { index: index(random), delta: delta() }),
        () => event('content_block_delta', { index: 0, delta: delta() }),
        () => event('content_block_stop', { index: index(random) }),
        () => event('ping', {}),
      ])()
    const reason = random.pick(['end_turn', 'tool_use', 'max_tokens', 'refusal', 'moon', null])
    return (
      event('message_start', { message: { id: 'm', usage: { input_tokens: 1 } } }) +
      list(random, 14, one).join('') +
      event('message_delta', { delta: { stop_reason: reason }, usage: { output_tokens: 1 } }) +
      random.pick([event('message_stop', {}), event('message_stop', {}), ''])
    )
  },
  chat(random) {
    const call = (): object => ({
      ...maybe(random, 'index', () => index(random)),
      ...maybe(random, 'id', () => id(random)),
      ...maybe(random, 'function', () => ({
        ...maybe(random, 'name', () => name(random)),
        ...maybe(random, 'arguments', () => args(random)),
      })),
    })
    const chunk = (): string => {
      const delta = {
        ...maybe(random, 'content', () => value(random)),
        ...(random.next() < 0.2 ? { reasoning_content: value(random) } : {}),
        ...(random.next() < 0.1 ? { refusal: 'No.' } : {}),
        ...maybe(random, 'tool_calls', () => list(random, 2, call)),
      }
      const reason =
        random.next() < 0.1 ? random.pick(['stop', 'length', 'tool_calls', 'content_filter', 'moon']) : null
      return data({ id: 'c', choices: [{ index: 0, delta, finish_reason: reason }] })
    }
    const last = data({ choices: [{ index: 0, delta: {}, finish_reason: random.pick(['stop', 'tool_calls']) }] })
    return list(random, 12, chunk).join('') + random.pick([last, '']) + random.pick(['data: [DONE]\n\n', ''])
  },
  responses(random) {
    const item = (): object => ({
      ...maybe(random, 'type', () =>
        random.pick(['message', 'function_call', 'custom_tool_call', 'reasoning', 'image_generation_call', 'moon']),
      ),
      ...maybe(random, 'id', () => id(random)),
      ...maybe(random, 'call_id', () => id(random)),
      ...maybe(random, 'name', () => name(random)),
      ...maybe(random, 'arguments', () => args(random)),
      ...maybe(random, 'input', () => value(random)),
      ...maybe(random, 'content', () => [{ type: random.pick(['output_text', 'refusal']), text: 'y', refusal: 'n' }]),
      ...maybe(random, 'summary', () => [{ type: 'summary_text', text: 's' }]),
      ...maybe(random, 'encrypted_content', () => value(random)),
    })
    const TYPES = [
      'created',
      'output_item.added',
      'output_item.added',
      'output_item.done',
      'output_text.delta',
      'output_text.done',
      'output_text.annotation.added',
      'refusal.delta',
      'reasoning_summary_text.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'custom_tool_call_input.delta',
    ]
    const one = (): string =>
      event(`response.${random.pick(TYPES)}`, {
        ...maybe(random, 'output_index', () => index(random)),
        ...maybe(random, 'content_index', () => random.int(0, 2)),
        ...maybe(random, 'item_id', () => id(random)),
        ...maybe(random, 'delta', () => random.pick([value(random), args(random)])),
        ...maybe(random, 'text', () => value(random)),
        ...maybe(random, 'arguments', () => args(random)),
        ...maybe(random, 'annotation', () => ({ type: 'url_citation', url: 'u', title: 't' })),
        ...maybe(random, 'item', item),
      })
    const output = random.next() < 0.3 ? list(random, 3, item) : []
    const end = random.pick([
      event('response.completed', { response: { status: 'completed', output } }),
      event('response.completed', { response: { status: 'completed', output } }),
      event('response.incomplete', {
        response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output },
      }),
      '',
    ])
    return list(random, 14, one).join('') + end
  },
  generate(random) {
    const part = (): unknown =>
      random.pick([
        { text: 'a' },
        { text: value(random), thought: true, ...maybe(random, 'thoughtSignature', () => 'YQ==') },
        { text: '', thoughtSignature: 'YQ==' },
        {
          functionCall: { name: random.pick(['f', 'g']), args: args(random), ...maybe(random, 'id', () => id(random)) },
        },
        { functionCall: { name: name(random), args: args(random) }, thoughtSignature: 'YQ==' },
        { inlineData: { mimeType: 'image/png', data: 'aGk=' } },
        { executableCode: { code: 'x' } },
        null,
        7,
        {},
      ])
    const reason = (): unknown =>
      random.next() < 0.1 ? random.pick(['MAX_TOKENS', 'SAFETY', 'OTHER', 'MALFORMED_FUNCTION_CALL', 9]) : undefined
    const chunk = (): string =>
      random.next() < 0.95
        ? data({ candidates: [{ content: { parts: list(random, 3, part) }, index: 0, finishReason: reason() }] })
        : data(random.pick([{}, 1, [], { candidates: 1 }]))
    const end = data({ candidates: [{ content: { parts: [] }, finishReason: 'STOP' }] })
    return list(random, 6, chunk).join('') + random.pick([end, end, ''])
  },
}

for (const [name, stream] of Object.entries(STREAMS))
  t.test(`${name}: whatever comes, every client gets an answer or hears that it broke off`, async t => {
    const random = seeded(t)
    let whole = 0
    for (let run = 0; run < RUNS; run++) {
      const bytes = Buffer.from(stream(random))
      const reader = PROTOCOLS[name] as Translated
      const events = readAll(reader, [bytes])
      t.same(readAll(reader, cuts(random, bytes)), events, `run ${run}, cut`)
      for (const client of Object.keys(PROTOCOLS)) {
        const told = await accumulated(client, events).catch((error: Error) => error.message)
        const what = `run ${run}, ${client}`
        if (typeof told === 'string') {
          if (!told.includes('broken off')) t.fail(`${what}: ${told}`)
          continue
        }
        whole++
        const { stop, blocks } = come(events)
        if (stop === 'unknown') {
          if (client !== name && told.runs !== hasWholeCalls(blocks)) t.fail(`${what}: whole calls are run, others not`)
          continue
        }
        if (told.runs !== (stop === 'tool')) t.fail(`${what}: calls are run if and only if they are told`)
        // of an answer that was cut, a stream has told what a document leaves out
        if (stop === 'tool' && documentOf(client, events) !== told.calls.length)
          t.fail(`${what}: a document has the same calls`)
      }
    }
    t.ok(whole > RUNS / 4, `${whole} of them are answers`)
  })

const hasWholeCalls = (blocks: readonly object[]): boolean => {
  const calls = (blocks as { kind: string; text: string }[]).filter(({ kind }) => kind === 'call')
  return calls.length > 0 && calls.every(({ text }) => objectIn(quote(text)) !== null)
}

/** How many calls the same answer has as one document. */
function documentOf(client: string, events: readonly AnswerEvent[]): number {
  const writer = (PROTOCOLS[client] as Translated).answerWriter(writerOptions({ events: false }))
  tell(writer, events)
  const document = JSON.parse(Buffer.from(writer.finish(usageOf()), 'latin1').toString())
  const calls = {
    messages: () => document.content.filter((block: { type: string }) => block.type === 'tool_use'),
    chat: () => document.choices[0].message.tool_calls ?? [],
    responses: () => document.output.filter((item: { type: string }) => item.type === 'function_call'),
    generate: () => document.candidates[0].content.parts.filter((part: object) => 'functionCall' in part),
  }[client] as () => unknown[]
  return calls().length
}
