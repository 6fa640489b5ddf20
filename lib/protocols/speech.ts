/** OpenAI-compatible speech: a text goes in, and its sound comes out, as bytes or as events. */

import { ContentKeys } from './answers/content.ts'
import type { StreamEvent } from './answers/events.ts'
import { BytesMeter, type MeterOptions } from './answers/meter.ts'
import { type EventRules, StreamMeter } from './answers/stream-meter.ts'
import { openAiWords } from './chat.ts'
import { fieldsOf, scalarOf } from './json/text.ts'
import { bearerClient, clientPath, openAiUpstream, type ProtocolRow } from './protocol.ts'
import { withoutOthers } from './requests/asked-tools.ts'
import { jsonBody } from './requests/body.ts'
import { Place, type Value } from './requests/places.ts'
import * as read from './requests/readers.ts'
import { FEWEST_BYTES_PER_S, SoundMeter, wholeSeconds } from './sound/sound.ts'
import { first, type Report, usageReport } from './words/reports.ts'
import { noUsage, type Usage } from './words/usage.ts'

/** No upstream speaks so long a text at once. */
const LONGEST_TEXT_BYTES = 1024 * 1024
/** Upstreams send this as `pcm`: 24,000 samples of 16 bits in a second, unless `sample_rate` asks for fewer. */
const PCM_SAMPLES_PER_S = 24_000
const SAMPLE_BYTES = 2
/** The fewest samples that upstreams offer. */
const FEWEST_SAMPLES_PER_S = 8_000
/** The slowest speech that upstreams offer, as a share of the usual speed. */
const SLOWEST = 0.25

const speechBody = withoutOthers(
  new Place({
    end(draft) {
      if (draft.soundBytesPerS === null || draft.samplesPerS === null) return
      draft.soundBytesPerS = Math.max(FEWEST_SAMPLES_PER_S, draft.samplesPerS) * SAMPLE_BYTES
    },
  }),
)
  .has('model', read.model)
  .has('input', {
    limit: LONGEST_TEXT_BYTES,
    read(draft, value) {
      const text = read.capturedString(value)
      if (text === null) draft.invalid ??= 'input'
      else draft.characters = codePoints(text)
    },
  })
  .has('speed', (draft, value) => {
    draft.pace = Math.min(draft.pace, paceOf(value))
  })
  .has('response_format', (draft, value) => {
    if (read.capturedString(value) === 'pcm') draft.soundBytesPerS = PCM_SAMPLES_PER_S * SAMPLE_BYTES
  })
  .has('sample_rate', (draft, value) => {
    // more samples than usual count as usual: who does not read the field sends no more
    draft.samplesPerS = Math.min(PCM_SAMPLES_PER_S, read.numberIn(value) ?? PCM_SAMPLES_PER_S)
  })
  .has('extra_body', read.noExtraBody)
  .has('service_tier', read.tier('service', 'service_tier'))
  .has('stream_format', (draft, value) => {
    draft.stream = read.capturedString(value) === 'sse'
  })

/** Returns the characters of a text; half of a pair that lacks its other half counts as one. */
function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** A speed that is no number may be read in any way by the upstream, so that it counts as the slowest. */
function paceOf({ kind, text }: Value): number {
  const speed = kind === 'scalar' && text !== null ? scalarOf(text) : undefined
  if (speed === null) return 1
  return typeof speed === 'number' && speed >= SLOWEST ? speed : SLOWEST
}

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

  knows({ type }: StreamEvent): boolean {
    return type === 'error' || type.startsWith('speech.')
  }

  read(meter: StreamMeter, event: StreamEvent): void {
    const { type } = event
    const audio = event.fields?.['audio']
    if (type === 'error') meter.failed = true
    else if (type.endsWith('.delta'))
      this.#sound.feed(typeof audio === 'string' ? Buffer.from(audio, 'base64') : event.data)
    else if (type.endsWith('.done')) {
      meter.terminal = true
      meter.report(reportOf(event.fieldsOr('usage')['usage']))
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

const PATH = '/v1/audio/speech'

export const speech: ProtocolRow = {
  place: 9,
  client: bearerClient(clientPath('/audio/speech')),
  upstream: openAiUpstream(PATH, {
    openai: PATH,
    azure: '/openai/v1/audio/speech',
    'azure-deployments': '/openai/deployments/{model}/audio/speech',
    deepinfra: '/v1/openai/audio/speech',
    groq: '/openai/v1/audio/speech',
    siliconflow: PATH,
    together: PATH,
    zhipu: '/api/paas/v4/audio/speech',
  }),
  body: jsonBody(speechBody),
  streamsByPath: null,
  asksForUsage: false,
  price: {
    cover: [['character'], ['second'], ['request']],
    pictures: false,
    tokensAsReported: true,
    cachesWhenAsked: false,
  },
  terminalIsLast: true,
  eventsByType: true,
  meter: options => (options.events ? new EventsMeter(options) : new SoundBytes(options)),
  words: { ...openAiWords, lengthStop: () => '' },
  countAnswer: null,
}
