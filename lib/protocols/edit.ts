/**
 * The few edits that a body may need before it goes upstream. An edited body is a list of buffers, parts of the old
 * body and new pieces between them, so that nothing large is copied.
 */
import type { Span } from './draft.ts'
import type { Facts } from './facts.ts'

export interface Edit {
  span: Span
  bytes: Buffer
}

export interface Edited {
  chunks: Buffer[]
  /** The number of bytes of all chunks together. */
  length: number
}

/** Applies the edits, whose spans must not overlap; their order does not matter. */
export function editBody(chunks: readonly Buffer[], edits: readonly Edit[]): Edited {
  const sorted = [...edits].sort((a, b) => a.span.start - b.span.start)
  const out: Buffer[] = []
  let base = 0
  let next = 0
  let skipTo = 0
  for (const chunk of chunks) {
    let at = Math.max(0, skipTo - base)
    while (next < sorted.length && (sorted[next] as Edit).span.start - base < chunk.length) {
      const { span, bytes } = sorted[next++] as Edit
      push(out, chunk.subarray(at, span.start - base))
      push(out, bytes)
      skipTo = span.end
      at = span.end - base
    }
    if (at < chunk.length) push(out, chunk.subarray(at))
    base += chunk.length
  }
  return { chunks: out, length: out.reduce((sum, chunk) => sum + chunk.length, 0) }
}

const push = (out: Buffer[], chunk: Buffer): void => {
  if (chunk.length > 0) out.push(chunk)
}

/** The edit that puts the upstream's name of the model into a body of JSON. */
export const mapModel = (facts: Facts, upstreamName: string): Edit => ({
  span: facts.modelSpan as Span,
  bytes: Buffer.from(JSON.stringify(upstreamName)),
})

/** The edits that put the upstream's name into all places in which the body repeats the model of the path. */
export function mapRepeatedModels({ model, repeatedModels }: Facts, upstreamName: string): Edit[] {
  const prefix = model?.startsWith('models/') ? 'models/' : ''
  const bytes = Buffer.from(JSON.stringify(prefix + upstreamName))
  return repeatedModels.map(span => ({ span, bytes }))
}

/** The edit that makes `stream_options.include_usage` true. */
export function askForUsage(facts: Facts): Edit {
  const options = facts.streamOptions
  if (options === null) return insert(facts.openedAt, '"stream_options":{"include_usage":true},')
  if (!options.isObject) return { span: options.span, bytes: Buffer.from('{"include_usage":true}') }
  if (options.includeUsage !== null) return { span: options.includeUsage, bytes: Buffer.from('true') }
  return insert(options.span.start + 1, `"include_usage":true${options.empty ? '' : ','}`)
}

/** Inserts a member at the beginning of the body. The body has `"stream":true` after it, so the comma is right. */
const insert = (at: number, text: string): Edit => ({ span: { start: at, end: at }, bytes: Buffer.from(text) })
