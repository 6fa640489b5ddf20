/** What streams and documents of generate-content have in common: parts, reasons, usage, errors. */
import { outputOf } from '../../protocols/usage.ts'
import type { Opaque } from '../ask.ts'
import type { CallHead, StopReason } from '../events.ts'
import type { Failure, FailureKind } from '../failure.ts'
import { EMPTY, type Literal, literal, type Source } from '../json/literal.ts'
import { array, object } from '../json/write.ts'
import { seal64 } from '../opaque.ts'
import type { ShownUsage, WriterOptions, WrittenError } from '../protocol.ts'
import { EMPTY_STATE } from './state.ts'

const REASONS: Readonly<Record<StopReason, string>> = {
  end: 'STOP',
  length: 'MAX_TOKENS',
  sequence: 'STOP',
  tool: 'STOP',
  refusal: 'SAFETY',
  context: 'MAX_TOKENS',
  pause: 'STOP',
  malformed: 'MALFORMED_FUNCTION_CALL',
  other: 'OTHER',
}

// --- parts

/** State without a value says nothing to anybody. */
const stateOf = (opaque: Opaque | null | undefined): Literal | undefined =>
  opaque === null || opaque === undefined || opaque.value === EMPTY ? undefined : seal64(opaque)

export function textPart(text: Literal, isThought: boolean, opaque?: Opaque | null): Source {
  const state = stateOf(opaque)
  return `{"text":${text}${isThought ? ',"thought":true' : ''}${state === undefined ? '' : `,"thoughtSignature":${state}`}}`
}

/** The first call of an answer always has a state: models of this protocol refuse a history in which it has none. */
export const callPart = ({ id, name, opaque }: CallHead, args: Source, isFirst: boolean): Source =>
  object({
    functionCall: object({ id: literal(id), name: literal(name), args }),
    thoughtSignature: stateOf(opaque) ?? (isFirst ? EMPTY_STATE : undefined),
  })

export const mediaPart = (mime: string, data: Literal): Source =>
  object({ inlineData: object({ mimeType: literal(mime), data }) })

// --- the response

/** `usage`: only the last chunk, and a document, have it and say why the answer ended. */
export function responseOf(
  { model, requestId }: WriterOptions,
  parts: readonly Source[],
  end?: { reason: StopReason; usage: ShownUsage; thinking: number },
): Source {
  const content = object({ parts: array(parts), role: '"model"' })
  const finishReason = end === undefined ? undefined : `"${REASONS[end.reason]}"`
  return object({
    candidates: array([object({ content, finishReason, index: '0' })]),
    usageMetadata: end === undefined ? undefined : usageOf(end.usage, end.thinking),
    modelVersion: literal(model),
    responseId: literal(requestId),
  })
}

/**
 * Here the prompt is one number, with what was read from a cache, or written to one, inside of it; thoughts are counted beside the
 * rest of the output. What is not text is named in lists.
 */
export function usageOf(usage: ShownUsage, thinking: number): Source {
  const cachedText = usage.cache_read
  const written = usage.cache_write_5m + usage.cache_write_1h
  const cached = cachedText + usage.cache_read_audio + usage.cache_read_image
  const prompt = usage.input + usage.input_audio + usage.input_image + cached + written
  const output = outputOf(usage)
  const thoughts = Math.min(thinking, usage.output)
  return object({
    promptTokenCount: String(prompt),
    cachedContentTokenCount: cached === 0 ? undefined : String(cached),
    candidatesTokenCount: String(output - thoughts),
    thoughtsTokenCount: thoughts === 0 ? undefined : String(thoughts),
    totalTokenCount: String(prompt + output),
    promptTokensDetails: listOf(
      usage.input + cachedText + written,
      usage.input_audio + usage.cache_read_audio,
      usage.input_image + usage.cache_read_image,
    ),
    cacheTokensDetails: listOf(cachedText, usage.cache_read_audio, usage.cache_read_image),
    candidatesTokensDetails: listOf(usage.output - thoughts, usage.output_audio, usage.output_image),
  })
}

/** Left out where all of it is text. */
function listOf(text: number, audio: number, image: number): Source | undefined {
  if (audio === 0 && image === 0) return undefined
  const counts = { TEXT: text, AUDIO: audio, IMAGE: image }
  const named = Object.entries(counts).filter(([, tokens]) => tokens > 0)
  return array(named.map(([modality, tokens]) => object({ modality: `"${modality}"`, tokenCount: String(tokens) })))
}

export const event = (data: Source): string => `data: ${data}\n\n`

// --- errors

const STATUSES: Readonly<Record<FailureKind, string>> = {
  invalid: 'INVALID_ARGUMENT',
  context: 'INVALID_ARGUMENT',
  not_found: 'NOT_FOUND',
  too_large: 'INVALID_ARGUMENT',
  timeout: 'DEADLINE_EXCEEDED',
  rate: 'RESOURCE_EXHAUSTED',
  quota: 'RESOURCE_EXHAUSTED',
  overloaded: 'UNAVAILABLE',
  server: 'INTERNAL',
}

/** 529 is another protocol's own status. */
export function writeError({ kind, status, message }: Failure): WrittenError {
  const code = status === 529 ? 503 : status
  const word = kind === 'server' && (code === 502 || code === 503) ? 'UNAVAILABLE' : STATUSES[kind]
  const error = object({ code: String(code), message: literal(message), status: `"${word}"` })
  return { status: code, body: object({ error }) }
}
