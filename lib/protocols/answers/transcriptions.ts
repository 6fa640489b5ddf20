/**
 * Answers of OpenAI-compatible transcriptions: JSON, plain text or subtitles, or events. They report tokens or seconds, or
 * neither. Seconds that are not reported are those of the file, and never less than the last time stamp of the answer.
 */
import { BytesMeter } from '../bytes-meter.ts'
import { ContentKeys } from '../content-keys.ts'
import { DocumentMeter, type DocumentRules } from '../document-meter.ts'
import { parseEvent, typeOf } from '../event-text.ts'
import { type Fields, fieldsOf } from '../json/text.ts'
import { lastObject } from '../json/last-members.ts'
import type { MeterOptions } from '../meter.ts'
import type { AnswerForm } from '../protocol.ts'
import { first, type Report, usageReport } from '../words/reports.ts'
import { wholeSeconds } from '../sound/sound.ts'
import { Stamps } from '../stamps.ts'
import { type EventRules, StreamMeter, type Tally } from '../stream-meter.ts'
import { noUsage } from '../words/usage.ts'
import { chatAnswers } from './chat.ts'

const STREAM_KEYS = new ContentKeys({ text: ['delta'], again: ['text'] })
const DOCUMENT_KEYS = new ContentKeys({ text: ['text'] })
const BYTES_PER_TOKEN = 4.4
const MOST_SECONDS = 1e9
const PLAIN_TEXT = /^(?:text\/(?!event-stream|json)|application\/x-subrip)/i

/** Any number of seconds, also a fraction, also as text; 0 = none is reported. */
function secondsOf(value: unknown): number {
  const seconds = typeof value === 'string' ? Number(value || Number.NaN) : value
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, MOST_SECONDS) : 0
}

const secondsIn = (usage: Fields): number => secondsOf(usage['seconds']) || secondsOf(usage['prompt_audio_seconds'])

/** What the details name above the total is taken off sound; what they do not name is text. */
function reportOf(usage: Fields): Report | null {
  const input = first(usage, 'input_tokens', 'prompt_tokens')
  const output = first(usage, 'output_tokens', 'completion_tokens')
  if (input === null || output === null) return null
  const details = fieldsOf(usage['input_token_details'] ?? usage['input_tokens_details'])
  const text = Math.min(first(details, 'text_tokens') ?? 0, input)
  const input_audio = Math.min(first(details, 'audio_tokens') ?? 0, input - text)
  return usageReport({ ...noUsage(), input: input - input_audio, input_audio, output })
}

class Rules implements EventRules {
  readonly markers = null
  reportedS = 0

  knows(name: string, data: Buffer, cut: Buffer | null): boolean {
    const type = typeOf(name, data, cut)
    return type === 'error' || type.startsWith('transcript.')
  }

  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void {
    const type = typeOf(name, data, cut)
    if (type === 'error') tally.failed = true
    if (type !== 'transcript.text.done') return
    tally.terminal = true
    const usage = fieldsOf(parseEvent(data, cut)?.['usage'] ?? lastObject(data, 'usage', 1))
    this.reportedS = secondsIn(usage)
    tally.report(reportOf(usage))
  }
}

class EventsMeter extends StreamMeter {
  readonly #rules: Rules
  readonly #stamps = new Stamps(true)
  readonly #uploadS: number

  constructor({ sound }: MeterOptions, rules = new Rules()) {
    super(rules, STREAM_KEYS)
    this.#rules = rules
    this.#uploadS = sound?.uploadS ?? 0
  }

  override feed(chunk: Buffer, text: string): void {
    super.feed(chunk, text)
    this.#stamps.feed(text)
  }

  override get seconds(): number {
    return wholeSeconds(this.#rules.reportedS || Math.max(this.#uploadS, this.#stamps.last))
  }

  override get secondsReported(): boolean {
    return this.#rules.reportedS > 0
  }
}

const DOCUMENT: DocumentRules = {
  members: new Set(['id', 'usage', 'error', 'duration']),
  own: ['text', 'segments'],
  keys: DOCUMENT_KEYS,
  reportOf: document => reportOf(fieldsOf(document.value('usage'))),
}

class JsonMeter extends DocumentMeter {
  readonly #stamps = new Stamps(true)
  readonly #uploadS: number

  constructor({ sound, mostOutput }: MeterOptions) {
    super(DOCUMENT, mostOutput)
    this.#uploadS = sound?.uploadS ?? 0
  }

  override feed(chunk: Buffer, text: string): void {
    super.feed(chunk, text)
    this.#stamps.feed(text)
  }

  get #reportedS(): number {
    return secondsIn(fieldsOf(this.value('usage'))) || secondsOf(this.value('duration'))
  }

  override get seconds(): number {
    return wholeSeconds(this.#reportedS || Math.max(this.#uploadS, this.#stamps.last))
  }

  override get secondsReported(): boolean {
    return this.#reportedS > 0
  }

  /** An answer with time stamps has its text twice: as a whole, and in segments. */
  override get counted(): number {
    return this.#stamps.last > 0 ? Math.ceil(super.counted / 2) : super.counted
  }
}

class TextMeter extends BytesMeter {
  readonly usage = null
  readonly #stamps = new Stamps(false)
  readonly #uploadS: number

  constructor(options: MeterOptions) {
    super(options)
    this.#uploadS = options.sound?.uploadS ?? 0
  }

  protected take(_chunk: Buffer, text: string): void {
    this.#stamps.feed(text)
  }

  override end(whole: boolean): void {
    this.#stamps.feed('\n')
    super.end(whole)
  }

  get seconds(): number {
    return wholeSeconds(Math.max(this.#uploadS, this.#stamps.last))
  }

  protected get content(): number {
    return Math.ceil(this.bytes / BYTES_PER_TOKEN)
  }
}

export const transcriptionsAnswers: AnswerForm = {
  terminalIsLast: true,
  eventsByType: true,
  meter(options) {
    if (options.events) return new EventsMeter(options)
    return PLAIN_TEXT.test(options.type ?? '') ? new TextMeter(options) : new JsonMeter(options)
  },
  words: { ...chatAnswers.words, lengthStop: () => '' },
  countAnswer: null,
}
