/** An answer as one document of generate-content. */
import type { CollectedBlock } from '../collected.ts'
import { DocumentOfObjects } from '../document.ts'
import type { CallHead } from '../events.ts'
import { EMPTY, type Source } from '../json/literal.ts'
import type { ShownUsage } from '../protocol.ts'
import { callPart, mediaPart, responseOf, textPart } from './words.ts'

export class DocumentWriter extends DocumentOfObjects {
  override finish(usage: ShownUsage): string {
    const { reason, thinking, blocks } = this.collected
    this.losesCitations(blocks)
    const first = blocks.find(({ kind }) => kind === 'call')
    const parts = blocks.flatMap(block => this.#part(block, block === first))
    const shown = parts.length === 0 ? [textPart(EMPTY, false)] : parts
    return responseOf(this.options, shown, { reason: reason ?? 'length', usage, thinking })
  }

  /** In an answer that was cut, a call that is not whole has no place. */
  #part({ kind, text, call, mime, opaque }: CollectedBlock, isFirst: boolean): Source[] {
    if (kind === 'media') return [mediaPart(mime, text)]
    if (kind !== 'call') return [textPart(text, kind === 'thought', opaque)]
    const args = this.args(text)
    return args === null ? [] : [callPart(call as CallHead, args, isFirst)]
  }
}
