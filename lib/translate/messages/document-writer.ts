/** An answer as one document of the messages protocol. */
import type { CollectedBlock } from '../collected.ts'
import { DocumentOfObjects } from '../document.ts'
import type { CallHead } from '../events.ts'
import { EMPTY, type Source } from '../json/literal.ts'
import { array, object, typed } from '../json/write.ts'
import { seal } from '../opaque.ts'
import type { ShownUsage } from '../protocol.ts'
import { callMembers, leftOut, messageHead, stopMembers, usageMembers } from './words.ts'

export class DocumentWriter extends DocumentOfObjects {
  override finish(usage: ShownUsage): string {
    const { reason, sequence, thinking, blocks } = this.collected
    this.losesCitations(blocks)
    const members = usageMembers(usage, thinking)
    const split = {
      ephemeral_5m_input_tokens: String(usage.cache_write_5m),
      ephemeral_1h_input_tokens: String(usage.cache_write_1h),
    }
    return object({
      ...messageHead(this.options),
      content: array(blocks.flatMap((block, n) => this.#block(block, n === blocks.length - 1))),
      ...stopMembers(reason ?? 'length', sequence),
      usage: object({ ...members, cache_creation: object(split) }),
    })
  }

  /** State of a text stands behind it, unless it is the last block, which clients take for the answer. */
  #block({ kind, text, call, opaque, mime }: CollectedBlock, isLast: boolean): Source[] {
    if (kind === 'call') return this.#call(call as CallHead, text)
    if (kind === 'media') return [typed('text', { text: leftOut(mime), citations: 'null' })]
    const hidden = opaque === null ? [] : [typed('redacted_thinking', { data: seal(opaque) })]
    if (kind === 'thought') {
      const isShown = text !== EMPTY || (opaque?.of === 'signed' && opaque.value !== EMPTY)
      if (!isShown || opaque === null) return hidden
      return [typed('thinking', { thinking: text, signature: seal(opaque) })]
    }
    if (isLast && opaque !== null) this.losses.add('thinking')
    const behind = isLast ? [] : hidden
    if (text === EMPTY) return behind
    return [typed('text', { text, citations: 'null' }), ...behind]
  }

  /** In an answer that was cut, a call that is not whole has no place. */
  #call(call: CallHead, args: string): Source[] {
    const input = this.args(args)
    if (input === null) return []
    const before = call.opaque === undefined ? [] : [typed('redacted_thinking', { data: seal(call.opaque) })]
    return [...before, typed('tool_use', callMembers(call, input))]
  }
}
