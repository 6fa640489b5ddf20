/** An answer as one document of the responses protocol. */
import type { Opaque } from '../ask.ts'
import { Collected, type CollectedBlock, MOST_HELD, TOO_MUCH } from '../collected.ts'
import { type AnswerEvent, type CallHead, isCut } from '../events.ts'
import type { Failure } from '../failure.ts'
import { EMPTY, type Literal, type Source, unquote } from '../json/literal.ts'
import { Tree } from '../json/tree.ts'
import type { AnswerWriter, ShownUsage, WriterOptions } from '../protocol.ts'
import { Told } from '../told.ts'
import { CallIds } from './call-ids.ts'
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

export class DocumentWriter implements AnswerWriter {
  readonly #options: WriterOptions
  readonly #collected = new Collected()
  readonly #told = new Told()
  readonly #tree = new Tree(1)
  readonly keepAlive = '\n'
  failure: Failure | null = null

  constructor(options: WriterOptions) {
    this.#options = options
  }

  get counted(): number {
    return this.#told.tokens
  }

  get held(): number {
    return this.#collected.held
  }

  write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    this.#collected.add(event)
    if (this.#collected.held > MOST_HELD) this.failure = TOO_MUCH
    if (event.type === 'delta') this.#told.add(event.text)
    return ''
  }

  finish(usage: ShownUsage): string {
    const { reason, thinking, blocks } = this.#collected
    const ending = endingOf(reason ?? 'length', new Set(blocks.map(({ kind }) => kind)))
    return responseOf(this.#options, ending, this.#output(blocks), usageOf(usage, thinking))
  }

  stopByLength(usage: ShownUsage): string {
    this.#collected.reason = 'length'
    return this.finish(usage)
  }

  breakOff(): string {
    return ''
  }

  #output(blocks: readonly CollectedBlock[]): Source[] {
    const output: Source[] = []
    const ids = new CallIds()
    const hidden = (opaque: Opaque): void => {
      output.push(thoughtItem(itemId(this.#options, 'thought', output.length), EMPTY, opaque))
    }
    for (const { kind, text, call, opaque, closed } of blocks) {
      const id = itemId(this.#options, kind, output.length, call?.freeform)
      if (kind === 'thought') output.push(thoughtItem(id, text, opaque))
      else if (kind === 'media') output.push(mediaItem(id, text))
      else if (call !== null) {
        if (call.opaque !== undefined) hidden(call.opaque)
        output.push(this.#call({ ...call, id: ids.once(call.id) }, text, output.length))
      } else {
        if (text !== EMPTY)
          output.push(
            messageItem(id, [contentOf(kind === 'refusal' ? kind : 'text', text)], closed ? 'completed' : 'incomplete'),
          )
        if (opaque !== null) hidden(opaque)
      }
    }
    return output
  }

  #call(call: CallHead, text: Literal, place: number): Source {
    const args = wholeArgs(call, text)
    const id = itemId(this.#options, 'call', place, call.freeform)
    const isHalf = isCut(this.#collected.reason ?? 'length') && !call.freeform && !this.#isObject(args)
    return callItem(id, call, args, isHalf ? 'incomplete' : 'completed')
  }

  #isObject(args: Literal): boolean {
    return this.#tree.read(unquote(args)) && this.#tree.kind(this.#tree.root) === 'object'
  }
}
