/**
 * What translation cannot carry. A loss is named to the client in a header, so its words are a fixed list: nothing that a
 * client wrote ever reaches a header. What would make another answer of the request is refused.
 */

export const LOSS_WORDS = [
  'cache_control',
  'citations',
  'context_management',
  'documents',
  'effort',
  'hosted_tools',
  'image_detail',
  'include',
  'logit_bias',
  'max_output',
  'max_tool_calls',
  'message_names',
  'metadata',
  'moderation',
  'other',
  'parallel_tool_calls',
  'penalties',
  'prediction',
  'safety_settings',
  'sampling',
  'schema',
  'seed',
  'server_tools',
  'service_tier',
  'stop',
  'strict',
  'system_turns',
  'temperature',
  'thinking',
  'tool_arguments',
  'tool_choice',
  'tool_grammar',
  'top_k',
  'top_p',
  'truncation',
  'verbosity',
] as const
export type LossWord = (typeof LOSS_WORDS)[number]

/**
 * The request cannot be said in the protocol. `field`: a member of the client's body, as its protocol calls it; or one of the upstream's,
 * where that protocol refuses what stands there.
 */
export class Untranslatable extends Error {
  readonly field: string

  constructor(field: string) {
    super(`${field} cannot be translated`)
    this.field = field.slice(0, 100)
  }
}

/** The request has so many values that it should be translated elsewhere. */
export class ManyValues extends Error {}
