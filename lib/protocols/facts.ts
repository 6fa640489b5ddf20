/** What a request body says, found by one shallow scan of its bytes. */
import { decode, JsonScanner, type Kind, parse, type ScanEvents, scalarOf } from './scan.ts'

/** A half-open range of byte offsets in the whole body. */
export interface Span {
  start: number
  end: number
}

export interface StreamOptions {
  /** The value of the (last) `stream_options` member. */
  span: Span
  isObject: boolean
  /** Of its last `include_usage` value, when it is an object that has one. */
  includeUsage: Span | null
  empty: boolean
}

export interface Facts {
  /** Top-level `model`, decoded; null = missing. */
  model: string | null
  /** False: there is a `model`, and it is no string, or too long to be a name. */
  modelIsString: boolean
  /** The value of the deciding `model` member, quotes included. */
  modelSpan: Span | null
  stream: boolean
  /** The largest maximum of output tokens that is named; null = none. 0 to 10^9. */
  maxOutput: number | null
  /** `n`, or generationConfig.candidateCount; 1 to 10^6. */
  n: number
  /** `stream_options.include_usage === true`. */
  includeUsage: boolean
  streamOptions: StreamOptions | null
  background: boolean
  /** The longest life of a cache entry that the body asks for anywhere; null = no cache_control. */
  cacheTtl: '5m' | '1h' | null
  /** `prompt_cache_key`, `metadata.user_id`: which conversation this is. */
  promptCacheKey: string | null
  userId: string | null
  /** `previous_response_id`: the earlier answer that this request continues; null = none. */
  previousAnswer: string | null
  /** Just after the opening brace. */
  openedAt: number
}

const LONGEST_NAME = 1024
const LONGEST_OBJECT = 64 * 1024
const MOST_TOKENS = 1e9
const MOST_N = 1e6

/** Members whose values are looked at, and up to how many bytes. */
const WANTED = new Map([
  ['model', LONGEST_NAME],
  ['prompt_cache_key', LONGEST_NAME],
  ['previous_response_id', LONGEST_NAME],
  ['stream_options', LONGEST_OBJECT],
  ['generationConfig', LONGEST_OBJECT],
  ['generation_config', LONGEST_OBJECT],
  ['metadata', LONGEST_OBJECT],
])
const CACHE_CONTROL = 'cache_control'
const ONE_HOUR = '1h'
const MAXIMA = new Set(['max_tokens', 'max_completion_tokens', 'max_output_tokens'])

export class FactsScan implements ScanEvents {
  readonly #scanner = new JsonScanner(this, { words: [CACHE_CONTROL, ONE_HOUR] })
  #cacheTtl: '5m' | '1h' | null = null
  readonly #maxima = new Map<string, number | null>()
  #model: string | null = null
  #modelIsString = false
  #modelSpan: Span | null = null
  #stream = false
  #n: number | null = null
  #candidateCount: number | null = null
  #streamOptions: StreamOptions | null = null
  #includeUsage = false
  #background = false
  #promptCacheKey: string | null = null
  #userId: string | null = null
  #previousAnswer: string | null = null

  feed(chunk: Buffer): void {
    this.#scanner.feed(chunk)
  }

  wants(key: string): number {
    if (key === CACHE_CONTROL) this.word(key)
    return WANTED.get(key) ?? 0
  }

