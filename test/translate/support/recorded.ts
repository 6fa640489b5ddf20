/**
 * What was recorded of every kind of provider, told to clients of every other protocol. What a client reads is compared with what the
 * provider said, which is read here without the readers of lib.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { FINISH_WORDS, type FinishingProtocol } from '../../../lib/protocols/words/finish-words.ts'
import { KINDS, kindLike, type KindName } from '../../../lib/protocols/words/kinds.ts'
import { inputOf, noUsage, outputOf, type Usage } from '../../../lib/protocols/words/usage.ts'
import type { AnswerEvent } from '../../../lib/translate/events.ts'
import { type Translated, translated, translatedUpstream } from '../../../lib/translate/table.ts'
import type { Json } from '../../protocols/answers-told.ts'
import { read, streamOf } from '../../protocols/read.ts'
import { RECORDED, type Recorded } from '../../protocols/recorded.ts'
import { RECORDED_ERRORS } from '../../protocols/recorded-errors.ts'
import { come, readerOptions, type Loose, tell, writerOptions } from './answers.ts'

export const TEXT = ['messages', 'chat', 'responses', 'generate'] as const
type Text = (typeof TEXT)[number]
/** Those of upstreams. */
type Spoken = Text | 'converse'

/** What somebody reads of an answer. */
export interface Seen {
  text: string
  thought: string
  calls: { name: string; args: unknown }[]
  stop: string
  input: number
  output: number
}

export type Answer = Recorded & { protocol: Spoken }

/** The answers of protocols that are translated. */
export const ANSWERS = RECORDED.filter((row): row is Answer => [...TEXT, 'converse'].includes(row.protocol))

// --- what the provider said, as a reader of its pages would find it

const NO: Seen = { text: '', thought: '', calls: [], stop: '', input: 0, output: 0 }
const parsed = (args: unknown): unknown =>
  typeof args === 'string' ? JSON.parse(args === '' ? '{}' : args) : (args ?? {})

function addMessage(seen: Seen, message: Loose, args: Map<string, { name: string; text: string }>): void {
  if (typeof message['content'] === 'string') seen.text += message['content']
  if (Array.isArray(message['content'])) for (const part of message['content']) seen.text += part.text ?? ''
  seen.thought += message['reasoning_content'] ?? message['reasoning'] ?? ''
  const calls: Loose[] = message['tool_calls'] ?? []
  calls.forEach((call, place) => {
    const key = String(call['index'] ?? place)
    const known = args.get(key) ?? { name: '', text: '' }
    known.name ||= call['function']?.name ?? ''
    known.text += call['function']?.arguments ?? ''
    args.set(key, known)
  })
}

const WALKS: Record<Spoken, (seen: Seen, events: readonly Loose[], isStream: boolean) => void> = {
  chat(seen, events) {
    const args = new Map<string, { name: string; text: string }>()
    for (const event of events)
      for (const choice of event['choices'] ?? []) {
        addMessage(seen, choice.delta ?? choice.message ?? {}, args)
        seen.stop = choice.finish_reason ?? seen.stop
      }
    seen.calls = [...args.values()].map(({ name, text }) => ({ name, args: parsed(text) }))
  },
  messages(seen, events, isStream) {
    const pieces: string[] = []
    const blocks: Loose[] = isStream
      ? events.flatMap(event => event['content_block'] ?? [])
      : (events[0]?.['content'] ?? [])
    for (const event of events) {
      const { delta = {} } = event
      seen.text += delta.text ?? ''
      seen.thought += delta.thinking ?? ''
      if (delta.partial_json !== undefined) pieces.push(delta.partial_json)
      seen.stop = delta.stop_reason ?? event['stop_reason'] ?? seen.stop
    }
    for (const block of blocks) {
      seen.text += block['type'] === 'text' ? block['text'] : ''
      seen.thought += block['thinking'] ?? ''
      if (block['type'] === 'tool_use')
        seen.calls.push({ name: block['name'], args: isStream ? parsed(pieces.join('')) : block['input'] })
    }
  },
  responses(seen, events, isStream) {
    const whole: Loose = isStream ? events.at(-1)?.['response'] : (events[0] as Loose)
    for (const item of whole['output'] ?? []) {
      if (item.type === 'message') seen.text += item.content.map((part: Loose) => part['text'] ?? '').join('')
      if (item.type === 'function_call') seen.calls.push({ name: item.name, args: parsed(item.arguments) })
    }
    // a stream that was cut to what meters read has its text in its deltas alone
    if (seen.text === '')
      for (const event of events) if (event['type'] === 'response.output_text.delta') seen.text += event['delta']
    seen.stop = whole['incomplete_details']?.reason ?? whole['status'] ?? 'completed'
  },
  converse(seen, events, isStream) {
    const pieces = new Map<number, string>()
    for (const event of events) {
      const { contentBlockStart: start, contentBlockDelta: piece, messageStop: stop, stopReason } = event
      const { text = '', toolUse, reasoningContent } = piece?.delta ?? {}
      seen.text += text
      seen.thought += reasoningContent?.text ?? ''
      if (start?.start.toolUse !== undefined) seen.calls.push({ name: start.start.toolUse.name, args: {} })
      if (toolUse !== undefined)
        pieces.set(piece.contentBlockIndex, (pieces.get(piece.contentBlockIndex) ?? '') + toolUse.input)
      seen.stop = stop?.stopReason ?? stopReason ?? seen.stop
    }
    const args = [...pieces.values()]
    if (isStream) seen.calls = seen.calls.map(({ name }, i) => ({ name, args: parsed(args[i]) }))
    for (const block of events[0]?.['output']?.message.content ?? []) {
      seen.text += block.text ?? ''
      seen.thought += block.reasoningContent?.reasoningText?.text ?? ''
      if (block.toolUse !== undefined) seen.calls.push({ name: block.toolUse.name, args: block.toolUse.input })
    }
  },
  generate(seen, events) {
    for (const event of events)
      for (const candidate of event['candidates'] ?? []) {
        for (const part of candidate.content?.parts ?? []) {
          if (part.functionCall) seen.calls.push({ name: part.functionCall.name, args: parsed(part.functionCall.args) })
          else if (part.thought) seen.thought += part.text
          else seen.text += part.text ?? ''
        }
        seen.stop = candidate.finishReason ?? seen.stop
      }
  },
}

