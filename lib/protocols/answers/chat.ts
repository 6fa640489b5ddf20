/**
 * Answers of OpenAI-compatible chat completions. A stream reports usage only when it is asked to, in an event without
 * choices.
 */
import { ContentKeys } from '../content-keys.ts'
import { DocumentMeter, type DocumentRules } from '../document-meter.ts'
import { idOf, parseEvent, saysError, shortText } from '../event-text.ts'
import { type Fields, fieldsOf, isFields } from '../json/text.ts'
import { isStrangeFinish } from '../words/finish-words.ts'
import type { ItemRules } from '../items.ts'
import { lastObject } from '../json/last-members.ts'
import type { MeterOptions } from '../meter.ts'
import { detailsOf, fromPrompt, first, type Report, usageReport, UsageWords } from '../words/reports.ts'
import { MOST_TOKENS } from '../words/usage.ts'
import { bytesAsText, Patterns } from '../json/patterns.ts'
import { DATA, PicturePlaces, type Spot, PictureCounter } from '../pictures/counter.ts'
import type { AnswerForm } from '../protocol.ts'
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
const PICTURES = new PicturePlaces('image_url', {
  inside: { choices: { inside: { delta: MESSAGE, message: MESSAGE } } },
})
const MEMBERS: ReadonlySet<string> = new Set(['id', 'usage', 'x_groq', 'error', 'base_resp', 'service_tier'])
/** Members of an answer that have what a search has found. */
const FOUND = ['web_search', 'search_results']
const OPEN_BRACKET = 0x5b
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

const WORDS = new UsageWords('chat')

/** Returns null when the tokens of the prompt or of the completion are missing. */
function reportOf(value: unknown): Report | null {
  if (!isFields(value)) return null
  const prompt = WORDS.largest(value, 'prompt')
  const completion = WORDS.largest(value, 'completion')
  if (prompt === null || completion === null) return null
  const details = fieldsOf(value['prompt_tokens_details'])
  const usage = fromPrompt({
    prompt,
    cached: WORDS.count(value, 'cached'),
    ...WORDS.written(value),
    output: WORDS.output(value, prompt, completion),
    details: {
      prompt: detailsOf(details),
      cached: detailsOf(fieldsOf(details['cached_tokens_details'])),
      output: detailsOf(fieldsOf(value['completion_tokens_details'])),
    },
  })
  usage.input = Math.min(MOST_TOKENS, usage.input + WORDS.count(value, 'beside'))
  usage.searches = WORDS.searches(value)
  return usageReport(usage, { thinks: WORDS.count(value, 'reasoning') > 0 })
}

/** Some say the usage in the first choice, or in a member of their own, and not on top of the answer. */
const usageIn = (answer: Fields, inChoice: unknown): unknown =>
  answer['usage'] ?? inChoice ?? fieldsOf(answer['x_groq'])['usage']

/**
 * Notes that an answer searched, because it cites what it found. How often it searched is not to be seen, so that this
 * counts as one search.
 */
function noteCitations(tally: Pick<Tally, 'search'>, message: Fields): void {
  const { annotations } = message
  if (Array.isArray(annotations) && annotations.some(one => fieldsOf(one)['type'] === 'url_citation'))
    tally.search('cited')
}

/** What a choice tells beside its text. `inside`: where its message stands. */
function noteChoice(tally: Pick<Tally, 'search' | 'unknownFinish'>, choice: Fields, inside: 'delta' | 'message'): void {
  noteCitations(tally, fieldsOf(choice[inside]))
  if (isStrangeFinish('chat', choice['finish_reason'])) tally.unknownFinish = true
}

/** MiniMax says so in a 200 that a request failed. */
function fails(baseResp: unknown): boolean {
  const code = fieldsOf(baseResp)['status_code']
  return typeof code === 'number' && code !== 0
}

const hasFound = (value: unknown): boolean => Array.isArray(value) && value.some(isFields)
const NO_CHOICES: readonly unknown[] = []
/** How many objects and arrays are around the usage of a choice. */
const IN_CHOICE = 3

/**
 * Every event with usage, wherever it stands, an error or the end has one of these patterns in it; most that say why the answer
 * ended have one, too. They do not match `"usage":null` and `"finish_reason":null`, which many other events have.
 */
const ENDS = ['pletion_tokens"', 'sh_reason":"', 'sh_reason": "', 'error"', '[DONE]']
const MARKERS = new Patterns(ENDS)

/** Where searches have a price: events that show what was found have nothing else of interest. */
const SEARCH_MARKERS = new Patterns([...ENDS, '"url_c', 'web_search"', 'search_results"'])

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
    if (parsed === undefined) {
      tally.report(reportOf(lastObject(data, 'usage', 1) ?? lastObject(data, 'usage', IN_CHOICE)))
      return
    }
    if (saysError(parsed['error']) || fails(parsed['base_resp'])) tally.failed = true
    tally.answerId ??= idOf(parsed['id'])
    tally.tell({ service: parsed['service_tier'] })
    if (FOUND.some(name => hasFound(parsed[name]))) tally.search('cited')
    const choices = Array.isArray(parsed['choices']) ? parsed['choices'] : NO_CHOICES
    for (const choice of choices) noteChoice(tally, fieldsOf(choice), 'delta')
    tally.report(reportOf(usageIn(parsed, fieldsOf(choices[0])['usage'])))
  }

  #begin(tally: Tally, data: Buffer, cut: Buffer | null): void {
    this.#first = false
    const parsed = parseEvent(data, cut)
    if (parsed === undefined) return
    if (fails(parsed['base_resp'])) tally.failed = true
    tally.answerId = idOf(parsed['id'])
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
  branch: { message: { annotations: { type: 'text' } }, finish_reason: 'text', usage: 'value' },
  read(tally, choice, index) {
    noteChoice(tally, choice, 'message')
    if (index === 0) tally.tellUsage(choice['usage'])
  },
}

const DOCUMENT: DocumentRules = {
  members: MEMBERS,
  items: ITEMS,
  own: ['choices'],
  keys: KEYS,
  reportOf: (document, _pieces, inChoice) =>
    reportOf(usageIn({ usage: document.value('usage'), x_groq: document.value('x_groq') }, inChoice)),
  tiersOf: document => ({ service: document.value('service_tier') }),
  failed: document => fails(document.value('base_resp')),
  searched: document => FOUND.some(name => document.itemsOf(name) > 0),
}

export const chatAnswers: AnswerForm = {
  terminalIsLast: true,
  meter({ events, lengthStop, pictures, searches = false, mostOutput }: MeterOptions) {
    const counter = pictures ? new PictureCounter(PICTURES, events) : null
    return events
      ? new StreamMeter(new Rules(lengthStop, searches), KEYS, counter)
      : new DocumentMeter(DOCUMENT, mostOutput, counter)
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
