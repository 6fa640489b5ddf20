/**
 * In which words upstreams report what they used, as one table. The inventor of a protocol has words for it, and the providers that
 * speak the protocol after him have others beside these, or say the same in another place. No field has two meanings among them, so
 * that every channel reads all of them, whatever its kind; a test finds a field that two rows read differently. The same test has for
 * every row of a provider an answer that was recorded of it, or the example of its documentation (`test/protocols/recorded`).
 */
import { type Fields, isFields } from '../json/fields.ts'
import type { KindName } from './kinds.ts'
import { MOST, reported } from './reports.ts'

/**
 * What a number is.
 * - `prompt`, `completion`, `total`: what the report begins with. `reasoning`: a part of the completion, or beside it.
 * - `beside`: input that is not in the prompt.
 * - `cached`, `written`, `written_5m`, `written_1h`: parts of the prompt.
 * - `searches`: all searches of the answer. `search_calls`: some of them, which are added up.
 */
export type UsagePart =
  | 'prompt'
  | 'completion'
  | 'total'
  | 'reasoning'
  | 'beside'
  | 'cached'
  | 'written'
  | 'written_5m'
  | 'written_1h'
  | 'searches'
  | 'search_calls'

export type WordedProtocol = 'chat' | 'responses'

export interface UsageWord {
  readonly protocol: WordedProtocol
  /** Where the number stands in the usage. An array on the way stands for the element with the largest number. */
  readonly field: string
  readonly part: UsagePart
  /** The kinds of provider that are known to say it so; empty = it is the protocol's own word, or that of gateways between. */
  readonly kinds: readonly KindName[]
}

const word = (protocol: WordedProtocol, part: UsagePart, field: string, ...kinds: KindName[]): UsageWord => ({
  protocol,
  field,
  part,
  kinds,
})

export const USAGE_WORDS: readonly UsageWord[] = [
  word('chat', 'prompt', 'prompt_tokens'),
  word('chat', 'completion', 'completion_tokens'),
  word('chat', 'total', 'total_tokens'),
  word('chat', 'reasoning', 'completion_tokens_details.reasoning_tokens'),
  word('chat', 'reasoning', 'reasoning_tokens', 'perplexity'),
  word('chat', 'beside', 'citation_tokens', 'perplexity'),
  word('chat', 'cached', 'prompt_tokens_details.cached_tokens'),
  word('chat', 'cached', 'cached_tokens', 'moonshot'),
  word('chat', 'cached', 'prompt_cache_hit_tokens', 'deepseek'),
  word('chat', 'cached', 'num_cached_tokens'),
  word('chat', 'cached', 'cache_read_input_tokens'),
  word('chat', 'written', 'prompt_tokens_details.cache_write_tokens', 'openrouter'),
  word('chat', 'written', 'prompt_tokens_details.cache_creation_input_tokens', 'dashscope'),
  word('chat', 'written', 'cache_creation_input_tokens'),
  word('chat', 'written_5m', 'prompt_tokens_details.cache_creation.ephemeral_5m_input_tokens', 'dashscope'),
  word('chat', 'written_1h', 'prompt_tokens_details.cache_creation.ephemeral_1h_input_tokens'),
  word('chat', 'searches', 'num_search_queries', 'perplexity'),
  word('chat', 'searches', 'server_tool_use.web_search_requests', 'openrouter'),
  word('chat', 'searches', 'prompt_tokens_details.web_search_requests'),
  word('chat', 'searches', 'plugins.search.count', 'dashscope'),
  word('chat', 'searches', 'num_sources_used', 'xai'),
  word('chat', 'search_calls', 'server_side_tool_usage_details.web_search_calls', 'xai'),
  word('chat', 'search_calls', 'server_side_tool_usage_details.x_search_calls', 'xai'),

  word('responses', 'prompt', 'input_tokens'),
  word('responses', 'completion', 'output_tokens'),
  word('responses', 'total', 'total_tokens'),
  word('responses', 'reasoning', 'output_tokens_details.reasoning_tokens'),
  word('responses', 'cached', 'input_tokens_details.cached_tokens'),
  word('responses', 'written', 'input_tokens_details.cache_write_tokens'),
  word('responses', 'written', 'input_tokens_details.cache_creation_input_tokens'),
  word('responses', 'written', 'x_details.prompt_tokens_details.cache_creation_input_tokens', 'dashscope'),
  word('responses', 'written_1h', 'input_tokens_details.cache_write_tokens_details.ttl_12h_tokens'),
  word('responses', 'searches', 'plugins.search.count'),
  word('responses', 'searches', 'x_tools.web_search.count', 'dashscope'),
  word('responses', 'searches', 'x_details.plugins.web_search.count', 'dashscope'),
  word('responses', 'searches', 'tool_usage.web_search', 'volcengine'),
  word('responses', 'searches', 'num_sources_used', 'xai'),
  word('responses', 'search_calls', 'server_side_tool_usage_details.web_search_calls', 'xai'),
  word('responses', 'search_calls', 'server_side_tool_usage_details.x_search_calls', 'xai'),
]

