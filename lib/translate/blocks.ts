/**
 * What every answer reader does with what it finds: it opens blocks, continues them and closes them, in the order that
 * `events.ts` promises to writers. Calls get the names that the client knows, and ids that every protocol takes.
 */
import type { Opaque } from './ask.ts'
import { type Citation, reasonFor, type StopReason } from './events.ts'
import type { Failure } from './failure.ts'
import { Found } from './found.ts'
import { TextOfInput } from './freeform.ts'
import { fitId } from './ids.ts'
import { EMPTY, type Literal } from './json/literal.ts'
import { NONE, type Node } from './json/tree.ts'
import type { ReaderOptions } from './protocol.ts'

type TextKind = 'text' | 'thought' | 'refusal'

/** The most blocks of one answer. */
export const MOST_BLOCKS = 4096

interface OpenCall {
  /** Takes the text out of the object in which it was asked for; null = the tool takes the object. */
  freeform: TextOfInput | null
}

export class Blocks {
  readonly #options: ReaderOptions
  readonly found = new Found()
  #begun = false
  #next = 0
  /** The open block that is no call; -1 = none is open. */
  #live = -1
  #liveKind: TextKind = 'text'
  #sealed = false
  readonly #calls = new Map<number, OpenCall>()
  #sawCall = false
  #sawRefusal = false
  /** As last told; -1 = it was not. */
  #thinking = -1
  /** The reader is done: `end` or `fail` has come. */
  done = false
  /** Why the upstream stopped, as far as it has said. */
  reason: StopReason | null = null
  sequence: Literal | null = null

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** Whether a block has been opened. */
  get any(): boolean {
    return this.#next > 0
  }

  get began(): boolean {
    return this.#begun
  }

  begin(id: string, model: string): void {
    if (this.#begun || this.done) return
    this.#begun = true
    this.found.add({ type: 'begin', id, model })
  }

  /** More of a text, which begins when the last one was of another kind. `source`: the value that `text` is, if it is one. */
  text(kind: TextKind, text: Literal, source: Node = NONE): void {
    if (text.length < 3 || this.done) return
    const index = this.#textBlock(kind)
    if (index >= 0) this.found.delta(index, text, source)
  }

  /** State that belongs to the text or thought that is open, or to one that shows nothing. It ends the block. */
  seal(kind: 'text' | 'thought', of: Opaque['of'], value: Literal, id?: string): void {
    if (this.done) return
    const opaque: Opaque = { issuer: this.#options.issuer, of, value, ...(id === undefined ? {} : { id }) }
    const index = this.#textBlock(kind)
    if (index < 0) return
    this.found.add({ type: 'seal', index, opaque })
    this.#sealed = true
    this.closeText()
  }

  #textBlock(kind: TextKind): number {
    if (this.#live >= 0 && this.#liveKind === kind) return this.#live
    this.closeText()
    const index = this.#open()
    if (index < 0) return -1
    this.#live = index
    this.#liveKind = kind
    this.#sealed = false
    this.#sawRefusal ||= kind === 'refusal'
    this.found.add({ type: 'open', index, kind })
    return index
  }

  /**
   * A call begins; returns the index of its block, -1 = there are too many. An id that is missing is made. `takesText`: the
   * upstream knows tools that take text, and what comes is the text itself.
   */
  call(id: string, upstreamName: string, opaque?: Opaque, takesText = false): number {
    if (this.done) return -1
    this.closeText()
    const index = this.#open()
    if (index < 0) return -1
    this.#sawCall = true
    const name = this.#options.names.back(upstreamName)
    const own = id === '' ? `call_${this.#options.requestId}_${index}` : fitId(id)
    const call = { id: own, ...name, ...(opaque === undefined ? {} : { opaque }) }
    this.#calls.set(index, { freeform: name.freeform && !takesText ? new TextOfInput() : null })
    this.found.add({ type: 'open', index, kind: 'call', call })
    return index
  }

  /** More of the arguments of a call. What comes behind its end is left out. `source`: as in `text`. */
  args(index: number, text: Literal, source: Node = NONE): void {
    const call = this.#calls.get(index)
    if (call === undefined || text.length < 3 || this.done) return
    if (call.freeform === null) this.found.delta(index, text, source)
    else this.#freeform(index, call.freeform.feed(text))
  }

  /** A part of the arguments may tell nothing and yet matter to the next one. */
  #freeform(index: number, told: Literal): void {
    this.found.keeps()
    if (told.length > 2) this.found.delta(index, told, NONE)
  }

  media(mime: string, base64: Literal): void {
    if (this.done) return
    this.closeText()
    const index = this.#open()
    if (index < 0) return
    this.found.add({ type: 'open', index, kind: 'media', mime, base64 })
    this.found.add({ type: 'close', index })
  }

  /** Of the text that is open. */
  note(citation: Citation | null): void {
    if (citation === null || this.#live < 0 || this.#liveKind !== 'text' || this.done) return
    this.found.add({ type: 'note', index: this.#live, citation })
  }

  closeText(): void {
    if (this.#live < 0) return
    const index = this.#live
    this.#live = -1
    // a state without a value still says whose the thought is, so that no other upstream is sent it as its own
    if (this.#liveKind === 'thought' && !this.#sealed) {
      const opaque: Opaque = { issuer: this.#options.issuer, of: 'signed', value: EMPTY }
      this.found.add({ type: 'seal', index, opaque })
    }
    this.found.add({ type: 'close', index })
  }

  closeCall(index: number): void {
    const call = this.#calls.get(index)
    if (call === undefined) return
    const rest = call.freeform?.end() ?? EMPTY
    if (rest.length > 2) this.found.delta(index, rest, NONE)
    this.#calls.delete(index)
    this.found.add({ type: 'close', index })
  }

  closeCalls(): void {
    for (const index of this.#calls.keys()) this.closeCall(index)
  }

  thinking(tokens: number | null): void {
    if (tokens === null || tokens === this.#thinking || this.done) return
    this.#thinking = tokens
    this.found.add({ type: 'thinking', tokens })
  }

  /** The answer is whole. */
  finish(): void {
    if (this.done) return
    if (this.reason === 'other' && !this.any) {
      this.fail({ kind: 'server', status: 502, message: 'the upstream stopped for a reason that is not known' })
      return
    }
    this.closeText()
    this.closeCalls()
    // who refuses in words may say that this was all
    const told = this.#sawRefusal && this.reason === 'end' ? 'refusal' : (this.reason ?? 'end')
    const reason = reasonFor(told, this.#sawCall)
    this.found.add({ type: 'stop', reason, sequence: this.sequence })
    this.found.add({ type: 'end' })
    this.done = true
  }

  fail(failure: Failure): void {
    if (this.done) return
    this.found.add({ type: 'fail', failure })
    this.done = true
  }

  #open(): number {
    if (this.#next < MOST_BLOCKS) return this.#next++
    this.fail(unreadable('the answer has too many parts'))
    return -1
  }
}

/** The answer cannot be read, which the client is told as a fault of the upstream. */
export const unreadable = (message: string): Failure => ({ kind: 'server', status: 502, message })
