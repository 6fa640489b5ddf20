/**
 * Answers of OpenAI-compatible chat completions. A stream reports usage only when it is asked to, in an event without
 * choices.
 */
import { ContentKeys } from '../content-keys.ts'
import { DocumentMeter, type DocumentRules } from '../document-meter.ts'
import { parseEvent, saysError, shortText } from '../event-text.ts'
import { type Fields, fieldsOf, isFields } from '../fields.ts'
import type { ItemRules } from '../items.ts'
import { lastObject } from '../last-object.ts'
import type { MeterOptions } from '../meter.ts'
import { detailsOf, fromPrompt } from '../modalities.ts'
import { bytesAsText, Patterns } from '../patterns.ts'
import { DATA, Places, type Spot } from '../picture-places.ts'
import { PictureCounter } from '../pictures.ts'
import type { AnswerForm } from '../protocol.ts'
import { first, type Report, report } from '../reports.ts'
import { type EventRules, StreamMeter, type Tally } from '../stream-meter.ts'

const KEYS = new ContentKeys({
  text: ['content', 'arguments', 'refusal', 'input', 'transcript'],
  thought: ['reasoning_content', 'reasoning'],
  // of `reasoning_details`, which mostly repeat the thought; and of content in parts
  beside: ['text', 'summary'],
  encoded: ['data', 'url', 'image_url'],
})
/** The places of pictures: a list of their own, or parts of the content. */
const PARTS: Spot = {
  picture: 'any',
  inside: { image_url: { role: 'data', picture: 'any', inside: { url: DATA } } },
}
const MESSAGE: Spot = { inside: { images: PARTS, content: PARTS } }
const PICTURES = new Places('image_url', { inside: { choices: { inside: { delta: MESSAGE, message: MESSAGE } } } })
const MEMBERS: ReadonlySet<string> = new Set(['usage', 'error', 'service_tier'])
const OPEN_BRACKET = 0x5b
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

/** Returns null when the tokens of the prompt or of the completion are missing. */
function reportOf(value: unknown): Report | null {
  if (!isFields(value)) return null
  const prompt = first(value, 'prompt_tokens')
  const completion = first(value, 'completion_tokens')
  if (prompt === null || completion === null) return null
  const details = fieldsOf(value['prompt_tokens_details'])
  const total = first(value, 'total_tokens') ?? 0
  const usage = fromPrompt({
    prompt,
    cached: first(details, 'cached_tokens') ?? first(value, 'prompt_cache_hit_tokens') ?? 0,
    written: first(details, 'cache_write_tokens') ?? 0,
    // some upstreams leave reasoning out of the completion, and only their total tells
    output: Math.max(completion, total - prompt),
    details: {
      prompt: detailsOf(details),
      cached: detailsOf(fieldsOf(details['cached_tokens_details'])),
      output: detailsOf(fieldsOf(value['completion_tokens_details'])),
    },
  })
  usage.searches = searchesOf(value)
  return report(usage)
}

/** The number of searches that single providers report beside the tokens. */
const searchesOf = (usage: Fields): number =>
  first(usage, 'num_search_queries') ?? first(fieldsOf(usage['server_tool_use']), 'web_search_requests') ?? 0

/**
 * Notes that an answer searched, because it cites what it found. How often it searched is not to be seen, so that this
 * counts as one search.
 */
function noteCitations(tally: Pick<Tally, 'search'>, message: Fields): void {
  const { annotations } = message
  if (Array.isArray(annotations) && annotations.some(one => fieldsOf(one)['type'] === 'url_citation'))
    tally.search('cited')
}

/**
 * Every event with usage, an error or the end has one of these patterns in it. They do not match `"usage":null`, which
 * many other events have.
 */
const ENDS = ['usage":{', 'usage": {', 'usage" :', 'error"', '[DONE]']
const MARKERS = new Patterns(ENDS)

/** Where searches have a price: events that cite what was found have nothing else of interest. */
const SEARCH_MARKERS = new Patterns([...ENDS, '"url_c'])

const KNOWN = new Patterns(['"choices"', '"error"', '[DONE]', '"usage"'])

class Rules implements EventRules {
  readonly markers: Patterns
  readonly #lengthStop: boolean
  #first = true

  /** `lengthStop`: whether the first event is to be read for what a length stop would say. */
  constructor(lengthStop: boolean, searches: boolean) {
    this.markers = searches ? SEARCH_MARKERS : MARKERS
    this.#lengthStop = lengthStop
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
    if (!this.markers.isIn(bytesAsText(data))) return
    const parsed = parseEvent(data, cut)
    tally.report(reportOf(parsed === undefined ? lastObject(data, 'usage', 1) : parsed['usage']))
    if (parsed === undefined) return
    if (saysError(parsed['error'])) tally.failed = true
    tally.tell({ service: parsed['service_tier'] })
    const { choices } = parsed
    if (Array.isArray(choices)) for (const choice of choices) noteCitations(tally, fieldsOf(fieldsOf(choice)['delta']))
  }

  #begin(tally: Tally, data: Buffer, cut: Buffer | null): void {
    this.#first = false
    const parsed = parseEvent(data, cut)
    if (parsed === undefined) return
    tally.tell({ service: parsed['service_tier'] })
    if (!this.#lengthStop) return
    tally.stop = {
      answerId: shortText(parsed['id'], ''),
      model: shortText(parsed['model'], ''),
      createdS: first(parsed, 'created') ?? 0,
    }
  }
}

const ITEMS: ItemRules = {
  array: 'choices',
  branch: { message: { annotations: { type: 'text' } } },
  read: (tally, choice) => noteCitations(tally, fieldsOf(choice['message'])),
}

const DOCUMENT: DocumentRules = {
  members: MEMBERS,
  items: ITEMS,
  own: ['choices'],
  keys: KEYS,
  reportOf: document => reportOf(document.value('usage')),
  tiersOf: document => ({ service: document.value('service_tier') }),
}

export const chatAnswers: AnswerForm = {
  terminalIsLast: true,
  meter({ events, lengthStop, pictures, searches = false }: MeterOptions) {
    const counter = pictures ? new PictureCounter(PICTURES, events) : null
    return events
      ? new StreamMeter(new Rules(lengthStop, searches), KEYS, counter)
      : new DocumentMeter(DOCUMENT, counter)
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