/** No honest report has more elements in a list. */
const MOST_ELEMENTS = 100

/** The number at the end of a path; null = there is none. */
function at(value: unknown, path: readonly string[], from: number): number | null {
  let here = value
  for (let i = from; i < path.length; i++) {
    if (Array.isArray(here)) return largestOf(here, path, i)
    if (!isFields(here)) return null
    here = here[path[i] as string]
  }
  return reported(here)
}

function largestOf(list: readonly unknown[], path: readonly string[], from: number): number | null {
  let largest: number | null = null
  for (const one of list.slice(0, MOST_ELEMENTS)) {
    const number = isFields(one) ? at(one, path, from) : null
    if (number !== null && (largest === null || number > largest)) largest = number
  }
  return largest
}

/** Reads the numbers of one protocol's usage, whoever reports it. */
export class UsageWords {
  readonly #paths = new Map<UsagePart, string[][]>()

  constructor(protocol: WordedProtocol) {
    for (const { field, part } of USAGE_WORDS.filter(one => one.protocol === protocol)) {
      const paths = this.#paths.get(part) ?? []
      paths.push(field.split('.'))
      this.#paths.set(part, paths)
    }
  }

  /** The largest number that is reported in any of the words: some say 0 in one place and the number in another. null = none is. */
  largest(usage: Fields, part: UsagePart): number | null {
    let largest: number | null = null
    for (const path of this.#paths.get(part) ?? []) {
      const number = at(usage, path, 0)
      if (number !== null && (largest === null || number > largest)) largest = number
    }
    return largest
  }

  /** The same, 0 = none is reported. */
  count(usage: Fields, part: UsagePart): number {
    return this.largest(usage, part) ?? 0
  }

  /** All searches that are reported. */
  searches(usage: Fields): number {
    let calls = 0
    for (const path of this.#paths.get('search_calls') ?? []) calls += at(usage, path, 0) ?? 0
    return Math.max(this.count(usage, 'searches'), calls)
  }

  /**
   * The output. Some upstreams leave reasoning out of the completion, and only their total tells: it is output of its own where
   * completion and reasoning make the total, and else it is a part of the completion. Where nobody names it, the rest of the total
   * is output.
   */
  output(usage: Fields, prompt: number, completion: number): number {
    const beside = this.count(usage, 'beside')
    const rest = this.count(usage, 'total') - prompt - completion
    const reasoning = this.count(usage, 'reasoning')
    if (reasoning === 0) return Math.min(MOST, completion + Math.max(0, rest - beside))
    return rest === reasoning || rest === reasoning + beside ? Math.min(MOST, completion + reasoning) : completion
  }

  /** The tokens that were written to a cache, and those of them that live long. */
  written(usage: Fields): { written: number; written1h: number } {
    const written1h = this.count(usage, 'written_1h')
    const byLife = this.count(usage, 'written_5m') + written1h
    return { written: Math.max(this.count(usage, 'written'), byLife), written1h }
  }
}
