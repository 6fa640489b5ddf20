/** What streams and documents of responses have in common: the response itself, its items, how it ended, usage. */
import { outputOf } from '../../protocols/usage.ts'
import type { Opaque } from '../ask.ts'
import { flatCitation } from '../citation.ts'
import { codeOf } from '../error-object.ts'
import type { CallHead, Citation, StopReason } from '../events.ts'
import type { Failure } from '../failure.ts'
import { EMPTY, type Literal, literal, type Source } from '../json/literal.ts'
import { array, object, optional, typed } from '../json/write.ts'
import { seal } from '../opaque.ts'
import type { ShownUsage, WriterOptions } from '../protocol.ts'

/** What an answer repeats of its request, where the request does not say it. */
const UNSAID: Readonly<Record<string, Source>> = {
  instructions: 'null',
  max_output_tokens: 'null',
  max_tool_calls: 'null',
  metadata: '{}',
  parallel_tool_calls: 'true',
  prompt_cache_key: 'null',
  reasoning: '{"effort":null,"summary":null}',
  safety_identifier: 'null',
  service_tier: '"default"',
  temperature: '1',
  text: '{"format":{"type":"text"},"verbosity":"medium"}',
  tool_choice: '"auto"',
  tools: '[]',
  top_logprobs: '0',
  top_p: '1',
  truncation: '"disabled"',
  user: 'null',
}

export interface Ending {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  incomplete?: Source
  error?: Source
}

export const BEGUN: Ending = { status: 'in_progress' }

export const responseOf = (
  { requestId, createdS, model, ask }: WriterOptions,
  { status, incomplete = 'null', error = 'null' }: Ending,
  output: readonly Source[],
  usage: Source = 'null',
): Source =>
  object({
    id: literal(`resp_${requestId}`),
    object: '"response"',
    created_at: String(createdS),
    status: `"${status}"`,
    background: 'false',
    completed_at: 'null',
    error,
    incomplete_details: incomplete,
    model: literal(model),
    output: array(output),
    previous_response_id: 'null',
    store: 'false',
    ...UNSAID,
    ...ask.repeated,
    usage,
  })

/** How an answer ended. A refusal in words is a whole answer, unless there are calls, which nobody must run. */
export function endingOf(reason: StopReason, kinds: ReadonlySet<string>): Ending {
  if (reason === 'length' || reason === 'context') return cut('max_output_tokens')
  const isSaid = kinds.has('refusal') && !kinds.has('call')
  return reason === 'refusal' && !isSaid ? cut('content_filter') : { status: 'completed' }
}

const cut = (why: string): Ending => ({ status: 'incomplete', incomplete: `{"reason":"${why}"}` })

export const failed = (failure: Failure): Ending => ({
  status: 'failed',
  error: object({ code: literal(wordOf(failure)), message: literal(failure.message) }),
})

/** Clients repeat what fails for another reason than these. */
export const wordOf = (failure: Failure): string =>
  codeOf(failure) ?? (failure.kind === 'invalid' ? 'invalid_prompt' : 'server_error')

/** Here the prompt is one number, with what was read from a cache, or written to one, inside of it. */
export function usageOf(usage: ShownUsage, thinking: number): Source {
  const cached = usage.cache_read + usage.cache_read_audio + usage.cache_read_image
  const written = usage.cache_write_5m + usage.cache_write_1h
  const audio = usage.input_audio + usage.cache_read_audio
  const input = usage.input + usage.input_audio + usage.input_image + cached + written
  const output = outputOf(usage)
  const split = { ttl_30m_tokens: String(usage.cache_write_5m), ttl_12h_tokens: String(usage.cache_write_1h) }
  return object({
    input_tokens: String(input),
    input_tokens_details: object({
      cached_tokens: String(cached),
      cache_write_tokens: written === 0 ? undefined : String(written),
      cache_write_tokens_details: written === 0 ? undefined : object(split),
      audio_tokens: audio === 0 ? undefined : String(audio),
    }),
    output_tokens: String(output),
    output_tokens_details: object({
      reasoning_tokens: String(Math.min(thinking, output)),
      audio_tokens: usage.output_audio === 0 ? undefined : String(usage.output_audio),
    }),
    total_tokens: String(input + output),
  })
}

// --- items

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'
const PREFIXES = { text: 'msg', refusal: 'msg', thought: 'rs', media: 'ig', call: 'fc' } as const

/** `place`: in the output. */
export const itemId = (
  { requestId }: WriterOptions,
  kind: keyof typeof PREFIXES,
  place: number,
  freeform = false,
): Literal => literal(`${freeform ? 'ctc' : PREFIXES[kind]}_${requestId}_${place}`)

/** The part of a message that has its text. */
export const contentOf = (kind: 'text' | 'refusal', text: Literal, notes: readonly Citation[]): Source =>
  kind === 'refusal'
    ? typed('refusal', { refusal: text })
    : typed('output_text', { text, annotations: array(notes.map(flatCitation)), logprobs: '[]' })

export const messageItem = (id: Literal, content: readonly Source[], status: ItemStatus): Source =>
  object({ id, type: '"message"', status: `"${status}"`, role: '"assistant"', content: array(content) })

/** A state stands in it even where it is empty, so that an item of ours is known when it comes back. */
export const thoughtItem = (id: Literal, text: Literal, opaque: Opaque | null): Source =>
  object({
    id,
    type: '"reasoning"',
    summary: text === EMPTY ? '[]' : array([typed('summary_text', { text })]),
    encrypted_content: opaque === null ? 'null' : seal(opaque),
  })

export function callItem(id: Literal, call: CallHead, args: Literal, status: ItemStatus): Source {
  return object({
    id,
    type: call.freeform ? '"custom_tool_call"' : '"function_call"',
    status: `"${status}"`,
    call_id: literal(call.id),
    name: literal(call.name),
    namespace: optional(call.namespace),
    [call.freeform ? 'input' : 'arguments']: args,
  })
}

export const mediaItem = (id: Literal, base64: Literal): Source =>
  object({ id, type: '"image_generation_call"', status: '"completed"', result: base64 })

/** The arguments of a call that has ended. */
export const wholeArgs = ({ freeform }: CallHead, args: Literal): Literal =>
  args === EMPTY && !freeform ? '"{}"' : args
