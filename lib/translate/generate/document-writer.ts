/** An answer as one document of generate-content. */
import { unreadable } from '../blocks.ts'
import { Collected, type CollectedBlock, MOST_HELD, TOO_MUCH } from '../collected.ts'
import { type AnswerEvent, type CallHead, isCut } from '../events.ts'
import type { Failure } from '../failure.ts'
import { EMPTY, type Literal, type Source, unquote } from '../json/literal.ts'
import { Tree } from '../json/tree.ts'
import type { AnswerWriter, ShownUsage, WriterOptions } from '../protocol.ts'
import { Told } from '../told.ts'
import { callPart, mediaPart, responseOf, textPart } from './words.ts'

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
    if (event.type === 'stop' && !isCut(event.reason)) this.#checkCalls()
    return ''
  }

  finish(usage: ShownUsage): string {
    const { reason, thinking, blocks } = this.#collected
    const parts = blocks.flatMap(block => this.#part(block))
    const shown = parts.length === 0 ? [textPart(EMPTY, false)] : parts
    return responseOf(this.#options, shown, { reason: reason ?? 'length', usage, thinking })
  }

  stopByLength(usage: ShownUsage): string {
    this.#collected.reason = 'length'
    return this.finish(usage)
  }

  breakOff(): string {
    return ''
  }

  #checkCalls(): void {
    const half = this.#collected.blocks.some(({ kind, text }) => kind === 'call' && this.#args(text) === null)
    if (half) this.failure = unreadable('the arguments of a call are no JSON object')
  }

  /** The arguments as an object; null = they are none. */
  #args(text: Literal): Source | null {
    const source = unquote(text)
    if (source.trim() === '') return '{}'
    return this.#tree.read(source) && this.#tree.kind(this.#tree.root) === 'object' ? source : null
  }

  /** In an answer that was cut, a call that is not whole has no place. */
  #part({ kind, text, call, mime, opaque }: CollectedBlock): Source[] {
    if (kind === 'media') return [mediaPart(mime, text)]
    if (kind !== 'call') return [textPart(text, kind === 'thought', opaque)]
    const args = this.#args(text)
    return args === null ? [] : [callPart(call as CallHead, args)]
  }
}