/** The provider's answer, and its usage as the meter of its protocol has it. */
function said(row: Answer, isStream: boolean): Seen {
  const seen: Seen = { ...NO, calls: [] }
  const all = isStream ? (row.events ?? []) : [row.whole as Json]
  WALKS[row.protocol](
    seen,
    all.filter(event => typeof event !== 'string'),
    isStream,
  )
  const finish = FINISH_WORDS[row.protocol as FinishingProtocol][seen.stop] ?? `no word: ${seen.stop}`
  const without = finish === 'tool' ? 'end' : finish
  return { ...seen, ...tokens(usageOf(row, isStream)), stop: seen.calls.length > 0 ? 'tool' : without }
}

const tokens = (usage: Usage): Pick<Seen, 'input' | 'output'> => ({ input: inputOf(usage), output: outputOf(usage) })

const bytesOf = (row: Answer, isStream: boolean): Buffer =>
  isStream ? streamOf(row.events ?? []) : Buffer.from(JSON.stringify(row.whole))

const usageOf = (row: Answer, isStream: boolean): Usage =>
  read(row.protocol, isStream, [bytesOf(row, isStream)]).usage ?? noUsage()

// --- what a client of another protocol reads

function seenBy(events: readonly AnswerEvent[]): Omit<Seen, 'input' | 'output'> {
  const { blocks, stop } = come(events)
  const seen = { text: '', thought: '', calls: [] as Seen['calls'], stop }
  for (const { kind, text, call } of blocks as { kind: string; text: string; call?: { name: string } }[]) {
    if (kind === 'text' || kind === 'refusal') seen.text += text
    else if (kind === 'thought') seen.thought += text
    else if (kind === 'call')
      seen.calls.push({ name: call?.name ?? '', args: parsed(Buffer.from(text, 'latin1').toString()) })
  }
  return seen
}

function throughTo(row: Answer, isStream: boolean, to: Text, toStream: boolean): Seen {
  const reader = translatedUpstream(row.protocol).answerReader(readerOptions({ events: isStream }))
  const events = [...reader.push(bytesOf(row, isStream)), ...reader.end()]
  const writer = (translated(to) as Translated).answerWriter(writerOptions({ events: toStream, inputEstimate: 0 }))
  const text = tell(writer, events)
  const failed = events.find(({ type }) => type === 'fail')
  const why = failed?.type === 'fail' ? failed.failure.message : writer.failure?.message
  if (why !== undefined) return { ...NO, stop: `failed: ${why}` }
  const bytes = Buffer.from(text + writer.finish(usageOf(row, isStream)), 'latin1')
  const client = (translated(to) as Translated).answerReader(readerOptions({ events: toStream }))
  const told = [...client.push(bytes), ...client.end()]
  return { ...seenBy(told), ...tokens(read(to, toStream, [bytes]).usage ?? noUsage()) }
}

