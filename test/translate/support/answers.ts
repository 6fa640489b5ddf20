/** Random answers in the words of the hub, and what they come to: the blocks, the stop, the usage. */
import { decode } from '../../../lib/protocols/json/text.ts'
import { noUsage, type Usage } from '../../../lib/protocols/words/usage.ts'
import { Blocks } from '../../../lib/translate/answer-reader.ts'
import type { AnswerEvent, AnswerWriter, ReaderOptions, WriterOptions } from '../../../lib/translate/events.ts'
import { type Literal, quote, unquote } from '../../../lib/translate/json/literal.ts'
import type { Translated } from '../../../lib/translate/table.ts'
import { emptyAsk } from '../../../lib/translate/request-reader.ts'
import { cut, type Random, text } from '../../support/random.ts'
import { oddLiteral, oddObject } from './asks.ts'

export const readerOptions = (more: Partial<ReaderOptions> = {}): ReaderOptions => ({
  events: true,
  issuer: 'abcdefghijkl',
  renamed: new Map(),
  requestId: '01abc',
  isLenient: false,
  ...more,
})

export const writerOptions = (more: Partial<WriterOptions> = {}): WriterOptions => ({
  events: true,
  array: false,
  model: 'the-model',
  requestId: '01abc',
  createdS: 1_700_000_000,
  inputEstimate: 7,
  tellsUsage: true,
  ask: emptyAsk({ model: 'the-model', stream: true }),
  ...more,
})

export const usageOf = (more: Partial<Usage> = {}): Usage => ({ ...noUsage(), input: 11, output: 5, ...more })

/** All events of an answer, however its bytes are cut. */
export function readAll(
  protocol: Translated,
  chunks: Iterable<Buffer>,
  more: Partial<ReaderOptions> = {},
): AnswerEvent[] {
  const reader = protocol.answerReader(readerOptions(more))
  const events: AnswerEvent[] = []
  for (const chunk of chunks) events.push(...reader.push(chunk))
  events.push(...reader.end())
  return events
}

export const cuts = (random: Random, bytes: Buffer): Buffer[] => cut(random, bytes, 60)

/** All that a client is sent of an answer. */
export function writeAll(
  protocol: Translated,
  events: readonly AnswerEvent[],
  usage: Usage,
  more: Partial<WriterOptions> = {},
): Buffer {
  const writer = protocol.answerWriter(writerOptions(more))
  return Buffer.from(tell(writer, events) + writer.finish(usage), 'latin1')
}

export const tell = (writer: AnswerWriter, events: readonly AnswerEvent[]): string =>
  events.map(event => writer.write(event)).join('')

/** A random answer, told in the order that readers promise. Calls are mixed. */
export function randomAnswer(random: Random, { pictures = false } = {}): AnswerEvent[] {
  const blocks = new Blocks(readerOptions())
  blocks.begin('id', 'model')
  for (let n = random.int(0, 4); n > 0; n--) {
    const kind = random.pick([
      'text',
      'thought',
      'calls',
      'refusal',
      ...(pictures ? (['picture'] as const) : []),
    ] as const)
    if (kind === 'calls') calls(random, blocks)
    else if (kind === 'picture')
      blocks.media('image/png', `"${Buffer.from(String(random.int(0, 1e9))).toString('base64')}"`)
    else {
      blocks.closeText()
      for (const piece of pieces(random, oddLiteral(random, `x${text(random)}`))) blocks.text(kind, piece)
      if (kind === 'thought' && random.next() < 0.5) blocks.seal('thought', 'signed', '"c2ln"')
      blocks.closeText()
    }
  }
  blocks.reason = random.pick(['end', 'length', 'refusal'])
  blocks.finish()
  return [...blocks.found.take()]
}

function calls(random: Random, blocks: Blocks): void {
  const open = Array.from({ length: random.int(1, 3) }, (_, n) => ({
    index: blocks.call(random.next() < 0.5 ? '' : `id_${n}_${random.int(0, 1e9)}`, `tool_${n}`),
    rest: random.next() < 0.2 ? [] : pieces(random, quote(oddObject(random))),
  }))
  while (open.some(({ rest }) => rest.length > 0)) {
    const one = random.pick(open)
    const piece = one.rest.shift()
    if (piece !== undefined) blocks.args(one.index, piece)
  }
  blocks.closeCalls()
}

/** Cuts a literal into literals, never inside of an escape, and never inside of a character. */
export function pieces(random: Random, whole: Literal): Literal[] {
  const units = whole.slice(1, -1).match(/\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[\x80-\xff]+|./gs) ?? []
  const cutUp: Literal[] = []
  for (let at = 0; at < units.length; ) {
    const count = random.int(1, 8)
    cutUp.push(`"${units.slice(at, at + count).join('')}"`)
    at += count
  }
  return cutUp
}

export interface Told {
  blocks: object[]
  stop: string
}

/** What the events come to. Texts of the same kind that follow each other are one, because not every protocol parts them. */
export function come(events: readonly AnswerEvent[]): Told {
  const open = new Map<number, { kind: string; text: string; call?: object; state?: string }>()
  let stop = ''
  for (const event of events) {
    if (event.type === 'open') {
      const call = event.kind === 'call' ? { call: { id: event.call.id, name: event.call.name } } : {}
      open.set(event.index, { kind: event.kind, text: '', ...call })
    } else if (event.type === 'delta') (open.get(event.index) as { text: string }).text += event.text.slice(1, -1)
    else if (event.type === 'stop') stop = event.reason
    else if (event.type === 'fail') stop = `failed: ${event.failure.message}`
  }
  const blocks: { kind: string; text: string; call?: object }[] = []
  for (const block of open.values()) {
    const last = blocks.at(-1)
    if (last !== undefined && last.kind === block.kind && block.call === undefined) last.text += block.text
    else blocks.push({ ...block })
  }
  return {
    blocks: blocks.map(block => ({
      ...block,
      text: block.kind === 'call' ? unquote(`"${block.text}"`).trim() || '{}' : decode(`"${block.text}"`),
    })),
    stop,
  }
}

/** Parsed JSON in which tests look up members of which they know that they are there. */
// biome-ignore lint/suspicious/noExplicitAny: bodies of several protocols, whose types do not matter here
export type Loose = Record<string, any>
