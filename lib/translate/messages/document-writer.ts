/** An answer as one document of the messages protocol. */
import { unreadable } from '../blocks.ts'
import { Collected, type CollectedBlock, MOST_HELD, TOO_MUCH } from '../collected.ts'
import { type AnswerEvent, type CallHead, isCut } from '../events.ts'
import type { Failure } from '../failure.ts'
import { EMPTY, type Source, unquote } from '../json/literal.ts'
import { Tree } from '../json/tree.ts'
import { array, object, typed } from '../json/write.ts'
import { seal } from '../opaque.ts'
import type { AnswerWriter, ShownUsage, WriterOptions } from '../protocol.ts'
import { Told } from '../told.ts'
import { callMembers, messageHead, stopMembers, usageMembers } from './words.ts'

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
    const { reason, sequence, thinking, blocks } = this.#collected
    const members = usageMembers(usage, thinking)
    const split = {
      ephemeral_5m_input_tokens: String(usage.cache_write_5m),
      ephemeral_1h_input_tokens: String(usage.cache_write_1h),
    }
    return object({
      ...messageHead(this.#options),
      content: array(blocks.flatMap(block => this.#block(block))),
      ...stopMembers(reason ?? 'length', sequence),
      usage: object({ ...members, cache_creation: object(split) }),
    })
  }

  stopByLength(usage: ShownUsage): string {
    this.#collected.reason = 'length'
    return this.finish(usage)
  }

  breakOff(): string {
    return ''
  }

  #checkCalls(): void {
    const half = this.#collected.blocks.some(({ kind, text }) => kind === 'call' && this.#input(text) === null)
    if (half) this.failure = unreadable('the arguments of a call are no JSON object')
  }

  /** The arguments as an object; null = they are none. */
  #input(args: string): Source | null {
    const source = unquote(args)
    if (source.trim() === '') return '{}'
    return this.#tree.read(source) && this.#tree.kind(this.#tree.root) === 'object' ? source : null
  }

  #block({ kind, text, call, opaque }: CollectedBlock): Source[] {
    if (kind === 'call') return this.#call(call as CallHead, text)
    const hidden = opaque === null ? [] : [typed('redacted_thinking', { data: seal(opaque) })]
    if (kind === 'thought') {
      const isShown = text !== EMPTY || (opaque?.of === 'signed' && opaque.value !== EMPTY)
      if (!isShown || opaque === null) return hidden
      return [typed('thinking', { thinking: text, signature: seal(opaque) })]
    }
    if (kind === 'media' || text === EMPTY) return hidden
    return [typed('text', { text, citations: 'null' }), ...hidden]
  }

  /** In an answer that was cut, a call that is not whole has no place. */
  #call(call: CallHead, args: string): Source[] {
    const input = this.#input(args)
    if (input === null) return []
    const before = call.opaque === undefined ? [] : [typed('redacted_thinking', { data: seal(call.opaque) })]
    return [...before, typed('tool_use', callMembers(call, input))]
  }
}
