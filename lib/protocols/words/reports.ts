/**
 * How the numbers and words by which upstreams report what they used become usage: numbers are checked, put into classes that do
 * not overlap, and split by what they stand for.
 *
 * Upstreams report a total, and beside it details (text, pictures, sound) that may name too many tokens, too few, or none. The
 * total always stays what it is:
 * - Details above the total are taken off sound first, then pictures, then text.
 * - All that no detail names is text. Of tokens that were cached, it is taken from text first, then pictures, then sound.
 */
import { type Fields, fieldsOf, isFields, NO_FIELDS } from '../json/text.ts'
import type { KindName } from './kinds.ts'
import {
  type CountedKind,
  INPUT_CLASSES,
  inputOf,
  MOST_TOKENS,
  noUsage,
  OUTPUT_CLASSES,
  outputOf,
  type TierNames,
  type Usage,
} from './usage.ts'

/** A number from 0 to 10^9, a fraction as the next whole number; null = anything else, which counts as not reported. */
export const reported = (value: unknown): number | null =>
  typeof value === 'number' && value >= 0 && value <= MOST_TOKENS ? Math.ceil(value) : null

/**
 * What one model used, of an answer in which several took part. `model` is the upstream's name of it; null = the model
 * that was asked for.
 */
export interface Pass {
  model: string | null
  usage: Usage
}

export interface Report {
  usage: Usage
  /** True when the report names the input; otherwise only what it names of it, such as reads of a cache, is in `usage`. */
  namesInput: boolean
  /** True when the report names the output. The first event of a stream may name the input alone. */
  namesOutput: boolean
  /** The usage of each model, together `usage`; empty = the asked model used all of it. */
  passes: readonly Pass[]
  /** The kinds of the pictures that the report counts, as far as it says size or quality. */
  kinds: readonly CountedKind[]
  /** The number of these pictures that were seen in the answer. */
  seenImages: number
  /** True when it reports tokens of thoughts. */
  thinks: boolean
}

/** Adds `more` to `sum`. No class grows beyond the largest number that a report may have. */
export function addToUsage(sum: Usage, more: Usage): void {
  for (const name in sum)
    sum[name as keyof Usage] = Math.min(MOST_TOKENS, sum[name as keyof Usage] + more[name as keyof Usage])
}

const NOTHING_ELSE: Partial<Omit<Report, 'usage'>> = {}
const NO_PASSES: readonly Pass[] = []
const NO_KINDS: readonly CountedKind[] = []

/** Makes a report; null = all numbers are zero, which is what upstreams send that do not count. */
export function usageReport(usage: Usage, said: Partial<Omit<Report, 'usage'>> = NOTHING_ELSE): Report | null {
  const { namesInput = true, namesOutput = true, passes = NO_PASSES, kinds = NO_KINDS } = said
  const { seenImages = usage.images, thinks = false } = said
  for (const name in usage)
    if (usage[name as keyof Usage] > 0)
      return { usage, namesInput, namesOutput: namesOutput && saysTokens(usage), passes, kinds, seenImages, thinks }
  return null
}

/** The later report of a stream counts; of what it does not name, what was reported before stays. */
export function laterReport(earlier: Report | null, later: Report): Report {
  if (earlier === null) return later
  const keepsInput = !later.namesInput && earlier.namesInput
  const keepsOutput = !later.namesOutput && outputOf(earlier.usage) > outputOf(later.usage)
  if (!keepsInput && !keepsOutput) return later
  const usage = { ...later.usage }
  if (keepsInput) for (const name of INPUT_CLASSES) usage[name] = earlier.usage[name]
  if (keepsOutput) for (const name of OUTPUT_CLASSES) usage[name] = earlier.usage[name]
  return { ...later, usage, namesInput: later.namesInput || keepsInput }
}

/** Neither input nor output is what upstreams send that do not count; where pictures are, there may be no tokens. */
export const saysTokens = (usage: Usage): boolean => usage.images > 0 || inputOf(usage) > 0 || outputOf(usage) > 0

