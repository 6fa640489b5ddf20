/** An answer as one document of the responses protocol. */
import type { Opaque } from '../ask.ts'
import type { CollectedBlock } from '../collected.ts'
import { Document } from '../document.ts'
import { type CallHead, isCut } from '../events.ts'
import { CallIds } from '../ids.ts'
import { EMPTY, type Literal, type Source, unquote } from '../json/literal.ts'
import { Tree } from '../json/tree.ts'
import type { ShownUsage } from '../protocol.ts'
import {
  callItem,
  contentOf,
  endingOf,
  itemId,
  mediaItem,
  messageItem,
  responseOf,
  thoughtItem,
  usageOf,
  wholeArgs,
} from './words.ts'

export class DocumentWriter extends Document {
  readonly #tree = new Tree(1)

  override finish(usage: ShownUsage): string {
    const { reason, thinking, blocks } = this.collected
    const ending = endingOf(reason ?? 'length', new Set(blocks.map(({ kind }) => kind)))
    return responseOf(this.options, ending, this.#output(blocks), usageOf(usage, thinking))
  }

  #output(blocks: readonly CollectedBlock[]): Source[] {
    const output: Source[] = []
    const ids = new CallIds()
    const hidden = (opaque: Opaque): void => {
      output.push(thoughtItem(itemId(this.options, 'thought', output.length), EMPTY, opaque))
    }
    for (const { kind, text, call, opaque, notes, closed } of blocks) {
      const id = itemId(this.options, kind, output.length, call?.freeform)
      if (kind === 'thought') output.push(thoughtItem(id, text, opaque))
      else if (kind === 'media') output.push(mediaItem(id, text))
      else if (call !== null) {
        if (call.opaque !== undefined) hidden(call.opaque)
        output.push(this.#call({ ...call, id: ids.once(call.id) }, text, output.length))
      } else {
        if (text !== EMPTY)
          output.push(
            messageItem(
              id,
              [contentOf(kind === 'refusal' ? kind : 'text', text, notes)],
              closed ? 'completed' : 'incomplete',
            ),
          )
        if (opaque !== null) hidden(opaque)
      }
    }
    return output
  }

  #call(call: CallHead, text: Literal, place: number): Source {
    const args = wholeArgs(call, text)
    const id = itemId(this.options, 'call', place, call.freeform)
    const isHalf = isCut(this.collected.reason ?? 'length') && !call.freeform && !this.#isObject(args)
    return callItem(id, call, args, isHalf ? 'incomplete' : 'completed')
  }

  #isObject(args: Literal): boolean {
    return this.#tree.read(unquote(args)) && this.#tree.kind(this.#tree.root) === 'object'
  }
}