  /** The word for an hour stands in a `cache_control`, which comes before it. */
  word(word: string): void {
    if (word === CACHE_CONTROL) this.#cacheTtl ??= '5m'
    else if (this.#cacheTtl !== null) this.#cacheTtl = '1h'
  }

  member(key: string, kind: Kind, start: number, end: number, bytes: Buffer | null): void {
    const read = READERS.get(key)
    if (read !== undefined) read.call(this, kind, { start, end }, bytes)
    else if (MAXIMA.has(key)) this.#maxima.set(key, tokens(kind, bytes))
  }

  /** null = not a JSON object. */
  end(): Facts | null {
    if (!this.#scanner.complete) return null
    return {
      model: this.#model,
      modelIsString: this.#modelIsString,
      modelSpan: this.#modelSpan,
      stream: this.#stream,
      maxOutput: this.#maxOutput,
      n: Math.min(MOST_N, Math.max(1, this.#n ?? this.#candidateCount ?? 1)),
      includeUsage: this.#includeUsage,
      streamOptions: this.#streamOptions,
      background: this.#background,
      cacheTtl: this.#cacheTtl,
      promptCacheKey: this.#promptCacheKey,
      userId: this.#userId,
      previousAnswer: this.#previousAnswer,
      openedAt: this.#scanner.openedAt,
    }
  }

  get #maxOutput(): number | null {
    let most: number | null = null
    for (const value of this.#maxima.values()) if (value !== null && (most === null || value > most)) most = value
    return most
  }

  static readonly readers: Record<string, (this: FactsScan, kind: Kind, span: Span, bytes: Buffer | null) => void> = {
    model(kind, span, bytes) {
      this.#modelSpan = span
      this.#model = kind === 'string' && bytes !== null ? decode(bytes) : null
      this.#modelIsString = this.#model !== null
    },
    stream(kind, _span, bytes) {
      this.#stream = isTrue(kind, bytes)
    },
    background(kind, _span, bytes) {
      this.#background = isTrue(kind, bytes)
    },
    n(kind, _span, bytes) {
      this.#n = tokens(kind, bytes)
    },
    prompt_cache_key(kind, _span, bytes) {
      this.#promptCacheKey = kind === 'string' && bytes !== null ? decode(bytes) : null
    },
    previous_response_id(kind, _span, bytes) {
      const named = kind === 'string' && bytes !== null ? decode(bytes) : null
      // what cannot be read names an answer that nobody has
      this.#previousAnswer = named ?? (isNull(kind, bytes) ? null : '')
    },
    metadata(_kind, _span, bytes) {
      const id = bytes === null ? undefined : field(parse(bytes), 'user_id')
      this.#userId = typeof id === 'string' && id !== '' ? id : null
    },
    generationConfig(_kind, _span, bytes) {
      this.#generationConfig(bytes)
    },
    generation_config(_kind, _span, bytes) {
      this.#generationConfig(bytes)
    },
    stream_options(kind, span, bytes) {
      const value = bytes === null ? undefined : parse(bytes)
      this.#includeUsage = kind === 'object' && field(value, 'include_usage') === true
      this.#streamOptions = streamOptions(kind, span, bytes, value)
    },
  }

  #generationConfig(bytes: Buffer | null): void {
    const config = bytes === null ? undefined : parse(bytes)
    this.#maxima.set('maxOutputTokens', bounded(field(config, 'maxOutputTokens') ?? field(config, 'max_output_tokens')))
    this.#candidateCount = bounded(field(config, 'candidateCount') ?? field(config, 'candidate_count'))
  }
}

const READERS = new Map(Object.entries(FactsScan.readers))

function streamOptions(kind: Kind, span: Span, bytes: Buffer | null, value: unknown): StreamOptions {
  const found: StreamOptions = {
    span,
    isObject: kind === 'object' && value !== undefined,
    includeUsage: null,
    empty: false,
  }
  if (!found.isObject || bytes === null) return found
  found.empty = Object.keys(value as object).length === 0
  const scanner = new JsonScanner({
    wants: () => 0,
    member(key, _kind, start, end) {
      if (key === 'include_usage') found.includeUsage = { start: span.start + start, end: span.start + end }
    },
  })
  scanner.feed(bytes)
  return found
}

const isTrue = (kind: Kind, bytes: Buffer | null): boolean =>
  kind === 'scalar' && bytes !== null && scalarOf(bytes) === true

const isNull = (kind: Kind, bytes: Buffer | null): boolean =>
  kind === 'scalar' && bytes !== null && scalarOf(bytes) === null

const tokens = (kind: Kind, bytes: Buffer | null): number | null =>
  kind === 'scalar' && bytes !== null ? bounded(scalarOf(bytes)) : null

/** A number as a count of tokens; anything else, and negative ones, as not said. */
const bounded = (value: unknown): number | null =>
  typeof value === 'number' && value >= 0 ? Math.min(MOST_TOKENS, Math.floor(value)) : null

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
