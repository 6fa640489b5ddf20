/** What streams and documents of the messages protocol have in common: reasons, usage, errors, blocks. */
import { outputOf } from '../../protocols/usage.ts'
import type { CallHead, StopReason } from '../events.ts'
import type { Failure, FailureKind } from '../failure.ts'
import { type Literal, literal, type Source } from '../json/literal.ts'
import { object, typed } from '../json/write.ts'
import type { ShownUsage, WriterOptions, WrittenError } from '../protocol.ts'

const REASONS: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  sequence: 'stop_sequence',
  tool: 'tool_use',
  refusal: 'refusal',
  context: 'model_context_window_exceeded',
  pause: 'pause_turn',
  malformed: 'end_turn',
  other: 'end_turn',
}

/** The members that say why the answer ended. */
export const stopMembers = (reason: StopReason, sequence: Literal | null): Record<string, Source> => ({
  stop_reason: `"${REASONS[reason]}"`,
  stop_sequence: reason === 'sequence' && sequence !== null ? sequence : 'null',
  stop_details: 'null',
})

/** The members of a usage that a stream tells, too. Prompts of any kind are one number here. */
export function usageMembers(usage: ShownUsage, thinking: number): Record<string, Source> {
  const output = outputOf(usage)
  return {
    input_tokens: String(usage.input + usage.input_audio + usage.input_image),
    cache_creation_input_tokens: String(usage.cache_write_5m + usage.cache_write_1h),
    cache_read_input_tokens: String(usage.cache_read + usage.cache_read_audio + usage.cache_read_image),
    output_tokens: String(output),
    ...(thinking > 0 ? { output_tokens_details: `{"thinking_tokens":${Math.min(thinking, output)}}` } : {}),
  }
}

/** The members of the message that come before its content. */
export const messageHead = ({ requestId, model }: WriterOptions): Record<string, Source> => ({
  id: literal(`msg_${requestId}`),
  type: '"message"',
  role: '"assistant"',
  model: literal(model),
})

export const callMembers = ({ id, name }: CallHead, input: Source): Record<string, Source> => ({
  id: literal(id),
  name: literal(name),
  input,
  caller: '{"type":"direct"}',
})

const MIME = /^[\w.+-]{1,40}\/[\w.+-]{1,60}$/

/** Stands where a picture was that has no place here. */
export const leftOut = (mime: string): Literal =>
  literal(
    `[A file (${MIME.test(mime) ? mime : 'unknown'}) was left out: this protocol has no place for it in answers.]`,
  )

const TYPES: Readonly<Record<FailureKind, string>> = {
  invalid: 'invalid_request_error',
  context: 'invalid_request_error',
  not_found: 'not_found_error',
  too_large: 'request_too_large',
  timeout: 'timeout_error',
  rate: 'rate_limit_error',
  quota: 'rate_limit_error',
  overloaded: 'overloaded_error',
  server: 'api_error',
}

/** Clients shorten a conversation when they read these words. */
const TOO_LONG = 'prompt is too long'

function errorOf({ kind, message }: Failure): Source {
  const text = kind === 'context' && !message.includes(TOO_LONG) ? `${TOO_LONG}: ${message}` : message
  return typed('error', { error: object({ type: `"${TYPES[kind]}"`, message: literal(text) }) })
}

export const writeError = (failure: Failure): WrittenError => ({ status: failure.status, body: errorOf(failure) })

export const event = (type: string, members: Record<string, Source>): string =>
  `event: ${type}\ndata: ${typed(type, members)}\n\n`

export const errorEvent = (failure: Failure): string => `event: error\ndata: ${errorOf(failure)}\n\n`

/** How a stream begins. What was read is not known yet, and clients want to see more than nothing. */
export function startEvent(options: WriterOptions): string {
  const usage = object({
    input_tokens: String(options.inputEstimate),
    cache_creation_input_tokens: '0',
    cache_read_input_tokens: '0',
    output_tokens: '0',
  })
  const unsaid = { stop_reason: 'null', stop_sequence: 'null', stop_details: 'null' }
  return event('message_start', { message: object({ ...messageHead(options), content: '[]', ...unsaid, usage }) })
}