/** The first of the named fields that is a valid number; null = none is. */
export const first = (fields: Fields, name: string, second?: string, third?: string): number | null =>
  reported(fields[name]) ?? (second === undefined ? null : first(fields, second, third))

// --- names of tiers

const LONGEST_TIER = 64
const SAYS_NOTHING = /^(auto|((service_tier|traffic_type)_)?unspecified)?$/i

/** Returns the name of a tier as a request or an answer says it; null = it says nothing, or is too long to be one. */
export const tierName = (value: unknown): string | null =>
  typeof value === 'string' && value.length <= LONGEST_TIER && !SAYS_NOTHING.test(value) ? value : null

/** Values of an answer that may name its tier. */
export interface ToldTiers {
  service?: unknown
  speed?: unknown
  geo?: unknown
}

/** The last name that was told counts; one that says nothing changes nothing. */
export function laterTiers(earlier: TierNames, told: ToldTiers): TierNames {
  const service = tierName(told.service) ?? earlier.service
  const speed = tierName(told.speed) ?? earlier.speed
  const geo = tierName(told.geo) ?? earlier.geo
  if (service === earlier.service && speed === earlier.speed && geo === earlier.geo) return earlier
  return { service, speed, geo }
}

// --- details by what the tokens stand for

export interface Modal {
  text: number
  image: number
  audio: number
}

const NO_DETAILS: Modal = { text: 0, image: 0, audio: 0 }

/** Tells whether all of it is text, so that nothing has to be split. */
const isText = ({ image, audio }: Modal): boolean => image === 0 && audio === 0

const sumOf = ({ text, image, audio }: Modal): number => text + image + audio

/** Details that have no more than the total. */
function trimmed(total: number, details: Modal): Modal {
  if (sumOf(details) <= total) return details
  const text = Math.min(details.text, total)
  const image = Math.min(details.image, total - text)
  return { text, image, audio: Math.min(details.audio, total - text - image) }
}

/** The total by its details. */
export function split(total: number, details: Modal): Modal {
  const { image, audio } = trimmed(total, details)
  return { text: total - image - audio, image, audio }
}

/** Returns which of the tokens `from` are the `total` that was cached, or written to a cache. The total is no more than they. */
function taken(total: number, from: Modal, details: Modal): Modal {
  const named = trimmed(total, {
    text: Math.min(details.text, from.text),
    image: Math.min(details.image, from.image),
    audio: Math.min(details.audio, from.audio),
  })
  const text = Math.min(from.text, total - named.image - named.audio)
  const image = Math.min(from.image, total - text - named.audio)
  return { text, image, audio: total - text - image }
}

const without = (from: Modal, less: Modal): Modal => ({
  text: from.text - less.text,
  image: from.image - less.image,
  audio: from.audio - less.audio,
})

/** Details as OpenAI-compatible upstreams report them. Frames of a film count as pictures; its sound is named apart. */
export function detailsOf(details: Fields): Modal {
  if (details === NO_FIELDS) return NO_DETAILS
  const text = first(details, 'text_tokens', 'cached_text_tokens') ?? 0
  const pictures = first(details, 'image_tokens', 'cached_image_tokens') ?? 0
  const image = pictures + (first(details, 'video_tokens', 'cached_video_tokens') ?? 0)
  const audio = first(details, 'audio_tokens', 'cached_audio_tokens') ?? 0
  return text + image + audio === 0 ? NO_DETAILS : { text, image, audio }
}

/** Documents, and whatever else there may be, are text. */
const MODALITIES: Readonly<Record<string, keyof Modal>> = { IMAGE: 'image', VIDEO: 'image', AUDIO: 'audio' }

/** Details as a list of `{modality, tokenCount}`. */
export function listedDetails(list: unknown): Modal {
  if (!Array.isArray(list)) return NO_DETAILS
  const sum = { ...NO_DETAILS }
  for (const detail of list.filter(isFields)) {
    const { modality } = detail
    const of = typeof modality === 'string' && Object.hasOwn(MODALITIES, modality) ? MODALITIES[modality] : undefined
    sum[of ?? 'text'] += first(detail, 'tokenCount') ?? 0
  }
  return sum
}

