/**
 * In which words answers say why they ended, as one table: those of each protocol's inventor, and those that providers have beside
 * them. A word that is not here is counted by a metric, because it may mean that an answer failed.
 */

/**
 * Why an answer ended. `length`: the maximum that was asked for was reached; `context`: that of the model; `sequence`: a stop sequence
 * came; `failed`: something behind the upstream failed, and the answer is not whole.
 */
export type Finish =
  | 'end'
  | 'length'
  | 'sequence'
  | 'tool'
  | 'refusal'
  | 'context'
  | 'pause'
  | 'malformed'
  | 'other'
  | 'failed'

export type FinishingProtocol = 'messages' | 'chat' | 'responses' | 'generate'

export const FINISH_WORDS: Readonly<Record<FinishingProtocol, Readonly<Record<string, Finish>>>> = {
  /** `stop_reason` */
  messages: {
    end_turn: 'end',
    max_tokens: 'length',
    max_messages: 'length',
    stop_sequence: 'sequence',
    tool_use: 'tool',
    refusal: 'refusal',
    pause_turn: 'pause',
    steered: 'pause',
    compaction: 'other',
    model_context_window_exceeded: 'context',
  },
  /** `finish_reason` */
  chat: {
    stop: 'end',
    end_turn: 'end',
    eos: 'end',
    normal: 'end',
    stop_sequence: 'sequence',
    length: 'length',
    max_tokens: 'length',
    model_length: 'context',
    model_context_window_exceeded: 'context',
    tool_calls: 'tool',
    tool_use: 'tool',
    function_call: 'tool',
    content_filter: 'refusal',
    refusal: 'refusal',
    sensitive: 'refusal',
    error: 'failed',
    abort: 'failed',
    network_error: 'failed',
    insufficient_system_resource: 'failed',
  },
  /** The `status`, and the `reason` of one that is incomplete. */
  responses: {
    completed: 'end',
    incomplete: 'length',
    failed: 'failed',
    cancelled: 'failed',
    max_output_tokens: 'length',
    max_messages: 'length',
    content_filter: 'refusal',
    steered: 'pause',
  },
  /** `finishReason` */
  generate: {
    FINISH_REASON_UNSPECIFIED: 'other',
    STOP: 'end',
    MAX_TOKENS: 'length',
    CONTINUATION: 'length',
    SAFETY: 'refusal',
    RECITATION: 'refusal',
    LANGUAGE: 'refusal',
    BLOCKLIST: 'refusal',
    PROHIBITED_CONTENT: 'refusal',
    SPII: 'refusal',
    NO_IMAGE: 'refusal',
    IMAGE_SAFETY: 'refusal',
    IMAGE_PROHIBITED_CONTENT: 'refusal',
    IMAGE_RECITATION: 'refusal',
    IMAGE_OTHER: 'refusal',
    MALFORMED_FUNCTION_CALL: 'malformed',
    MALFORMED_RESPONSE: 'malformed',
    UNEXPECTED_TOOL_CALL: 'malformed',
    TOO_MANY_TOOL_CALLS: 'malformed',
    MISSING_THOUGHT_SIGNATURE: 'malformed',
    OTHER: 'other',
  },
}

/** Returns the meaning of a word; null = it is not known. */
export function finishOf(protocol: FinishingProtocol, word: string): Finish | null {
  const words = FINISH_WORDS[protocol]
  return Object.hasOwn(words, word) ? (words[word] as Finish) : null
}

/** Tells whether an answer ends with a word that nobody knows. An answer that is still under way says none. */
export const isStrangeFinish = (protocol: FinishingProtocol, word: unknown): boolean =>
  typeof word === 'string' && word !== '' && finishOf(protocol, word) === null
