/**
 * Converse, in which Amazon Bedrock speaks for all models that it has. Only upstreams speak it, in front of which
 * requests are translated: the model and the kind of answer stand in the path, and a stream comes in binary frames, of which
 * `lib/upstream/aws/bedrock-answer.ts` makes events.
 */

import { ContentKeys } from './answers/content.ts'
import { DocumentMeter, type DocumentRules } from './answers/document-meter.ts'
import type { StreamEvent } from './answers/events.ts'
import type { MeterOptions } from './answers/meter.ts'
import { type EventRules, StreamMeter } from './answers/stream-meter.ts'
import { CONVERSE_ON_BEDROCK } from './clouds.ts'
import { Patterns } from './json/patterns.ts'
import { fieldsOf, isFields } from './json/text.ts'
import { NO_CLIENTS, NO_WORDS, type ProtocolRow, SAME_HEADERS, TEXT_COVER } from './protocol.ts'
import { bareTool, typedTool } from './requests/asked-tools.ts'
import { jsonBody } from './requests/body.ts'
import { Place } from './requests/places.ts'
import * as read from './requests/readers.ts'
import { strangeFinish } from './words/finish-words.ts'
import { first, type Report, type ToldTiers, usageReport } from './words/reports.ts'
import { noUsage } from './words/usage.ts'

/** What a part has inside, in base64. `mime`: the kind of it, as far as it matters for the estimate of its input. */
const media = (mime: string): Place =>
  new Place().has('source', {
    inside: new Place({
      end(draft, { dataLength }) {
        if (dataLength > 0) read.inline(draft, mime, dataLength)
      },
    }).has('bytes', read.data),
  })

const cachePoint = new Place({
  begin: draft => {
    draft.cacheTtl ??= '5m'
  },
}).has('ttl', read.ttl('5m'))

const block = new Place()
  .has('image', { inside: media('image/png') })
  .has('document', { inside: media('application/pdf') })
  .has('video', { inside: media('video/mp4') })
  .has('audio', { inside: media('audio/mpeg') })
  .has('cachePoint', { inside: cachePoint })
block.has('toolResult', { inside: new Place().has('content', { inside: block }) })

const tool = new Place({ element: bareTool, end: typedTool }).has('cachePoint', { inside: cachePoint })

const thinking = new Place().has('type', read.effort).has('budget_tokens', read.budgetWithin)
const reasoning = new Place().has('type', read.effort).has('maxReasoningEffort', read.effort)

const serviceTier = read.tier('service', 'serviceTier')

const converseBody = new Place()
  .has('messages', { inside: new Place().has('content', { inside: block }) })
  .has('system', { inside: block })
  .has('inferenceConfig', { inside: new Place().has('maxTokens', read.maximum('max_tokens')) })
  .has('toolConfig', { inside: new Place().has('tools', { inside: tool }) })
  .has('outputConfig', { inside: new Place().has('effort', read.effort) })
  .has('additionalModelRequestFields', {
    inside: new Place()
      .has('thinking', { inside: thinking })
      .has('reasoning_effort', read.effort)
      .has('reasoningConfig', { inside: reasoning }),
  })
  .has('serviceTier', { inside: new Place().has('type', serviceTier) })

const KEYS = new ContentKeys({
  // the arguments of a call are a text in a stream, and an object in a document
  text: ['text'],
  whole: ['input'],
  encoded: ['bytes', 'signature', 'redactedContent'],
  around: ['reasoningContent'],
})

const EVENTS = /^(?:messageSt(?:art|op)|contentBlock(?:Start|Delta|Stop)|metadata|error)$/
/** The names of the events that matter. */
const MARKERS = new Patterns(['messageSt', 'metadata', 'error'])

/**
 * Tokens that were read from a cache, or written to one, are not among those of the input. (Older names of both, with `Count` at their
 * end, repeat them.)
 */
