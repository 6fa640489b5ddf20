/** The usage that an answer showed its client, as prompt and output, whichever protocol it is told in. */
import type { Talking } from '../support/talking.ts'

export interface ShownUsage {
  /** Tokens of the prompt, with what was read from caches and written into them. */
  prompt: number
  /** Of these, read from caches. */
  cached: number
  output: number
}

// biome-ignore lint/suspicious/noExplicitAny: answers of several protocols
type Loose = Record<string, any>

/** As some providers write it, in the last event of the first choice. */
const usageInChoice = (one: Loose): boolean => one['choices']?.[0]?.usage !== undefined

const READERS: Record<Exclude<Talking, 'images'>, (said: Loose[]) => ShownUsage | null> = {
  messages(said) {
    const all = said.flatMap(one => one['usage'] ?? one['message']?.usage ?? [])
    if (all.length === 0) return null
    const usage: Loose = Object.assign({}, ...all)
    const cached = usage['cache_read_input_tokens'] ?? 0
    const prompt = usage['input_tokens'] + (usage['cache_creation_input_tokens'] ?? 0) + cached
    return { prompt, cached, output: usage['output_tokens'] }
  },
  chat(said) {
    const usage = said.findLast(one => one['usage'])?.['usage'] ?? said.findLast(usageInChoice)?.['choices'][0].usage
    if (!usage) return null
    const cached = usage.prompt_tokens_details?.cached_tokens ?? usage.cached_tokens ?? 0
    return { prompt: usage.prompt_tokens, cached, output: usage.completion_tokens }
  },
  responses(said) {
    const usage = said.map(one => one['response']?.usage ?? one['usage']).findLast(one => one)
    if (!usage) return null
    const cached = usage.input_tokens_details?.cached_tokens ?? 0
    return { prompt: usage.input_tokens, cached, output: usage.output_tokens }
  },
  generate(said) {
    const usage = said.findLast(one => one['usageMetadata'])?.['usageMetadata']
    if (!usage) return null
    const output = (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0)
    return { prompt: usage.promptTokenCount, cached: usage.cachedContentTokenCount ?? 0, output }
  },
}

/** Of a whole answer; null = it shows none. */
export function shownUsage(protocol: Talking, text: string): ShownUsage | null {
  if (protocol === 'images') return null
  return READERS[protocol](saidIn(text))
}

/** A document, or the data of all events. */
function saidIn(text: string): Loose[] {
  if (/^\s*\{/.test(text)) return [JSON.parse(text)]
  const lines = text.split(/\r?\n/).filter(line => line.startsWith('data: {'))
  return lines.map(line => JSON.parse(line.slice('data: '.length)))
}
