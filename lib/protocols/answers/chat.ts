/**
 * Answers of OpenAI-compatible chat completions. A stream reports usage only when it is asked to, in an event without
 * choices.
 */
import { ContentKeys } from '../content-keys.ts'
import { DocumentMeter, type DocumentRules } from '../document-meter.ts'
import { parseEvent, saysError, shortText, USAGE_AND_ERROR } from '../event-text.ts'
import { fieldsOf, isFields } from '../fields.ts'
import { lastObject } from '../last-object.ts'
import type { MeterOptions } from '../meter.ts'
import { bytesAsText, Patterns } from '../patterns.ts'
import { DATA, Places, type Spot } from '../picture-places.ts'
import { PictureCounter } from '../pictures.ts'
import type { AnswerForm } from '../protocol.ts'
import { first, fromPrompt, type Report, report } from '../reports.ts'
import { type EventRules, StreamMeter, type Tally } from '../stream-meter.ts'

const KEYS = new ContentKeys({
  text: ['content', 'reasoning_content', 'reasoning', 'arguments', 'refusal', 'text', 'input', 'transcript'],
  encoded: ['data', 'url', 'image_url'],
})
/** The places of pictures: a list of their own, or parts of the content. */
const PARTS: Spot = {
  picture: 'any',
  inside: { image_url: { role: 'data', picture: 'any', inside: { url: DATA } } },
}
const MESSAGE: Spot = { inside: { images: PARTS, content: PARTS } }
const PICTURES = new Places('image_url', { inside: { choices: { inside: { delta: MESSAGE, message: MESSAGE } } } })
const OPEN_BRACKET = 0x5b
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

/** Returns null when the tokens of the prompt or of the completion are missing. */
function reportOf(value: unknown): Report | null {
  if (!isFields(value)) return null
  const prompt = first(value, 'prompt_tokens')
  const completion = first(value, 'completion_tokens')
  if (prompt === null || completion === null) return null
  const details = fieldsOf(value['prompt_tokens_details'])
  const cached = first(details, 'cached_tokens') ?? first(value, 'prompt_cache_hit_tokens') ?? 0
  const written = first(details, 'cache_write_tokens') ?? 0
  const total = first(value, 'total_tokens') ?? 0
  // some upstreams leave reasoning out of the completion, and only their total tells
  const drawn = first(fieldsOf(value['completion_tokens_details']), 'image_tokens') ?? 0
  return report(fromPrompt(prompt, cached, written, 0, Math.max(completion, total - prompt)), {
    drawn: Math.min(drawn, completion),
  })
}

/**
 * Every event with usage, an error or the end has one of these patterns in it. They do not match `"usage":null`, which
 * many other events have.
 */
const MARKERS = new Patterns(['usage":{', 'usage": {', 'usage" :', 'error"', '[DONE]'])

const KNOWN = new Patterns(['"choices"', '"error"', '[DONE]', '"usage"'])

class Rules implements EventRules {
  readonly markers = MARKERS
  #first: boolean

  /** `lengthStop`: whether the first event is to be read for what a length stop would say. */
  constructor(lengthStop: boolean) {
    this.#first = lengthStop
  }

  knows(_name: string, data: Buffer, cut: Buffer | null): boolean {
    return KNOWN.isIn(bytesAsText(cut ?? data))
  }

  read(tally: Tally, _name: string, data: Buffer, cut: Buffer | null): void {
    if (data[0] === OPEN_BRACKET && cut === null) {
      if (data.toString('latin1').trim() === '[DONE]') tally.terminal = true
      return
    }
    if (this.#first) this.#begin(tally, data, cut)
    if (!MARKERS.isIn(bytesAsText(data))) return
    const parsed = parseEvent(data, cut)
    tally.report(reportOf(parsed === undefined ? lastObject(data, 'usage', 1) : parsed['usage']))
    if (saysError(parsed?.['error'])) tally.failed = true
  }

  #begin(tally: Tally, data: Buffer, cut: Buffer | null): void {
    this.#first = false
    const parsed = parseEvent(data, cut)
    if (parsed === undefined) return
    tally.stop = {
      answerId: shortText(parsed['id'], ''),
      model: shortText(parsed['model'], ''),
      createdS: first(parsed, 'created') ?? 0,
    }
  }
}

const DOCUMENT: DocumentRules = {
  members: USAGE_AND_ERROR,
  own: ['choices'],
  keys: KEYS,
  reportOf: document => reportOf(document.value('usage')),
}

export const chatAnswers: AnswerForm = {
  terminalIsLast: true,
  meter({ events, lengthStop, pictures }: MeterOptions) {
    const counter = pictures ? new PictureCounter(PICTURES, events) : null
    return events ? new StreamMeter(new Rules(lengthStop), KEYS, counter) : new DocumentMeter(DOCUMENT, counter)
  },
  words: {
    keepAlive: '\n',
    error: (_status, message) => event({ error: { code: '', message, type: 'gateway_api_error' } }),
    lengthStop: ({ answerId, model, createdS }) =>
      `${event({
        id: answerId,
        object: 'chat.completion.chunk',
        created: createdS,
        model,
        choices: [{ index: 0, delta: {}, finish_reason: 'length' }],
      })}data: [DONE]\n\n`,
  },
  countAnswer: null,
}