/** The report of an upstream whose prompt includes the tokens that were read from a cache and written to one. */
export interface Counts {
  prompt: number
  output: number
  cached?: number
  written?: number
  /** The part of those written that lives long. */
  written1h?: number
  details?: { prompt?: Modal; cached?: Modal; output?: Modal }
}

/** The usage in classes that do not overlap. All classes of input together are the prompt. */
export function fromPrompt({ prompt, output, cached = 0, written = 0, written1h = 0, details }: Counts): Usage {
  const usage = noUsage()
  const read = Math.min(cached, prompt)
  const writes = Math.min(written, prompt - read)
  usage.cache_write_1h = Math.min(written1h, writes)
  usage.cache_write_5m = writes - usage.cache_write_1h
  usage.input = prompt - read - writes
  usage.cache_read = read
  usage.output = output
  if (details?.prompt !== undefined && !isText(details.prompt))
    splitInput(usage, split(prompt, details.prompt), details.cached ?? NO_DETAILS, writes)
  if (details?.output !== undefined && !isText(details.output)) {
    const made = split(output, details.output)
    usage.output = made.text
    usage.output_audio = made.audio
    usage.output_image = made.image
  }
  return usage
}

function splitInput(usage: Usage, all: Modal, cached: Modal, writes: number): void {
  const read = taken(usage.cache_read, all, cached)
  const unread = without(all, read)
  const fresh = without(unread, taken(writes, unread, NO_DETAILS))
  usage.input = fresh.text
  usage.input_audio = fresh.audio
  usage.input_image = fresh.image
  usage.cache_read = read.text
  usage.cache_read_audio = read.audio
  usage.cache_read_image = read.image
}

// --- in which words chat and responses report usage

/**
 * The part of a report that a number is.
 * - `prompt`, `completion`, `total`: the report begins with these. `reasoning`: a part of the completion, or beside it.
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

type WordedProtocol = 'chat' | 'responses'

export interface UsageWord {
  readonly protocol: WordedProtocol
  /** The path to the number in the usage. An array on the way stands for the element with the largest number. */
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

/**
 * The inventor of a protocol has words for usage, and the providers that speak the protocol after him have others beside these,
 * or say the same in another place. No field has two meanings among them, so that every channel reads all of them, whatever its
 * kind; a test finds a field that two rows read differently. The same test has for every row of a provider an answer that was
 * recorded of it, or the example of its documentation (`test/protocols/recorded`).
 */
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

/** Returns the number at the end of a path, of an array on the way that of the largest element; null = there is none. */
function numberAt(value: unknown, path: readonly string[], from = 0): number | null {
  let here = value
  for (let i = from; i < path.length; i++) {
    if (Array.isArray(here)) return largestAt(here, path, i)
    if (!isFields(here)) return null
    here = here[path[i] as string]
  }
  return reported(here)
}

// by itself, because a function in the loop above would take memory for each step of each path
const largestAt = (all: readonly unknown[], path: readonly string[], from: number): number | null =>
  largestOf(all.slice(0, MOST_ELEMENTS), one => (isFields(one) ? numberAt(one, path, from) : null))

function largestOf<T>(all: readonly T[], numberOf: (one: T) => number | null): number | null {
  let largest: number | null = null
  for (const one of all) {
    const number = numberOf(one)
    if (number !== null && (largest === null || number > largest)) largest = number
  }
  return largest
}

/** The numbers of a usage. Prompt and completion are null where they are missing, the others 0. */
class Numbers implements Record<UsagePart, number | null> {
  prompt: number | null = null
  completion: number | null = null
  total = 0
  reasoning = 0
  beside = 0
  cached = 0
  written = 0
  written_5m = 0
  written_1h = 0
  searches = 0
  search_calls = 0
}

