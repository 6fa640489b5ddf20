/**
 * Why an answer ended, in the words of every protocol, as clients of every other one are told: finish_reason, stop_reason, finishReason,
 * incomplete_details. Unknown words, missing ones and failures of the upstream are never a clean end.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { FINISH_WORDS, type Finish, type FinishingProtocol } from '../../lib/protocols/words/finish-words.ts'
import { noUsage } from '../../lib/protocols/words/usage.ts'
import { readerOptions, tell, usageOf, writerOptions } from './support/answers.ts'
import { PROTOCOLS } from './support/clients.ts'
import { type Translated, translatedUpstream } from '../../lib/translate/table.ts'

/** Those that clients speak. */
type ClientProtocol = Exclude<FinishingProtocol, 'converse'>

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const event = (type: string, value: object): string => `event: ${type}\n${data({ type, ...value })}`
const named = (type: string, value: object): string => `event: ${type}\n${data(value)}`
const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"x":1}' }

/** A stream with a text, or with a call, that ends with a word; null = with none. */
const STREAMS: Record<FinishingProtocol, (word: string | null, args?: string) => string> = {
  messages: (stop_reason, args) =>
    event('message_start', { message: { id: 'm' } }) +
    event('content_block_start', {
      index: 0,
      content_block:
        args === undefined ? { type: 'text', text: 'Hi' } : { type: 'tool_use', id: 'c', name: 'f', input: {} },
    }) +
    (args === undefined
      ? ''
      : event('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: args } })) +
    event('content_block_stop', { index: 0 }) +
    event('message_delta', { delta: { stop_reason } }) +
    event('message_stop', {}),
  chat: (finish_reason, args) =>
    data({
      choices: [
        {
          index: 0,
          delta:
            args === undefined
              ? { content: 'Hi' }
              : { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: args } }] },
        },
      ],
    }) + `${data({ choices: [{ index: 0, delta: {}, finish_reason }] })}data: [DONE]\n\n`,
  responses(word, args) {
    const output =
      args === undefined
        ? [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }]
        : [{ ...call, arguments: args }]
    const status = word === 'completed' || word === 'failed' || word === 'cancelled' ? word : 'incomplete'
    const incomplete_details = status === 'incomplete' && word !== 'incomplete' ? { reason: word } : null
    return event(`response.${status}`, { response: { status, incomplete_details, output } })
  },
  converse: (stopReason, args) =>
    named('contentBlockStart', {
      contentBlockIndex: 0,
      start: args === undefined ? {} : { toolUse: { toolUseId: 'c', name: 'f' } },
    }) +
    named('contentBlockDelta', {
      contentBlockIndex: 0,
      delta: args === undefined ? { text: 'Hi' } : { toolUse: { input: args } },
    }) +
    named('contentBlockStop', { contentBlockIndex: 0 }) +
    named('messageStop', { stopReason }) +
    named('metadata', { usage: { inputTokens: 1, outputTokens: 1 } }),
  generate: (finishReason, args) =>
    data({
      candidates: [
        {
          content: { parts: [args === undefined ? { text: 'Hi' } : { functionCall: { name: 'f', args } }] },
          finishReason,
        },
      ],
    }),
}

/** What clients are told: of a text, and where that differs of a call. */
const TOLD: Record<ClientProtocol, Record<Exclude<Finish, 'failed' | 'malformed'>, string>> = {
  messages: {
    end: 'end_turn',
    length: 'max_tokens',
    sequence: 'stop_sequence',
    tool: 'end_turn',
    refusal: 'refusal',
    context: 'model_context_window_exceeded',
    pause: 'pause_turn',
    steered: 'end_turn',
    other: 'end_turn',
  },
  chat: {
    end: 'stop',
    length: 'length',
    sequence: 'stop',
    tool: 'stop',
    refusal: 'content_filter',
    context: 'length',
    pause: 'stop',
    steered: 'stop',
    other: 'stop',
  },
  responses: {
    end: 'completed',
    length: 'incomplete max_output_tokens',
    sequence: 'completed',
    tool: 'completed',
    refusal: 'incomplete content_filter',
    context: 'incomplete max_output_tokens',
    pause: 'completed',
    steered: 'completed',
    other: 'completed',
  },
  generate: {
    end: 'STOP',
    length: 'MAX_TOKENS',
    sequence: 'STOP',
    tool: 'STOP',
    refusal: 'SAFETY',
    context: 'MAX_TOKENS',
    pause: 'STOP',
    steered: 'STOP',
    other: 'OTHER',
  },
}
const RUN: Record<ClientProtocol, string> = {
  messages: 'tool_use',
  chat: 'tool_calls',
  responses: 'completed',
  generate: 'STOP',
}
const NAMES = Object.keys(TOLD) as ClientProtocol[]
const UPSTREAMS = Object.keys(FINISH_WORDS) as FinishingProtocol[]

