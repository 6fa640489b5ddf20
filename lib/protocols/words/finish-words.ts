/**
 * In which words answers say why they ended, as one table: those of each protocol's inventor, and those that providers have beside
 * them. A word that is not here is counted by a metric, because it may mean that an answer failed.
 */

/**
 * Why an answer ended. `length`: the maximum that was asked for was reached; `context`: that of the model; `sequence`: a stop sequence
 * came; `steered`: somebody turned the answer elsewhere, and it is whole as far as it goes; `failed`: something behind the upstream failed;
 * `malformed`: the model wrote what cannot be read, or was asked what it cannot answer. The answer is not whole then.
 */
export type Finish =
  | 'end'
  | 'length'
  | 'sequence'
  | 'tool'
  | 'refusal'
  | 'context'
  | 'pause'
  | 'steered'
  | 'other'
  | 'failed'
  | 'malformed'

export type FinishingProtocol = 'messages' | 'chat' | 'responses' | 'generate' | 'converse'

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
    steered: 'steered',
    compaction: 'other',
    model_context_window_exceeded: 'context',
  },
  /** `finish_reason` */
  chat: {
    stop: 'end',
    end_turn: 'end',
    eos: 'end',
    eos_token: 'end',
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
    steered: 'steered',
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
  /** `stopReason` */
  converse: {
    end_turn: 'end',
    max_tokens: 'length',
    stop_sequence: 'sequence',
    tool_use: 'tool',
    guardrail_intervened: 'refusal',
    content_filtered: 'refusal',
    malformed_model_output: 'malformed',
    malformed_tool_use: 'malformed',
    model_context_window_exceeded: 'context',
  },
}

/** Returns the meaning of a word; null = it is not known. */
export function finishOf(protocol: FinishingProtocol, word: string): Finish | null {
  const words = FINISH_WORDS[protocol]
  return Object.hasOwn(words, word) ? (words[word] as Finish) : null
}

const LONGEST_WORD = 64

/** Returns the beginning of a word that nobody knows; null = it is known, or none: an answer that is still under way has none. */
export const strangeFinish = (protocol: FinishingProtocol, word: unknown): string | null =>
  typeof word === 'string' && word !== '' && finishOf(protocol, word) === null ? word.slice(0, LONGEST_WORD) : null
