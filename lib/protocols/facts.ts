/** What a request body says, found by one shallow scan of its bytes. */

/** A half-open range of byte offsets in the whole body. */
export interface Span {
  start: number
  end: number
}

export interface Facts {
  /** Top-level `model`, decoded; null = missing. Not a string: `modelIsString` false. */
  model: string | null
  modelIsString: boolean
  /** The value token of the deciding `model` member, quotes included. */
  modelSpan: Span | null
  stream: boolean
  /** Largest meaning of max_tokens, max_completion_tokens, max_output_tokens, generationConfig.maxOutputTokens; null = none. Bounded to [0, 10^9]. */
  maxOutput: number | null
  /** `n`, or generationConfig.candidateCount; at least 1, bounded to 10^6. */
  n: number
  /** `stream_options.include_usage === true`. */
  includeUsage: boolean
  background: boolean
  /** The longest life of a cache entry that the body asks for anywhere; null = no cache_control. */
  cacheTtl: '5m' | '1h' | null
}