function reportOf(value: unknown, ttl: '5m' | '1h'): Report | null {
  if (!isFields(value)) return null
  const input = first(value, 'inputTokens')
  const output = first(value, 'outputTokens')
  if (input === null && output === null) return null
  const written = first(value, 'cacheWriteInputTokens') ?? 0
  const { cacheDetails } = value
  const lives = Array.isArray(cacheDetails) ? cacheDetails.filter(isFields) : []
  const said = (life: RegExp): number =>
    lives.reduce((sum, one) => sum + (life.test(String(one['ttl'])) ? (first(one, 'inputTokens') ?? 0) : 0), 0)
  const short = Math.min(written, said(/5m/i))
  const long = Math.min(written - short, said(/1h/i))
  const rest = written - short - long
  const usage = {
    ...noUsage(),
    input: input ?? 0,
    output: output ?? 0,
    cache_read: first(value, 'cacheReadInputTokens') ?? 0,
    cache_write_5m: short + (ttl === '5m' ? rest : 0),
    cache_write_1h: long + (ttl === '1h' ? rest : 0),
  }
  return usageReport(usage, { namesInput: input !== null, namesOutput: output !== null })
}

const tiersIn = (value: unknown): ToldTiers => ({ service: fieldsOf(value)['type'] })

/** The usage follows behind the event that says why the answer ended; of what comes with it, nobody promises the order. */
class Rules implements EventRules {
  readonly markers = MARKERS
  readonly #ttl: '5m' | '1h'
  #hasStopped = false
  #hasReported = false

  constructor(ttl: '5m' | '1h') {
    this.#ttl = ttl
  }

  knows({ type }: StreamEvent): boolean {
    return EVENTS.test(type)
  }

  read(meter: StreamMeter, event: StreamEvent): void {
    switch (event.type) {
      case 'messageStop':
        meter.unknownFinish ??= strangeFinish('converse', event.fieldsOr('stopReason')['stopReason'])
        this.#hasStopped = true
        break
      case 'metadata': {
        const { usage, serviceTier } = event.fieldsOr('usage', 'serviceTier')
        meter.report(reportOf(usage, this.#ttl))
        meter.tell(tiersIn(serviceTier))
        this.#hasReported = true
        break
      }
      case 'error':
        meter.failed = true
    }
    meter.terminal ||= this.#hasStopped && this.#hasReported
  }
}

const MEMBERS: ReadonlySet<string> = new Set(['usage', 'stopReason', 'serviceTier', 'error'])

export const converse: ProtocolRow = {
  place: 6,
  client: NO_CLIENTS,
  upstream: {
    path: CONVERSE_ON_BEDROCK.path,
    ending: /\/converse(?:-stream)?$/,
    authHeader: 'authorization',
    kinds: { bedrock: CONVERSE_ON_BEDROCK, 'bedrock-api-key': CONVERSE_ON_BEDROCK },
    verbs: { document: 'converse', stream: 'converse-stream', streamQuery: '' },
    atProvider: SAME_HEADERS,
    answers: 'converse',
  },
  body: jsonBody(converseBody),
  streamsByPath: verb => verb === 'converse-stream',
  asksForUsage: false,
  // some models cache unasked
  price: { cover: TEXT_COVER, pictures: false, cachesWhenAsked: false },
  terminalIsLast: true,
  meter({ events, cacheTtl, mostOutput }: MeterOptions) {
    if (events) return new StreamMeter(new Rules(cacheTtl), KEYS)
    const rules: DocumentRules = {
      members: MEMBERS,
      own: ['output', 'stopReason'],
      keys: KEYS,
      reportOf: document => reportOf(document.value('usage'), cacheTtl),
      tiersOf: document => tiersIn(document.value('serviceTier')),
      unknownFinish: document => strangeFinish('converse', document.value('stopReason')),
    }
    return new DocumentMeter(rules, mostOutput)
  },
  words: NO_WORDS,
  countAnswer: null,
}
