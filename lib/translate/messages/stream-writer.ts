/**
 * An answer as events of the messages protocol. One block is open at a time: while it is, what belongs to blocks behind it
 * waits. A call is closed as soon as its arguments are a whole object, so that parallel calls wait for nobody unless the upstream
 * mixes them.
 */
import type { Opaque } from '../ask.ts'
import { unreadable } from '../blocks.ts'
import { MOST_HELD, TOO_MUCH } from '../collected.ts'
import { type AnswerEvent, isCut, type StopReason } from '../events.ts'
import type { Failure } from '../failure.ts'
import { EMPTY, isBlank, type Literal, type Source } from '../json/literal.ts'
import { object, typed } from '../json/write.ts'
import { seal } from '../opaque.ts'
import type { AnswerWriter, ShownUsage, WriterOptions } from '../protocol.ts'
import { Told } from '../told.ts'
import { type Block, beginningOf, DELTA_END, deltaStart, newBlock, sizeOf, THINKING } from './open-block.ts'
import { errorEvent, event, startEvent, stopMembers, usageMembers } from './words.ts'

const PING = event('ping', {})
const NO_OBJECT = unreadable('the arguments of a call are no JSON object')
const HALF = unreadable('the arguments of a call are not whole')

export class StreamWriter implements AnswerWriter {
  readonly #options: WriterOptions
  readonly #told = new Told()
  /** Blocks that are not written to their end, in order; the first one is live. */
  #blocks: Block[] = []
  /** How many blocks came before the first of these, as the reader counts. */
  #gone = 0
  /** The index of the next block, as the client counts. */
  #next = 0
  #begun = false
  #thinking = 0
  /** The arguments of a call have ended before they were whole, which may only be in an answer that was cut. */
  #halfCall = false
  #reason: StopReason = 'end'
  #sequence: Literal | null = null
  /** State of the text before, for which there is a place when another block follows. */
  #behind: Literal | null = null
  failure: Failure | null = null
  held = 0

  constructor(options: WriterOptions) {
    this.#options = options
  }

  get keepAlive(): string {
    return this.#begun ? PING : '\n'
  }

  get counted(): number {
    return this.#told.tokens
  }

  write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    switch (event.type) {
      case 'begin':
        return this.#begin()
      case 'open':
        return this.#open(newBlock(event))
      case 'delta':
        return this.#piece(event.index, event.text)
      case 'seal':
        return this.#piece(event.index, event.opaque)
      case 'close':
        return this.#close(event.index)
      case 'thinking':
        this.#thinking = event.tokens
        return ''
      case 'stop':
        this.#reason = event.reason
        this.#sequence = event.sequence
        if (this.#halfCall && !isCut(event.reason)) this.failure = HALF
        return ''
      default:
        return ''
    }
  }

  finish(usage: ShownUsage): string {
    return this.#begin() + this.#end(usage, this.#reason)
  }

  /** Calls that are not whole are closed as they are: with this reason nobody runs them. */
  stopByLength(usage: ShownUsage): string {
    return this.#begin() + this.#end(usage, 'length')
  }

  breakOff(failure: Failure): string {
    return errorEvent(failure)
  }

