/**
 * The usage that a messages answer reports over all its events. Each report replaces the numbers of earlier ones, field
 * by field.
 */

import { type Fields, fieldsOf, isFields } from '../json/text.ts'
import { addUsage, first, type Pass, type Report, usageReport, reported } from '../words/reports.ts'
import { noUsage, type Usage } from '../words/usage.ts'

const TOTALS = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']
const SPLIT = ['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens']
const SEARCHES = 'web_search_requests'

export class MessageUsage {
  readonly #ttl: '5m' | '1h'
  readonly #numbers: Record<string, number> = {}
  #namesOutput = false
  #iterations: Fields[] = []
  #thinks = false

  constructor(ttl: '5m' | '1h') {
    this.#ttl = ttl
  }

  /**
   * `event`: which event of a stream has the report. The output in the first event is a placeholder; a 0 in a later
   * event is not a number.
   */
  add(usage: unknown, event?: 'first' | 'later'): void {
    if (!isFields(usage)) return
    for (const name of TOTALS) if (event !== 'first' || name !== 'output_tokens') this.#put(name, usage[name])
    const output = event === 'first' ? null : first(usage, 'output_tokens')
    this.#namesOutput ||= output !== null && (output > 0 || event === undefined)
    const split = fieldsOf(usage['cache_creation'])
    for (const name of SPLIT) this.#put(name, split[name])
    this.#thinks ||= (first(fieldsOf(usage['output_tokens_details']), 'thinking_tokens') ?? 0) > 0
    this.#put(SEARCHES, fieldsOf(usage['server_tool_use'])[SEARCHES])
    if (Array.isArray(usage['iterations'])) this.#iterations = usage['iterations'].filter(isFields)
  }

  /** Notes a number. A missing number changes nothing, and neither does a 0, which some upstreams fill in. */
  #put(name: string, value: unknown): void {
    const number = reported(value)
    if (number !== null && (number > 0 || this.#numbers[name] === undefined)) this.#numbers[name] = number
  }

  /** The report so far; null = the input is not known yet. */
  get report(): Report | null {
    if (this.#numbers['input_tokens'] === undefined) return null
    const said = { namesOutput: this.#namesOutput, thinks: this.#thinks }
    const top = { ...this.#usageOf(this.#numbers, this.#numbers), searches: first(this.#numbers, SEARCHES) ?? 0 }
    // after a fallback the top level has the usage of the fallback; otherwise other passes are not in it
    const fallback = this.#iterations.findLast(pass => pass['type'] === 'fallback_message')
    if (fallback !== undefined) return usageReport(top, { ...said, passes: [{ model: modelOf(fallback), usage: top }] })
    const passes = this.#iterations.map(pass => ({
      model: modelOf(pass),
      usage: this.#usageOf(pass, fieldsOf(pass['cache_creation'])),
    }))
    const sum = { ...noUsage(), searches: top.searches }
    for (const pass of passes) addUsage(sum, pass.usage)
    // when the passes have less than the top level, some of them are missing
    if (sum.output < top.output || promptOf(sum) < promptOf(top)) return usageReport(top, said)
    // each pass has a prompt of its own, whatever model made it
    return usageReport(sum, { ...said, passes: passes.length > 1 || passes.some(namesModel) ? passes : [] })
  }

  /** Cache writes that are not split by life count as the life that the request asked for. */
  #usageOf(totals: Fields, split: Fields): Usage {
    const write5m = first(split, 'ephemeral_5m_input_tokens') ?? 0
    const write1h = first(split, 'ephemeral_1h_input_tokens') ?? 0
    const rest = Math.max(0, (first(totals, 'cache_creation_input_tokens') ?? 0) - write5m - write1h)
    return {
      ...noUsage(),
      input: first(totals, 'input_tokens') ?? 0,
      cache_read: first(totals, 'cache_read_input_tokens') ?? 0,
      cache_write_5m: write5m + (this.#ttl === '5m' ? rest : 0),
      cache_write_1h: write1h + (this.#ttl === '1h' ? rest : 0),
      output: first(totals, 'output_tokens') ?? 0,
    }
  }
}

const modelOf = (pass: Fields): string | null => (typeof pass['model'] === 'string' ? pass['model'] : null)
const namesModel = (pass: Pass): boolean => pass.model !== null
const promptOf = (usage: Usage): number => usage.input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