/** What a client reads of an answer: why it ended, or that it broke off. */
function told(from: FinishingProtocol, to: ClientProtocol, stream: string, isLenient = false): string {
  const reader = translatedUpstream(from).answerReader(readerOptions({ isLenient }))
  const events = [...reader.push(Buffer.from(stream)), ...reader.end()]
  const failed = events.find(({ type }) => type === 'fail')
  const writer = (PROTOCOLS[to] as Translated).answerWriter(writerOptions({ events: false }))
  tell(writer, events)
  if (failed?.type === 'fail') return `failed: ${failed.failure.message}`
  if (writer.failure !== null) return `failed: ${writer.failure.message}`
  const streamed = (PROTOCOLS[to] as Translated).answerWriter(writerOptions())
  const text = tell(streamed, events) + streamed.finish(usageOf())
  const whole = JSON.parse(Buffer.from(writer.finish(noUsage()), 'latin1').toString())
  const words = {
    messages: () => whole.stop_reason,
    chat: () => whole.choices[0].finish_reason,
    responses: () => [whole.status, whole.incomplete_details?.reason].filter(Boolean).join(' '),
    generate: () => whole.candidates[0].finishReason,
  }
  const word: string = words[to]()
  return text.includes(`"${word.split(' ').at(-1)}"`) ? word : `a stream does not say ${word}`
}

for (const from of UPSTREAMS)
  for (const to of NAMES.filter(name => name !== from))
    t.test(`${from} to ${to}: every finish word`, async t => {
      for (const [word, finish] of Object.entries(FINISH_WORDS[from]))
        t.equal(
          told(from, to, STREAMS[from](word)),
          finish === 'failed' || finish === 'malformed' ? `failed: ${FAILED[from](word)}` : TOLD[to][finish],
          word,
        )
      t.equal(told(from, to, STREAMS[from]('moon')), TOLD[to].length, 'an unknown word behind a text')
      t.equal(told(from, to, STREAMS[from]('moon', '{"x":1}')), RUN[to], 'an unknown word behind a whole call')
    })

/** Responses say so in the event. */
const FAILED: Record<FinishingProtocol, (word: string) => string> = {
  messages: word => `the upstream stopped: ${word}`,
  chat: word => `the upstream stopped: ${word}`,
  generate: word => `the upstream stopped: ${word}`,
  converse: word => `the upstream stopped: ${word}`,
  responses: word => (word === 'failed' ? 'the upstream failed' : `the answer is not whole: ${word}`),
}

t.test('an unknown word behind half a call: nobody runs it', async t => {
  for (const to of ['messages', 'responses', 'generate'] as const)
    t.equal(told('chat', to, STREAMS.chat('moon', '{"x"')), TOLD[to].length, to)
  for (const from of ['messages', 'responses'] as const)
    for (const args of ['{"x"', '1'])
      t.equal(told(from, 'chat', STREAMS[from]('moon', args)), TOLD.chat.length, `${from} to chat: ${args}`)
})

t.test('a stream of text without a finish word was cut, unless the channel says finish: lenient', async t => {
  const rows: [FinishingProtocol, ClientProtocol][] = [
    ['chat', 'messages'],
    ['chat', 'responses'],
    ['chat', 'generate'],
    ['messages', 'chat'],
    ['converse', 'messages'],
    ['converse', 'generate'],
  ]
  for (const [from, to] of rows) {
    t.equal(told(from, to, STREAMS[from](null)), 'failed: the answer ended without a reason', `${from} to ${to}`)
    t.equal(told(from, to, STREAMS[from](null), true), TOLD[to].end, `${from} to ${to}, lenient`)
    t.equal(told(from, to, STREAMS[from](null, '{"x":1}')), RUN[to], `${from} to ${to}, a call`)
  }
})

t.test('an answer that somebody turned elsewhere is whole, and the loss is named', async t => {
  const reader = (PROTOCOLS['responses'] as Translated).answerReader(readerOptions())
  const events = [...reader.push(Buffer.from(STREAMS.responses('steered'))), ...reader.end()]
  const writer = (PROTOCOLS['chat'] as Translated).answerWriter(writerOptions({ events: false }))
  tell(writer, events)
  writer.finish(usageOf())
  t.same([...(writer.losses ?? [])], ['other'])
})

t.test('the page has all words, by what they mean', async t => {
  const page = readFileSync(new URL('../../docs/translation.md', import.meta.url), 'utf8')
  const table = page.split('## Why an answer ended')[1]?.split('\n## ')[0] ?? ''
  const rows = [...table.matchAll(/^\| (\w+) \|(.+)\|$/gm)].filter(([, name]) => name !== 'meaning')
  const listed: Record<string, Record<string, string>> = Object.fromEntries(UPSTREAMS.map(name => [name, {}]))
  for (const [, meaning, cells = ''] of rows)
    cells.split('|').forEach((cell, at) => {
      for (const [, word] of cell.matchAll(/`(\w+)`/g))
        (listed[UPSTREAMS[at] ?? ''] ??= {})[word as string] = meaning as string
    })
  t.same(listed, FINISH_WORDS)
})
