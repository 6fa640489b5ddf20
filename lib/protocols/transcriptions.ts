/** OpenAI-compatible transcriptions and translations: a file of sound goes in, and what is said in it comes out as text. */

import { ContentKeys } from './answers/content.ts'
import { DocumentMeter, type DocumentRules } from './answers/document-meter.ts'
import type { StreamEvent } from './answers/events.ts'
import { BytesMeter, type MeterOptions } from './answers/meter.ts'
import { type EventRules, StreamMeter } from './answers/stream-meter.ts'
import { openAiWords } from './chat.ts'
import { type Fields, fieldsOf } from './json/text.ts'
import { bearerClient, clientPath, openAiUpstream, type ProtocolRow } from './protocol.ts'
import { withoutOthers } from './requests/asked-tools.ts'
import { formBody } from './requests/body.ts'
import { Place } from './requests/places.ts'
import * as read from './requests/readers.ts'
import { wholeSeconds } from './sound/sound.ts'
import { first, type Report, usageReport } from './words/reports.ts'
import { noUsage } from './words/usage.ts'

const place = withoutOthers(
  new Place({
    // where no sound was sent, an upstream would fetch it by a name that only this upstream knows
    end(draft) {
      if (draft.prompt.sounds === 0) draft.invalid ??= 'file'
    },
  }),
)
  .has('model', read.model)
  .has('stream', read.stream)
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))
  .has('file', {
    // some readers would take a field without a file name for a file
    read(draft) {
      draft.invalid ??= 'file'
    },
  })
for (const name of ['url', 'file_url', 'audio_url', 'cloud_storage_url', 'source_url', 'file_id'])
  place.has(name, read.stored(name))

const transcriptionsBody = formBody({
  place,
  files: ['file'],
  hears: true,
  upload(draft, { seconds, bytes }) {
    draft.soundS += seconds
    draft.soundBytes += bytes
    draft.prompt.sounds++
    draft.prompt.soundS += Math.ceil(seconds)
  },
})

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

/** Details above the total are taken off sound; all that they do not name is text. */
function reportOf(usage: Fields): Report | null {
  const input = first(usage, 'input_tokens', 'prompt_tokens')
  const output = first(usage, 'output_tokens', 'completion_tokens')
  if (input === null && output === null) return null
  const heard = input ?? 0
  const details = fieldsOf(usage['input_token_details'] ?? usage['input_tokens_details'])
  const text = Math.min(first(details, 'text_tokens') ?? 0, heard)
  const input_audio = Math.min(first(details, 'audio_tokens') ?? 0, heard - text)
  const used = { ...noUsage(), input: heard - input_audio, input_audio, output: output ?? 0 }
  return usageReport(used, { namesInput: input !== null, namesOutput: output !== null })
}

class Rules implements EventRules {
  readonly markers = null
  reportedS = 0

  knows({ type }: StreamEvent): boolean {
    return type === 'error' || type.startsWith('transcript.')
  }

  read(meter: StreamMeter, event: StreamEvent): void {
    const { type } = event
    if (type === 'error') meter.failed = true
    if (type !== 'transcript.text.done') return
    meter.terminal = true
    const usage = fieldsOf(event.fieldsOr('usage')['usage'])
    this.reportedS = secondsIn(usage)
    meter.report(reportOf(usage))
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

/** The value must be followed by something, so that no number counts of which only a part has come. */
const IN_JSON = /"end"\s{0,4}:\s{0,4}(\d{1,9}(?:\.\d{0,20})?)(?=[\s,}\]])/g
const IN_SUBTITLES =
  /(?:\d{1,6}:)?\d\d:\d\d[.,]\d{3}[ \t]{1,4}-->[ \t]{1,4}(?:(\d{1,6}):)?(\d\d):(\d\d[.,]\d{3})(?=\D)/g
const LONGEST = 80

export class Stamps {
  readonly #pattern: RegExp
  #tail = ''
  /** In seconds; 0 = there is none. */
  last = 0

  constructor(isJson: boolean) {
    this.#pattern = isJson ? IN_JSON : IN_SUBTITLES
  }

  /** `text`: bytes as Latin-1. */
  feed(text: string): void {
    const all = this.#tail + text
    for (const [, first = '0', minutes, seconds] of all.matchAll(this.#pattern)) {
      const value =
        minutes === undefined
          ? Number(first)
          : Number(first) * 3600 + Number(minutes) * 60 + Number(seconds?.replace(',', '.'))
      if (value > this.last) this.last = value
    }
    this.#tail = all.slice(-LONGEST)
  }
}

const PATH = '/v1/audio/transcriptions'

export const transcriptions: ProtocolRow = {
  place: 10,
  client: bearerClient(
    clientPath('/audio/transcriptions'),
    clientPath('/audio/translations', { lastStep: 'translations' }),
  ),
  upstream: openAiUpstream(PATH, {
    openai: PATH,
    azure: '/openai/v1/audio/transcriptions',
    'azure-deployments': '/openai/deployments/{model}/audio/transcriptions',
    deepinfra: '/v1/openai/audio/transcriptions',
    groq: '/openai/v1/audio/transcriptions',
    mistral: PATH,
    siliconflow: PATH,
    together: PATH,
    zhipu: '/api/paas/v4/audio/transcriptions',
  }),
  body: transcriptionsBody,
  streamsByPath: null,
  asksForUsage: false,
  price: { cover: [['second'], ['request'], ['input', 'output']], pictures: false, cachesWhenAsked: false },
  terminalIsLast: true,
  eventsByType: true,
  meter(options) {
    if (options.events) return new EventsMeter(options)
    return PLAIN_TEXT.test(options.type ?? '') ? new TextMeter(options) : new JsonMeter(options)
  },
  words: { ...openAiWords, lengthStop: () => '' },
  countAnswer: null,
}