/** Words that a protocol has no word of its own for. */
const NEAREST: Record<Text, Readonly<Record<string, string>>> = {
  messages: { steered: 'end', other: 'end' },
  chat: { sequence: 'end', context: 'length', pause: 'end', steered: 'end', other: 'end' },
  responses: { sequence: 'end', context: 'length', pause: 'end', steered: 'end', other: 'end' },
  generate: { sequence: 'end', context: 'length', pause: 'end', steered: 'end' },
}

export interface Compared {
  what: string
  said: Seen
  told: Seen
}

/** An answer in all forms, told to a client of another protocol in all forms. */
export function compared(row: Answer, to: Text): Compared[] {
  const forms = [...(row.whole === undefined ? [] : [false]), ...(row.events === undefined ? [] : [true])]
  return forms.flatMap(isStream =>
    [false, true].map(toStream => {
      const one = said(row, isStream)
      return {
        what: `${row.kind}: ${row.what}, ${isStream ? 'a stream' : 'whole'}, to ${to}, ${toStream ? 'a stream' : 'whole'}`,
        said: { ...one, stop: NEAREST[to][one.stop] ?? one.stop },
        told: throughTo(row, isStream, to, toStream),
      }
    }),
  )
}

// --- the table of docs/translation.md

export const PAGE = new URL('../../../docs/translation.md', import.meta.url)
const BEGIN = '<!-- recorded: written by `node test/translate/support/recorded.ts` -->'
const END = '<!-- recorded: end -->'

const isSame = ({ said: one, told }: Compared): boolean =>
  JSON.stringify(Object.entries(one).sort()) === JSON.stringify(Object.entries(told).sort())

function cell(rows: readonly Answer[], to: Text): string {
  const all = rows.filter(({ protocol }) => protocol !== to).flatMap(row => compared(row, to))
  return all.length === 0 ? 'native' : `${all.filter(isSame).length} of ${all.length}`
}

function has(rows: readonly Answer[]): string {
  const all = rows.flatMap(row => [
    ...(row.whole === undefined ? [] : [said(row, false)]),
    ...(row.events === undefined ? [] : [said(row, true)]),
  ])
  const found = [
    all.some(({ text }) => text !== '') && 'text',
    all.some(({ thought }) => thought !== '') && 'thoughts',
    all.some(({ calls }) => calls.length > 0) && 'calls',
    rows.some(({ whole }) => whole !== undefined) && 'whole',
    rows.some(({ events }) => events !== undefined) && 'streams',
    ...new Set(all.map(({ stop }) => `\`${stop}\``)),
  ]
  return found.filter(one => one !== false).join(', ')
}

/** What a kind should have, and has not: forms of answers, an error, and the words of the usual ends. */
function lacks(kind: KindName, rows: readonly Answer[]): string {
  const stops = rows.flatMap(row => [row.whole && said(row, false).stop, row.events && said(row, true).stop])
  const missing = [
    !rows.some(({ whole }) => whole !== undefined) && 'whole',
    !rows.some(({ events }) => events !== undefined) && 'streams',
    !RECORDED_ERRORS.some(error => error.kind === kindLike(kind)) && 'errors',
    ...['end', 'tool', 'length'].map(stop => !stops.includes(stop) && `\`${stop}\``),
  ]
  return missing.filter(one => one !== false).join(', ')
}

function rowOf(kind: KindName): string {
  const rows = ANSWERS.filter(row => row.kind === kindLike(kind))
  if (rows.length === 0) return `| \`${kind}\` | unrecorded | | all | | | | |`
  const recorded = rows.filter(({ of }) => of === 'recorded').length
  const cells = TEXT.map(to => cell(rows, to)).join(' | ')
  return `| \`${kind}\` | ${recorded} recorded, ${rows.length - recorded} documented | ${has(rows)} | ${lacks(kind, rows)} | ${cells} |`
}

/** The page with the table as it is now. */
export function written(page: string): string {
  const [before, rest] = page.split(BEGIN)
  const [, after] = (rest ?? '').split(END)
  if (before === undefined || after === undefined) throw new Error('docs/translation.md has no place for the table')
  const head =
    '| kind | answers | what is in them | unrecorded | to messages | to chat | to responses | to generate |\n|---|---|---|---|---|---|---|---|'
  const rows = (Object.keys(KINDS) as KindName[]).map(rowOf).join('\n')
  return `${before}${BEGIN}\n${head}\n${rows}\n${END}${after}`
}

if (import.meta.main) writeFileSync(PAGE, written(readFileSync(PAGE, 'utf8')))
