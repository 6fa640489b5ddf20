/** What a messages answer reports, over all its events: each report replaces what an earlier one said, field by field. */
import { noUsage, type Usage } from '../usage.ts'
import { type Fields, fieldsOf, isFields } from '../fields.ts'
import { add, first, type Pass, type Report, report, reported } from '../reports.ts'

const TOTALS = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']
const SPLIT = ['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens']

export class MessageUsage {
  readonly #ttl: '5m' | '1h'
  readonly #numbers: Record<string, number> = {}
  #namesOutput = false
  #iterations: Fields[] = []

  constructor(ttl: '5m' | '1h') {
    this.#ttl = ttl
  }

  /** `event`: of a stream. The output that its first event names is a placeholder; a zero in a later one is no number. */
  add(usage: unknown, event?: 'first' | 'later'): void {
    if (!isFields(usage)) return
    for (const name of TOTALS) if (event !== 'first' || name !== 'output_tokens') this.#put(name, usage[name])
    const output = event === 'first' ? null : first(usage, 'output_tokens')
    this.#namesOutput ||= output !== null && (output > 0 || event === undefined)
    const split = fieldsOf(usage['cache_creation'])
    for (const name of SPLIT) this.#put(name, split[name])
    if (Array.isArray(usage['iterations'])) this.#iterations = usage['iterations'].filter(isFields)
  }

  /** Absent keeps what was said; some upstreams fill in zeros, which do not replace a number. */
  #put(name: string, value: unknown): void {
    const number = reported(value)
    if (number !== null && (number > 0 || this.#numbers[name] === undefined)) this.#numbers[name] = number
  }

  /** null until the input is known. */
  get report(): Report | null {
    if (this.#numbers['input_tokens'] === undefined) return null
    const namesOutput = this.#namesOutput
    const top = this.#usageOf(this.#numbers, this.#numbers)
    // with a fallback the top level is the pass that counts; otherwise passes of other kinds are not in it
    const fallback = this.#iterations.findLast(pass => pass['type'] === 'fallback_message')
    if (fallback !== undefined) return report(top, { namesOutput, passes: [{ model: modelOf(fallback), usage: top }] })
    const passes = this.#iterations.map(pass => ({
      model: modelOf(pass),
      usage: this.#usageOf(pass, fieldsOf(pass['cache_creation'])),
    }))
    const sum = noUsage()
    for (const pass of passes) add(sum, pass.usage)
    // passes that tell less than the top level leave something out
    if (sum.output < top.output || promptOf(sum) < promptOf(top)) return report(top, { namesOutput })
    return report(sum, { namesOutput, passes: passes.some(namesModel) ? passes : [] })
  }

  /** Cache writes that the split by lifetime does not name count with the lifetime that the request asked for. */
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
