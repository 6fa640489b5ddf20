/** The few edits that a body may need on its way up: in place, as a list of buffers, so that the rest is never copied. */
import type { Span } from './draft.ts'
import type { Facts } from './facts.ts'

export interface Edit {
  span: Span
  bytes: Buffer
}

export interface Edited {
  chunks: Buffer[]
  /** Bytes of all chunks. */
  length: number
}

/** Spans do not overlap; they may stand in any order. */
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

/** The model under the name the upstream knows it by, in a body of JSON. */
export const mapModel = (facts: Facts, upstreamName: string): Edit => ({
  span: facts.modelSpan as Span,
  bytes: Buffer.from(JSON.stringify(upstreamName)),
})

/** One edit that makes `stream_options.include_usage` true. */
export function askForUsage(facts: Facts): Edit {
  const options = facts.streamOptions
  if (options === null) return insert(facts.openedAt, '"stream_options":{"include_usage":true},')
  if (!options.isObject) return { span: options.span, bytes: Buffer.from('{"include_usage":true}') }
  if (options.includeUsage !== null) return { span: options.includeUsage, bytes: Buffer.from('true') }
  return insert(options.span.start + 1, `"include_usage":true${options.empty ? '' : ','}`)
}

/** A body with `"stream":true` has a member after the place, so the comma is right. */
const insert = (at: number, text: string): Edit => ({ span: { start: at, end: at }, bytes: Buffer.from(text) })
