/** OpenAI-compatible chat completions (beta). A stream reports usage only when asked, in an event without choices. */
import type { Usage } from '../terms/records.ts'
import { keySet } from './count.ts'
import { lastObject } from './events.ts'
import {
  DocumentMeter,
  type EventRules,
  parseEvent,
  StreamMeter,
  shortText,
  type Tally,
  USAGE_AND_ERROR,
} from './meters.ts'
import { bytesAsText, Patterns } from './patterns.ts'
import type { MeterOptions, ProtocolRow } from './protocol.ts'
import { fieldsOf, first, fromPrompt, isFields } from './usage.ts'

const TEXT = keySet(['content', 'reasoning_content', 'reasoning', 'arguments', 'refusal'])
const OPEN_BRACKET = 0x5b
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

/** null when the two principal numbers are not there. */
function usageOf(value: unknown): Usage | null {
  if (!isFields(value)) return null
  const prompt = first(value, 'prompt_tokens')
  const completion = first(value, 'completion_tokens')
  if (prompt === null || completion === null) return null
  const details = fieldsOf(value['prompt_tokens_details'])
  const cached = first(details, 'cached_tokens') ?? first(value, 'prompt_cache_hit_tokens') ?? 0
  const written = first(details, 'cache_write_tokens') ?? 0
  const total = first(value, 'total_tokens') ?? 0
  // some upstreams leave reasoning out of the completion, and only their total tells
  return fromPrompt(prompt, cached, written, 0, Math.max(completion, total - prompt))
}

/** Bytes that an event with usage, an error or the end has somewhere; with `"usage":null`, as many have it, none match. */
const MARKERS = new Patterns(['usage":{', 'usage": {', 'usage" :', 'error"', '[DONE]'])

class Rules implements EventRules {
  readonly markers = MARKERS
  readonly wantsFirst: boolean
  #first: boolean

  /** `namesStop`: what a length stop must say is told by the first event. */
  constructor(namesStop: boolean) {
    this.wantsFirst = this.#first = namesStop
  }

  read(tally: Tally, _name: string, data: Buffer, cut: Buffer | null): void {
    if (data[0] === OPEN_BRACKET && cut === null) {
      if (data.toString('latin1').trim() === '[DONE]') tally.terminal = true
      return
    }
    if (this.#first) this.#begin(tally, data, cut)
    if (!MARKERS.isIn(bytesAsText(data))) return
    const parsed = parseEvent(data, cut)
    const usage = usageOf(parsed === undefined ? lastObject(data, 'usage', 1) : parsed['usage'])
    if (usage !== null) tally.usage = usage
    if (isFields(parsed?.['error'])) tally.failed = true
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

export const chat: ProtocolRow = {
  name: 'chat',
  authHeader: 'authorization',
  asksForUsage: true,
  terminalIsLast: true,
  meter: (options: MeterOptions) =>
    options.events
      ? new StreamMeter(new Rules(options.count), TEXT, options)
      : new DocumentMeter(USAGE_AND_ERROR, TEXT, document => usageOf(document.value('usage'))),
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
