/** An answer as one document of chat completions. */
import { nestedCitation } from '../citation.ts'
import type { CollectedBlock } from '../collected.ts'
import { Document } from '../document.ts'
import { EMPTY, join, type Literal, literal, type Source } from '../json/literal.ts'
import { array, object } from '../json/write.ts'
import type { ShownUsage } from '../protocol.ts'
import { callState, head, imageOf, reasonWord, thoughtState, usageOf } from './words.ts'

export class DocumentWriter extends Document {
  override finish(usage: ShownUsage): string {
    const { reason, thinking } = this.collected
    const choice = object({
      index: '0',
      message: this.#message(this.collected.blocks),
      logprobs: 'null',
      finish_reason: reasonWord(reason ?? 'length'),
    })
    return `{${head(this.options, 'chat.completion')},"choices":[${choice}],"usage":${usageOf(usage, thinking)}}`
  }

  #message(blocks: readonly CollectedBlock[]): Source {
    const calls = blocks.filter(({ kind }) => kind === 'call')
    const notes = blocks.flatMap(block => block.notes)
    const media = blocks.filter(({ kind }) => kind === 'media')
    const state = blocks.filter(({ opaque }) => opaque !== null && opaque.value !== EMPTY)
    const details = state.map(({ opaque }) => thoughtState(opaque as NonNullable<typeof opaque>).slice(1, -1))
    return object({
      role: '"assistant"',
      content: textOf(blocks, 'text') ?? (calls.length > 0 || textOf(blocks, 'refusal') !== null ? 'null' : EMPTY),
      refusal: textOf(blocks, 'refusal') ?? 'null',
      annotations: notes.length === 0 ? undefined : array(notes.map(nestedCitation)),
      images: media.length === 0 ? undefined : array(media.map(({ mime, text }) => imageOf(mime, text))),
      reasoning_content: textOf(blocks, 'thought') ?? undefined,
      reasoning_details: details.length === 0 ? undefined : array(details),
      tool_calls: calls.length === 0 ? undefined : array(calls.map(callOf)),
    })
  }
}

/** All texts of a kind, as one; null = there are none. */
function textOf(blocks: readonly CollectedBlock[], kind: CollectedBlock['kind']): Literal | null {
  const texts = blocks.filter(block => block.kind === kind && block.text !== EMPTY).map(({ text }) => text)
  return texts.length === 0 ? null : join(texts)
}

function callOf({ call, text }: CollectedBlock): Source {
  if (call === null) return '{}'
  const { id, name, freeform, opaque } = call
  const inner = freeform
    ? { custom: object({ name: literal(name), input: text }) }
    : { function: object({ name: literal(name), arguments: text === EMPTY ? '"{}"' : text }) }
  return object({
    id: literal(id),
    type: freeform ? '"custom"' : '"function"',
    ...inner,
    extra_content: opaque === undefined ? undefined : callState(opaque),
  })
}
