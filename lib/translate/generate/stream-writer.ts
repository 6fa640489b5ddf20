/**
 * An answer as events of generate-content, or as the elements of one array. Calls are told whole here: one waits until its arguments
 * are a whole object, and what is behind it waits for it, so that parts come in the order of the answer.
 */
import type { Opaque } from '../ask.ts'
import { unreadable } from '../blocks.ts'
import { MOST_HELD, TOO_MUCH } from '../collected.ts'
import { type AnswerEvent, type CallHead, isCut, type OpenEvent, type StopReason } from '../events.ts'
import type { Failure } from '../failure.ts'
import { ObjectCheck } from '../json/check.ts'
import { EMPTY, flat, isBlank, type Literal, oneLine, type Source, unquote } from '../json/literal.ts'
import { Pieces } from '../pieces.ts'
import type { AnswerWriter, ShownUsage, WriterOptions } from '../protocol.ts'
import { Told } from '../told.ts'
import { callPart, event, mediaPart, responseOf, textPart, writeError } from './words.ts'

const PARTS = '"parts":['
const NO_OBJECT = unreadable('the arguments of a call are no JSON object')
const HALF = unreadable('the arguments of a call are not whole')

interface Block {
  kind: OpenEvent['kind']
  /** Of calls: the arguments so far, and whether they are whole. */
  call: { head: CallHead; args: Pieces; check: ObjectCheck; bytes: number } | null
  /** What waits for the blocks before it: texts, their state, or a part that is written already. */
  waiting: (Literal | Opaque)[]
  /** Media only: the part. */
  part: Source
  /** It has come to its end, as the reader says. */
  closed: boolean
}

const sizeOf = (piece: Literal | Opaque): number => (typeof piece === 'string' ? piece.length : piece.value.length)

export class StreamWriter implements AnswerWriter {
  readonly #options: WriterOptions
  readonly #told = new Told()
  /** What stands around the part, where one is all that a chunk tells. */
  readonly #before: string
  readonly #behind: string
  /** Blocks that are not written to their end, in order; the first one is live. */
  #blocks: Block[] = []
  /** How many blocks came before the first of these. */
  #gone = 0
  #thinking = 0
  /** The arguments of a call have ended before they were whole, which may only be in an answer that was cut. */
  #halfCall = false
  #reason: StopReason = 'end'
  /** A call has been told. */
  #called = false
  /** The array has begun. */
  #begun = false
  /** Clients read events from the first byte of their data, and take no comments. */
  readonly keepAlive = '\n'
  failure: Failure | null = null
  held = 0

  constructor(options: WriterOptions) {
    this.#options = options
    const chunk = responseOf(options, [])
    const at = chunk.indexOf(PARTS) + PARTS.length
    this.#before = flat(chunk.slice(0, at))
    this.#behind = flat(chunk.slice(at))
  }

  get counted(): number {
    return this.#told.tokens
  }

  write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    switch (event.type) {
      case 'open':
        return this.#open(event)
      case 'delta':
        return this.#piece(event.index, event.text)
      case 'seal':
        return this.#piece(event.index, event.opaque)
      case 'close': {
        const block = this.#blocks[event.index - this.#gone]
        if (block !== undefined) block.closed = true
        return this.#live()
      }
      case 'thinking':
        this.#thinking = event.tokens
        return ''
      case 'stop':
        this.#reason = event.reason
        if (this.#halfCall && !isCut(event.reason)) this.failure = HALF
        return ''
      default:
        return ''
    }
  }

  finish(usage: ShownUsage): string {
    return this.#end(usage, this.#reason)
  }

  /** Calls that are not whole are left out: clients would run them. */
  stopByLength(usage: ShownUsage): string {
    for (const block of this.#blocks) block.closed = true
    return this.#live() + this.#end(usage, 'length')
  }

  breakOff(failure: Failure): string {
    return this.#framed(writeError(failure).body)
  }

  #end(usage: ShownUsage, reason: StopReason): string {
    const end = { reason, usage, thinking: this.#thinking }
    const last = this.#framed(responseOf(this.#options, [textPart(EMPTY, false)], end))
    return this.#options.array ? `${last}]` : last
  }

  #chunk(part: Source): string {
    return this.#framed(this.#before + part + this.#behind)
  }

  #framed(data: Source): string {
    if (!this.#options.array) return event(data)
    const before = this.#begun ? ',\r\n' : '['
    this.#begun = true
    return before + data
  }

  // --- blocks

  #open(event: OpenEvent): string {
    const { kind } = event
    const isCall = kind === 'call'
    const call = isCall ? { head: event.call, args: new Pieces(), check: new ObjectCheck(), bytes: 0 } : null
    const part = kind === 'media' ? mediaPart(event.mime, event.base64) : ''
    this.#blocks.push({ kind, call, waiting: [], part, closed: false })
    this.#hold(part.length)
    return ''
  }

  #hold(bytes: number): void {
    this.held += bytes
    if (this.held > MOST_HELD) this.failure = TOO_MUCH
  }

  #piece(index: number, piece: Literal | Opaque): string {
    const block = this.#blocks[index - this.#gone]
    if (block === undefined) {
      // a call whose arguments were whole, behind which only space may come
      if (typeof piece === 'string' && !isBlank(piece)) this.failure = NO_OBJECT
      return ''
    }
    if (block.call !== null) return typeof piece === 'string' ? this.#args(block, block.call, piece) : ''
    if (block === this.#blocks[0]) return this.#tell(block, piece)
    block.waiting.push(piece)
    this.#hold(sizeOf(piece))
    return ''
  }

  #args(block: Block, call: NonNullable<Block['call']>, piece: Literal): string {
    const { check } = call
    check.feed(piece)
    call.args.add(piece)
    call.bytes += piece.length
    this.#hold(piece.length)
    if (check.bad) this.failure = NO_OBJECT
    return this.failure === null && check.whole && block === this.#blocks[0] ? this.#live() : ''
  }

  /** Writes what the first block has waiting, and goes on to the next while blocks have come to their end. */
  #live(): string {
    let text = ''
    for (let block = this.#blocks[0]; block !== undefined; block = this.#blocks[0]) {
      for (const piece of block.waiting) {
        this.held -= sizeOf(piece)
        text += this.#tell(block, piece)
      }
      block.waiting = []
      if (!block.closed && !block.call?.check.whole) return text
      text += this.#last(block)
      this.#blocks.shift()
      this.#gone++
    }
    return text
  }

  #tell({ kind }: Block, piece: Literal | Opaque): string {
    const isThought = kind === 'thought'
    if (typeof piece !== 'string') return piece.value === EMPTY ? '' : this.#chunk(textPart(EMPTY, isThought, piece))
    this.#told.add(piece)
    return this.#chunk(textPart(piece, isThought))
  }

  /** What is told of a block when it has ended. */
  #last({ call, part }: Block): string {
    this.held -= part.length
    if (call === null) return part === '' ? '' : this.#chunk(part)
    this.held -= call.bytes
    if (!call.check.whole && !call.check.empty) {
      this.#halfCall = true
      return ''
    }
    const args = call.args.text
    this.#told.add(args)
    const isFirst = !this.#called
    this.#called = true
    return this.#chunk(callPart(call.head, call.check.empty ? '{}' : oneLine(unquote(args)), isFirst))
  }
}
