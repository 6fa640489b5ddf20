/**
 * Answers of OpenAI-compatible speech: sound as bytes, or as base64 in events, of which the last reports usage. The characters
 * of the request are charged as soon as sound has come; the seconds are measured in the sound.
 */
import { BytesMeter } from '../bytes-meter.ts'
import { ContentKeys } from '../content-keys.ts'
import { parseEvent, typeOf } from '../event-text.ts'
import { fieldsOf } from '../json/text.ts'
import { lastObject } from '../json/last-members.ts'
import type { MeterOptions } from '../meter.ts'
import type { AnswerForm } from '../protocol.ts'
import { first, type Report, usageReport } from '../words/reports.ts'
import { FEWEST_BYTES_PER_S, SoundMeter, wholeSeconds } from '../sound/sound.ts'
import { type EventRules, StreamMeter, type Tally } from '../stream-meter.ts'
import { noUsage, type Usage } from '../words/usage.ts'
import { chatAnswers } from './chat.ts'

const KEYS = new ContentKeys({ encoded: ['audio'] })
/** Bytes of sound that count as one token, where it matters only that something has come. */
const BYTES_PER_TOKEN = 1000

const soundOf = ({ sound }: MeterOptions): SoundMeter => new SoundMeter(sound?.soundBytesPerS ?? FEWEST_BYTES_PER_S)

function reportOf(value: unknown): Report | null {
  const fields = fieldsOf(value)
  const input = first(fields, 'input_tokens')
  const output = first(fields, 'output_tokens')
  return input === null || output === null ? null : usageReport({ ...noUsage(), input, output_audio: output })
}

class Rules implements EventRules {
  readonly markers = null
  readonly #sound: SoundMeter

  constructor(sound: SoundMeter) {
    this.#sound = sound
  }

  knows(name: string, data: Buffer, cut: Buffer | null): boolean {
    const type = typeOf(name, data, cut)
    return type === 'error' || type.startsWith('speech.')
  }

  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void {
    const type = typeOf(name, data, cut)
    const audio = parseEvent(data, cut)?.['audio']
    if (type === 'error') tally.failed = true
    else if (type.endsWith('.delta')) this.#sound.feed(typeof audio === 'string' ? Buffer.from(audio, 'base64') : data)
    else if (type.endsWith('.done')) {
      tally.terminal = true
      tally.report(reportOf(parseEvent(data, cut)?.['usage'] ?? lastObject(data, 'usage', 1)))
    }
  }
}

class EventsMeter extends StreamMeter {
  readonly #sound: SoundMeter
  readonly #characters: number

  constructor(options: MeterOptions, sound = soundOf(options)) {
    super(new Rules(sound), KEYS)
    this.#sound = sound
    this.#characters = options.sound?.characters ?? 0
  }

  override get usage(): Usage | null {
    const reported = super.usage
    if (reported === null && this.#sound.bytes === 0) return null
    return { ...(reported ?? noUsage()), characters: this.#characters }
  }

  override get seconds(): number {
    return wholeSeconds(this.#sound.seconds)
  }

  override get secondsReported(): boolean {
    return false
  }

  /** Nothing of the sound is charged as tokens but what is reported. */
  override get produced(): number {
    return this.reportedOutput
  }
}

class SoundBytes extends BytesMeter {
  readonly #sound: SoundMeter
  readonly #characters: number

  constructor(options: MeterOptions) {
    super(options)
    this.#sound = soundOf(options)
    this.#characters = options.sound?.characters ?? 0
  }

  protected take(chunk: Buffer): void {
    this.#sound.feed(chunk)
  }

  get usage(): Usage | null {
    return this.bytes === 0 || this.failed ? null : { ...noUsage(), characters: this.#characters }
  }

  get seconds(): number {
    return this.failed ? 0 : wholeSeconds(this.#sound.seconds)
  }

  protected get content(): number {
    return Math.ceil(this.bytes / BYTES_PER_TOKEN)
  }

  override get produced(): number {
    return 0
  }
}

export const speechAnswers: AnswerForm = {
  terminalIsLast: true,
  eventsByType: true,
  meter: options => (options.events ? new EventsMeter(options) : new SoundBytes(options)),
  words: { ...chatAnswers.words, lengthStop: () => '' },
  countAnswer: null,
}
