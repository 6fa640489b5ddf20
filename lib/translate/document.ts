/**
 * What the writers of all protocols share where an answer is one document: nothing is written before its end, so its blocks
 * are collected until then. A protocol brings `finish`.
 */
import { unreadable } from './blocks.ts'

import { Collected, type CollectedBlock, MOST_HELD, TOO_MUCH } from './collected.ts'
import { type AnswerEvent, isCut } from './events.ts'
import type { Failure } from './failure.ts'
import { type Literal, type Source, unquote } from './json/literal.ts'
import { Tree } from './json/tree.ts'
import type { LossWord } from './loss.ts'
import type { AnswerWriter, ShownUsage, WriterOptions } from './protocol.ts'
import { Told } from './told.ts'

export abstract class Document implements AnswerWriter {
  protected readonly options: WriterOptions
  protected readonly collected = new Collected()
  readonly #told = new Told()
  readonly keepAlive = '\n'
  failure: Failure | null = null
  readonly losses = new Set<LossWord>()

  constructor(options: WriterOptions) {
    this.options = options
  }

  abstract finish(usage: ShownUsage): string

  get counted(): number {
    return this.#told.tokens
  }

  get held(): number {
    return this.collected.held
  }

  write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    this.collected.add(event)
    if (this.collected.held > MOST_HELD) this.failure = TOO_MUCH
    if (event.type === 'delta') this.#told.add(event.text)
    return ''
  }

  stopByLength(usage: ShownUsage): string {
    this.collected.reason = 'length'
    return this.finish(usage)
  }

  breakOff(): string {
    return ''
  }

  /** The protocol has no place for citations of addresses. */
  protected losesCitations(blocks: readonly CollectedBlock[]): void {
    if (blocks.some(({ notes }) => notes.length > 0)) this.losses.add('citations')
  }
}

/** A document of a protocol in which the arguments of a call are an object: a call that ends without one is a failure. */
export abstract class DocumentOfObjects extends Document {
  readonly #tree = new Tree(1)

  override write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    super.write(event)
    if (event.type === 'stop' && !isCut(event.reason)) this.#checkCalls()
    return ''
  }

  #checkCalls(): void {
    const half = this.collected.blocks.some(({ kind, text }) => kind === 'call' && this.args(text) === null)
    if (half) this.failure = unreadable('the arguments of a call are no JSON object')
  }

  /** The arguments as an object; null = they are none. */
  protected args(text: Literal): Source | null {
    const source = unquote(text)
    if (source.trim() === '') return '{}'
    return this.#tree.read(source) && this.#tree.kind(this.#tree.root) === 'object' ? source : null
  }
}
