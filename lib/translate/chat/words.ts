/** What streams and documents of chat completions have in common: reasons, usage, errors, the names of the answer. */
import { outputOf } from '../../protocols/usage.ts'
import type { Opaque } from '../ask.ts'
import { asDataUrl } from '../data-url.ts'
import { errorObject } from '../error-object.ts'
import type { StopReason } from '../events.ts'
import type { Failure } from '../failure.ts'
import { type Literal, literal, type Source } from '../json/literal.ts'
import { object, typed } from '../json/write.ts'
import { seal } from '../opaque.ts'
import type { ShownUsage, WriterOptions } from '../protocol.ts'

const REASONS: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  length: 'length',
  sequence: 'stop',
  tool: 'tool_calls',
  refusal: 'content_filter',
  context: 'length',
  pause: 'stop',
  malformed: 'stop',
  other: 'stop',
}

export const reasonWord = (reason: StopReason): Source => `"${REASONS[reason]}"`

/** Here the prompt is one number, with what was read from a cache, or written to one, inside of it. */
export function usageOf(usage: ShownUsage, thinking: number): Source {
  const cached = usage.cache_read + usage.cache_read_audio + usage.cache_read_image
  const written = usage.cache_write_5m + usage.cache_write_1h
  const prompt = usage.input + usage.input_audio + usage.input_image + cached + written
  const completion = outputOf(usage)
  const audioIn = usage.input_audio + usage.cache_read_audio
  return object({
    prompt_tokens: String(prompt),
    completion_tokens: String(completion),
    total_tokens: String(prompt + completion),
    prompt_tokens_details: object({
      cached_tokens: String(cached),
      cache_write_tokens: written === 0 ? undefined : String(written),
      audio_tokens: audioIn === 0 ? undefined : String(audioIn),
    }),
    completion_tokens_details: object({
      reasoning_tokens: String(Math.min(thinking, completion)),
      audio_tokens: usage.output_audio === 0 ? undefined : String(usage.output_audio),
    }),
  })
}

/** The members that every chunk begins with. */
export const head = ({ requestId, createdS, model }: WriterOptions, kind: string): string =>
  `"id":${literal(`chatcmpl-${requestId}`)},"object":"${kind}","created":${createdS},"model":${literal(model)}`

/** The upstream's state at a thought, which clients may send back; at a call it has the place that Google gave it. */
export const thoughtState = (opaque: Opaque): Source =>
  `[{"type":"reasoning.encrypted","data":${seal(opaque)},"format":"gateway"}]`
export const callState = (opaque: Opaque): Source => `{"google":{"thought_signature":${seal(opaque)}}}`

/** Pictures in answers have the form that gateways to models that draw have given them. */
export const imageOf = (mime: string, base64: Literal): Source =>
  typed('image_url', { image_url: object({ url: asDataUrl(mime, base64) }) })

export const errorEvent = (failure: Failure): string => `data: ${errorObject(failure)}\n\n`
