/** The messages protocol (alpha). Usage is cumulative: each report replaces what an earlier one said, field by field. */
import type { Usage } from '../terms/records.ts'
import { keySet } from './count.ts'
import { lastObject } from './events.ts'
import {
  DocumentMeter,
  type EventRules,
  parseEvent,
  StreamMeter,
  type Tally,
  typeOf,
  USAGE_AND_ERROR,
} from './meters.ts'
import { Patterns } from './patterns.ts'
import type { MeterOptions, ProtocolRow } from './protocol.ts'
import { type Fields, fieldsOf, first, isFields, reported } from './usage.ts'

const TEXT = keySet(['text', 'thinking', 'partial_json'])
const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`

/** Numbers as reported so far. */
class Reports {
  readonly #ttl: '5m' | '1h'
  readonly #numbers = new Map<string, number>()
  #iterations: Fields[] = []

  constructor(ttl: '5m' | '1h') {
    this.#ttl = ttl
  }

  add(usage: Fields): void {
    for (const name of ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'])
      this.#put(name, usage[name])
    const split = fieldsOf(usage['cache_creation'])
    for (const name of ['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens']) this.#put(name, split[name])
    if (Array.isArray(usage['iterations'])) this.#iterations = usage['iterations'].filter(isFields)
  }

  /** Absent keeps what was said; some upstreams fill in zeros, which do not replace a number. */
  #put(name: string, value: unknown): void {
    const number = reported(value)
    if (number !== null && (number > 0 || !this.#numbers.has(name))) this.#numbers.set(name, number)
  }

  /** null until both sides are known. */
  get usage(): Usage | null {
    const input = this.#numbers.get('input_tokens')
    const output = this.#numbers.get('output_tokens')
    if (input === undefined || output === undefined) return null
    // with a fallback the top level is the pass that counts; otherwise passes of other kinds are not in it
    const fellBack = this.#iterations.some(i => i['type'] === 'fallback_message')
    if (this.#iterations.length > 0 && !fellBack) return this.#sumOfPasses()
    const creation = this.#numbers.get('cache_creation_input_tokens') ?? 0
    const [write5m, write1h] = this.#split(
      creation,
      this.#numbers.get('ephemeral_5m_input_tokens') ?? 0,
      this.#numbers.get('ephemeral_1h_input_tokens') ?? 0,
    )
    return {
      input,
      cache_read: this.#numbers.get('cache_read_input_tokens') ?? 0,
      cache_write_5m: write5m,
      cache_write_1h: write1h,
      output,
      images: 0,
    }
  }

  #sumOfPasses(): Usage {
    const sum: Usage = { input: 0, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 0, images: 0 }
    for (const pass of this.#iterations) {
      const split = fieldsOf(pass['cache_creation'])
      const [write5m, write1h] = this.#split(
        first(pass, 'cache_creation_input_tokens') ?? 0,
        first(split, 'ephemeral_5m_input_tokens') ?? 0,
        first(split, 'ephemeral_1h_input_tokens') ?? 0,
      )
      sum.input += first(pass, 'input_tokens') ?? 0
      sum.cache_read += first(pass, 'cache_read_input_tokens') ?? 0
      sum.cache_write_5m += write5m
      sum.cache_write_1h += write1h
      sum.output += first(pass, 'output_tokens') ?? 0
    }
    return sum
  }

  /** What the split leaves open lives as long as the request asked for. */
  #split(creation: number, write5m: number, write1h: number): [number, number] {
    const rest = Math.max(0, creation - write5m - write1h)
    return this.#ttl === '1h' ? [write5m, write1h + rest] : [write5m + rest, write1h]
  }
}

/** Of `message_`, `content_block_st` and `error`, the ends: with rarer first letters they are found faster. */
const MARKERS = new Patterns(['sage_', 'block_st', 'rror'])

class Rules implements EventRules {
  readonly markers = MARKERS
  readonly wantsFirst = false
  readonly #ttl: '5m' | '1h'
  #reports: Reports

  constructor(ttl: '5m' | '1h') {
    this.#ttl = ttl
    this.#reports = new Reports(ttl)
  }

  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void {
    switch (typeOf(name, data, cut)) {
      case 'content_block_delta':
        return
      case 'message_start':
        this.#start(tally, data, cut)
        return
      case 'message_delta':
        this.#report(tally, parseEvent(data, cut)?.['usage'] ?? lastObject(data, 'usage', 1))
        return
      case 'content_block_start':
        tally.stop.openBlock = first(parseEvent(data, cut) ?? {}, 'index')
        return
      case 'content_block_stop':
        tally.stop.openBlock = null
        return
      case 'message_stop':
        tally.terminal = true
        return
      case 'error':
        tally.failed = true
    }
  }

  #start(tally: Tally, data: Buffer, cut: Buffer | null): void {
    this.#reports = new Reports(this.#ttl) // a second start begins the count anew
    const message = parseEvent(data, cut)?.['message']
    this.#report(tally, isFields(message) ? message['usage'] : lastObject(data, 'usage', 2))
  }

  #report(tally: Tally, usage: unknown): void {
    if (!isFields(usage)) return
    this.#reports.add(usage)
    tally.usage = this.#reports.usage
  }
}

export const messages: ProtocolRow = {
  name: 'messages',
  authHeader: 'x-api-key',
  asksForUsage: false,
  terminalIsLast: true,
  meter(options: MeterOptions) {
    if (options.events) return new StreamMeter(new Rules(options.cacheTtl), TEXT, options)
    return new DocumentMeter(USAGE_AND_ERROR, TEXT, document => {
      const usage = document.value('usage')
      if (!isFields(usage)) return null
      const reports = new Reports(options.cacheTtl)
      reports.add(usage)
      return reports.usage
    })
  },
  words: {
    keepAlive: event('ping', { type: 'ping' }),
    error: (_status, message) => event('error', { type: 'error', error: { code: '', type: 'api_error', message } }),
    lengthStop: ({ openBlock, output }) =>
      (openBlock === null ? '' : event('content_block_stop', { type: 'content_block_stop', index: openBlock })) +
      event('message_delta', {
        type: 'message_delta',
        delta: { stop_reason: 'max_tokens', stop_sequence: null },
        usage: { output_tokens: output },
      }) +
      event('message_stop', { type: 'message_stop' }),
  },
  countAnswer: tokens => ({ input_tokens: tokens }),
}