  #begin(): string {
    if (this.#begun) return ''
    this.#begun = true
    return startEvent(this.#options)
  }

  #end(usage: ShownUsage, reason: StopReason): string {
    for (const block of this.#blocks) block.closed = true
    const delta = object(stopMembers(reason, this.#sequence))
    return (
      this.#live() +
      event('message_delta', { delta, usage: object(usageMembers(usage, this.#thinking)) }) +
      event('message_stop', {})
    )
  }

  // --- blocks

  #open(block: Block): string {
    this.#blocks.push(block)
    for (const piece of block.waiting) this.held += sizeOf(piece)
    return this.#live()
  }

  #piece(index: number, piece: Literal | Opaque): string {
    const block = this.#blocks[index - this.#gone]
    if (block === undefined) {
      // a call whose arguments were whole, behind which only space may come
      if (typeof piece === 'string' && !isBlank(piece)) this.failure = NO_OBJECT
      return ''
    }
    if (typeof piece === 'string' && block.check !== null) {
      block.check.feed(piece)
      if (block.check.bad) {
        this.failure = NO_OBJECT
        return ''
      }
    }
    if (block !== this.#blocks[0]) {
      block.waiting.push(piece)
      this.held += sizeOf(piece)
      if (this.held > MOST_HELD) this.failure = TOO_MUCH
      return ''
    }
    return this.#tell(block, piece) + (block.check?.whole ? this.#live() : '')
  }

  #close(index: number): string {
    const block = this.#blocks[index - this.#gone]
    if (block === undefined) return ''
    block.closed = true
    const { check } = block
    this.#halfCall ||= check !== null && !check.whole && !check.empty
    return this.#live()
  }

  /** Writes what the first block has waiting, and goes on to the next while blocks have come to their end. */
  #live(): string {
    let text = ''
    for (let block = this.#blocks[0]; block !== undefined; block = this.#blocks[0]) {
      if (block.kind === 'call' && !block.started) text += this.#start(block, beginningOf(block))
      for (const piece of block.waiting) {
        this.held -= sizeOf(piece)
        text += this.#tell(block, piece)
      }
      block.waiting = []
      if (!block.closed && !block.check?.whole) return text
      text += this.#stop(block)
      this.#blocks.shift()
      this.#gone++
    }
    return text
  }

  #tell(block: Block, piece: Literal | Opaque): string {
    if (typeof piece !== 'string') return this.#seal(block, piece)
    this.#told.add(piece)
    const start = block.started ? '' : this.#start(block, beginningOf(block))
    return start + block.delta + piece + DELTA_END
  }

  /**
   * A thought that shows nothing is hidden. State that belongs to a text has a hidden thought of its own behind it, unless the text
   * is the last block: Claude Code takes the last block for the answer, and would show nothing.
   */
  #seal(block: Block, opaque: Opaque): string {
    const data = seal(opaque)
    if (block.kind === 'thought' && block.started) return this.#delta(typed('signature_delta', { signature: data }))
    if (block.kind === 'thought' && opaque.of === 'signed' && opaque.value !== EMPTY)
      return this.#start(block, THINKING) + this.#delta(typed('signature_delta', { signature: data }))
    if (block.kind === 'thought') return this.#stop(block) + this.#stateBefore() + this.#hidden(data)
    this.held += data.length - (this.#behind?.length ?? 0)
    this.#behind = data
    return ''
  }

  #hidden(data: Literal): string {
    const content_block = typed('redacted_thinking', { data })
    const index = String(this.#next++)
    return event('content_block_start', { index, content_block }) + event('content_block_stop', { index })
  }

  /** What belongs to the text before. */
  #stateBefore(): string {
    const data = this.#behind
    this.#behind = null
    if (data === null) return ''
    this.held -= data.length
    return this.#hidden(data)
  }

  /** State that belongs to a call, or to the text before, stands before the block. */
  #start(block: Block, content_block: Source): string {
    const ofText = this.#stateBefore()
    const ofCall = block.call?.opaque === undefined ? '' : this.#hidden(seal(block.call.opaque))
    block.started = true
    block.delta = deltaStart(block, this.#next)
    return ofText + ofCall + event('content_block_start', { index: String(this.#next), content_block })
  }

  #delta(delta: Source): string {
    return event('content_block_delta', { index: String(this.#next), delta })
  }

  #stop(block: Block): string {
    if (!block.started) return ''
    block.started = false
    const rest = block.check?.empty ? this.#delta(typed('input_json_delta', { partial_json: '"{}"' })) : ''
    return rest + event('content_block_stop', { index: String(this.#next++) })
  }
}
