/** What a request asks of the simulator, in every protocol: the prompt, the limits, and directives hidden in the prompt. */

export interface Options {
  listen: { host: string; port: number }
  /** Before the first byte. */
  latencyMs?: number
  /** Pace of streams; 0 or absent = as fast as it goes. */
  tokensPerSecond?: number
  /** Share of requests that fail with 500. */
  errorRate?: number
  /** Makes chance repeatable. */
  seed?: number
}

/** How this answer goes. */
export interface Script {
  id: string
  latencyMs: number
  tokens: number
  tokensPerSecond: number
  /** Status to answer with instead; 0 = none. */
  error: number
  retryAfterS: number
  /** Destroy the connection after this many events; -1 = never. */
  cut: number
  /** End cleanly, but early, after this many events. */
  endEarly: number
  /** The protocol's own error event after this many events. */
  eventError: number
  /** Say nothing any more after this many events. */
  stall: number
  reportsUsage: boolean
  /** Of each text event, padded to this many. */
  bytes: number
}

export interface Asked {
  model: string
  prompt: string
  stream: boolean
  promptTokens: number
  maxTokens: number
  n: number
  /** The first tool's name, when there are tools and the prompt wants one used. */
  tool: string | null
  cached: { read: number; written: number }
  /** Stream: usage was asked for (chat). */
  includeUsage: boolean
  body: Record<string, unknown>
}

const DEFAULT_TOKENS = 24
const MOST_TOKENS = 200_000
const BYTES_PER_TOKEN = 4.4
const DIRECTIVE = /\[\[sim ([^\]]{0,500})\]\]/

export function readScript(prompt: string, options: Options, random: () => number): Script {
  const given = new Map(
    (DIRECTIVE.exec(prompt)?.[1] ?? '').split(/\s+/).map(part => part.split('=') as [string, string]),
  )
  const number = (name: string, otherwise: number): number => {
    const value = Number(given.get(name))
    return given.has(name) && Number.isFinite(value) ? value : otherwise
  }
  const fails = (options.errorRate ?? 0) > 0 && random() < (options.errorRate as number)
  return {
    id: given.get('id') ?? '',
    latencyMs: number('latency', options.latencyMs ?? 0),
    tokens: Math.min(MOST_TOKENS, number('tokens', DEFAULT_TOKENS)),
    tokensPerSecond: number('tps', options.tokensPerSecond ?? 0),
    error: number('error', fails ? 500 : 0),
    retryAfterS: number('retry_after', 0),
    cut: number('cut', -1),
    endEarly: number('end_early', -1),
    eventError: number('event_error', -1),
    stall: number('stall', -1),
    reportsUsage: given.get('usage') !== 'none',
    bytes: number('bytes', 0),
  }
}

type Fields = Record<string, unknown>
const fields = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** All text in messages, input, contents or prompt. */
function textOf(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value
  if (depth > 8) return ''
  if (Array.isArray(value)) return value.map(v => textOf(v, depth + 1)).join('\n')
  const { text, content, parts } = fields(value)
  return [text, content, parts].map(v => (v === undefined ? '' : textOf(v, depth + 1))).join('')
}

const positive = (...values: unknown[]): number | null =>
  values.find((v): v is number => typeof v === 'number' && v > 0) ?? null

export function readRequest(body: Fields, pathModel: string | null, bodyBytes: number, cache: PromptCache): Asked {
  const prompt = [body['system'], body['messages'], body['input'], body['contents'], body['prompt']]
    .map(v => textOf(v))
    .join('\n')
  const config = fields(body['generationConfig'])
  const promptTokens = Math.max(1, Math.ceil(prompt.length / BYTES_PER_TOKEN))
  return {
    model: pathModel ?? String(body['model'] ?? ''),
    prompt,
    stream: body['stream'] === true,
    promptTokens,
    maxTokens:
      positive(
        body['max_tokens'],
        body['max_completion_tokens'],
        body['max_output_tokens'],
        config['maxOutputTokens'],
      ) ?? MOST_TOKENS,
    n: Math.min(8, positive(body['n']) ?? 1),
    tool: /use tool/i.test(prompt) ? toolName(body) : null,
    cached:
      JSON.stringify(body).includes('"cache_control"') && bodyBytes > 0
        ? cache.use(prompt, promptTokens)
        : { read: 0, written: 0 },
    includeUsage: fields(body['stream_options'])['include_usage'] === true,
    body,
  }
}

function toolName(body: Fields): string | null {
  for (const tool of list(body['tools']).map(fields)) {
    const declared = fields(list(tool['functionDeclarations'])[0])
    const name = tool['name'] ?? fields(tool['function'])['name'] ?? declared['name']
    if (typeof name === 'string') return name
  }
  return null
}

/** Prompts seen before are read from a cache, others written to it. */
export class PromptCache {
  readonly #seen = new Set<string>()

  use(prompt: string, tokens: number): { read: number; written: number } {
    const key = prompt.slice(0, 512)
    const most = tokens - 1
    if (this.#seen.has(key)) return { read: most, written: 0 }
    if (this.#seen.size >= 10_000) this.#seen.clear()
    this.#seen.add(key)
    return { read: 0, written: most }
  }
}