/** Reads the numbers of one protocol's usage, whoever reports it. */
export class UsageWords {
  /** The words by the first step of their paths: a usage has few members, and there are many words. */
  readonly #words = new Map<string, { part: UsagePart; path: readonly string[] }[]>()
  readonly #details: { prompt: string; output: string }

  /** `details`: the members of the usage with details of the prompt, and of the output. */
  constructor(protocol: WordedProtocol, details: { prompt: string; output: string }) {
    this.#details = details
    for (const { field, part } of USAGE_WORDS.filter(one => one.protocol === protocol)) {
      const path = field.split('.')
      const words = this.#words.get(path[0] as string) ?? []
      words.push({ part, path })
      this.#words.set(path[0] as string, words)
    }
  }

  /** Returns the report of a usage; null = the tokens of the prompt and of the completion are missing. `add`: adds what is reported elsewhere. */
  report(value: unknown, add?: (usage: Usage) => void): Report | null {
    if (!isFields(value)) return null
    const numbers = completed(this.#numbersOf(value))
    const { prompt, completion, written_1h: written1h } = numbers
    if (prompt === null && completion === null) return null
    const details = fieldsOf(value[this.#details.prompt])
    const written = Math.max(numbers.written, numbers.written_5m + written1h)
    const usage = fromPrompt({
      prompt: prompt ?? numbers.cached + written,
      cached: numbers.cached,
      written,
      written1h,
      output: outputIn(numbers),
      details: {
        prompt: detailsOf(details),
        cached: detailsOf(fieldsOf(details['cached_tokens_details'])),
        output: detailsOf(fieldsOf(value[this.#details.output])),
      },
    })
    usage.input = Math.min(MOST_TOKENS, usage.input + numbers.beside)
    usage.searches = Math.max(numbers.searches, numbers.search_calls)
    add?.(usage)
    const thinks = numbers.reasoning > 0
    return usageReport(usage, { namesInput: prompt !== null, namesOutput: completion !== null, thinks })
  }

  /** Reads of each part the largest number in any of its words: some say 0 in one place and the number in another. */
  #numbersOf(usage: Fields): Numbers {
    const numbers = new Numbers()
    for (const name in usage) {
      const words = this.#words.get(name)
      if (words === undefined) continue
      for (let i = 0; i < words.length; i++) {
        const { part, path } = words[i] as (typeof words)[number]
        const number = numberAt(usage, path)
        if (number === null) continue
        const before = numbers[part] ?? 0
        if (part === 'search_calls') numbers[part] = before + number
        else if (number >= before) numbers[part] = number
      }
    }
    return numbers
  }
}

/**
 * Of a report that names the total and only one half, the other half is the rest. A total that is no more than the half that is named
 * tells nothing of the other; nor does one that may include more: input beside the prompt, or reasoning beside the completion.
 */
function completed(numbers: Numbers): Numbers {
  const { prompt, completion, total, beside, reasoning, cached, written } = numbers
  if (beside > 0) return numbers
  if (prompt !== null && completion === null && total > prompt && total - prompt >= reasoning)
    numbers.completion = total - prompt
  if (prompt === null && completion !== null && reasoning === 0 && total > completion + cached + written)
    numbers.prompt = total - completion
  return numbers
}

/**
 * The output. Some upstreams leave reasoning out of the completion, and only their total tells: it is output of its own where
 * completion and reasoning make the total, and else it is a part of the completion. Where nobody names it, the rest of the total
 * is output. Without prompt or completion the total tells nothing.
 */
function outputIn({ prompt, completion, beside, total, reasoning }: Numbers): number {
  if (prompt === null || completion === null) return completion ?? reasoning
  const rest = total - prompt - completion
  if (reasoning === 0) return Math.min(MOST_TOKENS, completion + Math.max(0, rest - beside))
  const isOwn = rest === reasoning || rest === reasoning + beside
  return isOwn ? Math.min(MOST_TOKENS, completion + reasoning) : completion
}
