/**
 * The bytes of an upstream's answer as JSON: each event of a stream, or the one document, is given to the reader's rules as
 * a tree. What cannot be read, is too long or has too much in it fails the answer.
 */
import { BLANK_LINE, EventReader, type EventSink } from '../protocols/answers/events.ts'
import { type FinishingProtocol, finishOf } from '../protocols/words/finish-words.ts'
import { EventShape, FoundEvents } from './event-shape.ts'
import {
  type AnswerEvent,
  type AnswerReader,
  type Citation,
  type Failure,
  LARGE_DOCUMENT,
  type Logprobs,
  NO_LOGPROBS,
  type Opaque,
  type ReaderOptions,
  reasonFor,
  type StopReason,
  unreadable,
  untellable,
  type WebFindings,
} from './events.ts'
import { Searches } from './search-results.ts'
import { TextOfInput } from './freeform.ts'
import { EMPTY_TEXT, type Literal } from './json/literal.ts'
import { NONE, type Node, Tree } from './json/tree.ts'
import { fitId } from './names.ts'

/** The longest event and the longest document. Pictures stand whole in both. */
const LONGEST_EVENT = 8 * 1024 * 1024
const LONGEST_DOCUMENT = 32 * 1024 * 1024
/** The most values of a document: twenty tokens that might have stood in the place of each (`logprobs`) are hundreds of values. */
const MOST_VALUES = 1 << 22

/** How a protocol reads its answers. What it finds goes into `blocks`. */
export abstract class AnswerRules {
  readonly blocks: Blocks
  /** Which of several answers is read. */
  protected readonly answer: number
  /** Whether something of it has come. The first one is always read. */
  isGiven: boolean

  constructor(options: ReaderOptions, answer = 0) {
    this.blocks = new Blocks(options)
    this.answer = answer
    this.isGiven = answer === 0
  }

  /** Whether an element of the list of answers is this one. */
  protected isOwn(index: number | null): boolean {
    const isOwn = (index ?? 0) === this.answer
    this.isGiven ||= isOwn
    return isOwn
  }

  /** An event of a stream: the tree has its data, which are JSON. */
  abstract event(name: string, tree: Tree): void
  abstract document(tree: Tree): void

  /** An event whose data are no JSON; true: that is in order. */
  words(_text: string): boolean {
    return false
  }

  /** The stream has ended, before the upstream said that this is the end. */
  ended(): void {
    this.blocks.fail(unreadable('the answer ended before its end'))
  }

  protected begin(tree: Tree, answer: Node): void {
    this.blocks.begin(tree.string(answer, 'id') ?? '', tree.string(answer, 'model') ?? '')
  }
}

/** `rulesFor`: what reads one of the answers that were asked for. */
export function answerReaderOf(
  rulesFor: (options: ReaderOptions, answer: number) => AnswerRules,
  options: ReaderOptions,
): AnswerReader {
  const { answers = 1, requestId, events } = options
  const own = (answer: number) => (answer === 0 ? options : { ...options, requestId: `${requestId}_${answer}` })
  const all = new AllRules(Array.from({ length: answers }, (_, answer) => rulesFor(own(answer), answer)))
  return events ? new StreamReader(all) : new DocumentReader(all)
}

/** Reads all answers of one request: mostly that is one. */
class AllRules {
  readonly first: AnswerRules
  readonly others: readonly AnswerRules[]
  readonly isAlone: boolean

  constructor([first, ...others]: AnswerRules[]) {
    this.first = first as AnswerRules
    this.others = others
    this.isAlone = others.length === 0
  }

  /** Gives all of them something to read. True: the first one says so. */
  each(read: (rules: AnswerRules) => unknown): boolean {
    for (const rules of this.others) if (!rules.blocks.done) read(rules)
    return read(this.first) === true
  }

  get done(): boolean {
    return this.first.blocks.done
  }

  get held(): number {
    return this.others.reduce((sum, { blocks }) => sum + blocks.searches.held, this.first.blocks.searches.held)
  }

  /** The events that were found. What belongs to an answer that is not given is not told; one that fails fails all. */
  take(): readonly AnswerEvent[] {
    const own = this.first.blocks.found.take()
    if (this.isAlone) return own
    const found = own.filter(({ type }) => type !== 'end' && type !== 'fail')
    const last = own.filter(({ type }) => type === 'end' || type === 'fail')
    this.others.forEach(({ blocks, isGiven }, place) => {
      for (const event of isGiven ? blocks.found.take() : []) {
        if (event.type === 'fail') last.unshift(event)
        else if (event.type !== 'other' && !['end', 'fail', 'thinking'].includes(event.type))
          found.push({ type: 'other', answer: place + 1, event })
      }
    })
    const failed = last.find(({ type }) => type === 'fail')
    return [...found, ...(failed === undefined ? last : [failed])]
  }
}

class StreamReader implements AnswerReader, EventSink {
  readonly #all: AllRules
  readonly #events = new EventReader(this, LONGEST_EVENT)
  readonly #tree = new Tree()
  readonly #shape = new EventShape()
  /** What is being read, when it is one whole event; null = it is not. */
  #whole: Buffer | null = null
  held = 0

  constructor(all: AllRules) {
    this.#all = all
  }

  /** Gives the events that are like the last one to its shape, and all others, one by one, to the general reader. */
  push(chunk: Buffer): readonly AnswerEvent[] {
    const { blocks } = this.#all.first
    let at = 0
    while (!blocks.done && at < chunk.length) {
      if (this.#all.isAlone && this.#events.atBoundary) at = this.#shape.tell(chunk, at, blocks.found)
      if (at === chunk.length) break
      const blank = this.#shape.isDue ? chunk.indexOf(BLANK_LINE, at) : -1
      const end = blank < 0 ? chunk.length : blank + BLANK_LINE.length
      const part = chunk.subarray(at, end)
      this.#whole = this.#events.atBoundary && blank >= 0 ? part : null
      this.#events.feed(part)
      this.held = this.#events.held + this.#all.held
      at = end
    }
    return this.#all.take()
  }

  end(): readonly AnswerEvent[] {
    this.#events.end()
    if (!this.#all.done) this.#all.each(rules => rules.ended())
    return this.#all.take()
  }

  takeDocument(): null {
    return null
  }

  readDocument(): never {
    throw new Error('a stream is no document')
  }

  event(name: string, data: Buffer, cut: Buffer | null): void {
    const { blocks } = this.#all.first
    if (blocks.done || data.length === 0) return
    this.#shape.forget()
    if (cut !== null) blocks.fail(untellable('an event of the answer is too long'))
    else if (this.#tree.read(data.toString('latin1'))) this.#read(name)
    else if (!this.#all.each(rules => rules.words(this.#tree.text)))
      blocks.fail(unreadable('an event of the answer is not JSON'))
  }

  #read(name: string): void {
    const { found } = this.#all.first.blocks
    found.next()
    this.#all.each(rules => rules.event(name, this.#tree))
    const text = this.#whole === null ? NONE : found.onlySource
    if (text !== NONE) this.#shape.learn((this.#whole as Buffer).toString('latin1'), this.#tree, text)
  }
}

/** The memory of a large document, so that no part of it is copied twice, nor much of it at once. */
const BLOCK_BYTES = 1024 * 1024

class DocumentReader implements AnswerReader {
  readonly #all: AllRules
  /** A large document stands in blocks of memory of its own, of which the last one has room left. */
  #chunks: Uint8Array<ArrayBufferLike>[] = []
  #blocks: Uint8Array<ArrayBuffer>[] = []
  #filled = BLOCK_BYTES
  held = 0

  constructor(all: AllRules) {
    this.#all = all
  }

  push(chunk: Buffer): readonly AnswerEvent[] {
    const { blocks } = this.#all.first
    if (blocks.done) return blocks.found.take()
    this.held += chunk.length
    if (this.held > LONGEST_DOCUMENT) {
      this.#forget()
      blocks.fail(untellable('the answer is too long'))
    } else if (this.held <= LARGE_DOCUMENT) this.#chunks.push(chunk)
    else {
      for (const one of this.#chunks) this.#copy(one)
      this.#chunks = []
      this.#copy(chunk)
    }
    return blocks.found.take()
  }

  #copy(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#filled === BLOCK_BYTES) {
        this.#blocks.push(new Uint8Array(BLOCK_BYTES))
        this.#filled = 0
      }
      const part = chunk.subarray(at, at + BLOCK_BYTES - this.#filled)
      this.#blocks.at(-1)?.set(part, this.#filled)
      this.#filled += part.length
      at += part.length
    }
  }

  #parts(): Uint8Array<ArrayBuffer>[] {
    const last = this.#blocks.pop()
    return last === undefined ? [] : [...this.#blocks, last.subarray(0, this.#filled)]
  }

  #forget(): void {
    this.#chunks = []
    this.#blocks = []
    this.held = 0
  }

  takeDocument(): Uint8Array<ArrayBuffer>[] | null {
    if (this.held <= LARGE_DOCUMENT || this.#all.done) return null
    const parts = this.#parts()
    this.#forget()
    return parts
  }

  end(): readonly AnswerEvent[] {
    return this.readDocument([...this.#chunks, ...this.#parts()])
  }

  readDocument(parts: readonly Uint8Array[]): readonly AnswerEvent[] {
    const { blocks } = this.#all.first
    this.#forget()
    if (!blocks.done) {
      const tree = new Tree(undefined, MOST_VALUES)
      if (tree.read(Buffer.concat(parts).toString('latin1'))) this.#all.each(rules => rules.document(tree))
      else
        blocks.fail(
          tree.hasTooMany ? untellable('the answer has too many values') : unreadable('the answer is not JSON'),
        )
    }
    return this.#all.take()
  }
}

type TextKind = 'text' | 'thought' | 'refusal'

export const MOST_BLOCKS = 4096
const LONGEST_WORD = 64

interface OpenCall {
  /** Takes the text out of the object in which it was asked for; null = the tool takes the object. */
  freeform: TextOfInput | null
}

/**
 * What every answer reader does with what it finds: it opens blocks, continues them and closes them, in the order that `events.ts`
 * promises to writers. Calls get the names that the client knows, and ids that every protocol takes.
 */
export class Blocks {
  readonly #options: ReaderOptions
  readonly found = new FoundEvents()
  readonly searches: Searches
  #begun = false
  #next = 0
  /** The open block that is no call; -1 = none is open. */
  #live = -1
  #liveKind: TextKind = 'text'
  #sealed = false
  readonly #calls = new Map<number, OpenCall>()
  #sawCall = false
  #sawRefusal = false
  /** The number that was told last; -1 = none was. */
  #thinking = -1
  /** The reader is done: `end` or `fail` has come. */
  done = false
  /** Why the upstream stopped, as far as it has said. */
  reason: StopReason | 'unknown' | null = null
  #isSteered = false
  sequence: Literal | null = null

  constructor(options: ReaderOptions) {
    this.#options = options
    this.searches = new Searches(options)
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
  text(kind: TextKind, text: Literal, source: Node = NONE, logprobs: Logprobs = NO_LOGPROBS): void {
    if ((text.length < 3 && logprobs.length === 0) || this.done) return
    const index = this.#textBlock(kind)
    if (index >= 0) this.found.delta(index, text, source, logprobs)
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
    const name = this.#options.renamed.get(upstreamName) ?? { name: upstreamName, freeform: false }
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

  /** The text that is open cites an address. */
  note(citation: Citation | null): void {
    if (citation === null || this.done || !this.searches.cites(citation)) return
    if (this.#live < 0 || this.#liveKind !== 'text') return
    this.found.add({ type: 'note', index: this.#live, citation })
  }

  /** A search of which all is known. The text that is open goes on. */
  searched(found: WebFindings | null): void {
    if (found === null || this.done) return
    const index = this.#open()
    if (index < 0) return
    this.found.add({ type: 'open', index, kind: 'search', found })
    this.found.add({ type: 'close', index })
  }

  closeText(): void {
    if (this.#live < 0) return
    const index = this.#live
    this.#live = -1
    // a state without a value still says whose the thought is, so that no other upstream is sent it as its own
    if (this.#liveKind === 'thought' && !this.#sealed) {
      const opaque: Opaque = { issuer: this.#options.issuer, of: 'signed', value: EMPTY_TEXT }
      this.found.add({ type: 'seal', index, opaque })
    }
    this.found.add({ type: 'close', index })
  }

  closeCall(index: number): void {
    const call = this.#calls.get(index)
    if (call === undefined) return
    const rest = call.freeform?.end() ?? EMPTY_TEXT
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

  /** Why the upstream stopped, in its own word; null or empty = it does not say it here. */
  stopped(protocol: FinishingProtocol, word: string | null): void {
    if (word === null || word === '') return
    const finish = finishOf(protocol, word) ?? 'unknown'
    const failed = (): string => `the upstream stopped: ${word.slice(0, LONGEST_WORD)}`
    if (finish === 'failed') this.fail(unreadable(failed()))
    else if (finish === 'malformed') this.fail(untellable(failed()))
    else if (finish !== 'steered') this.reason = finish
    else {
      this.#isSteered = true
      this.reason = 'end'
    }
  }

  /** A document says all that it has to say, also where it does not say why it ended. */
  finishDocument(): void {
    this.reason ??= 'end'
    this.finish()
  }

  finish(): void {
    if (this.done) return
    this.reason ??= this.#unsaid
    if (this.reason === null) {
      this.fail(unreadable('the answer ended without a reason'))
      return
    }
    if (this.reason === 'other' && !this.any) {
      this.fail(untellable('the upstream stopped for a reason that is not known'))
      return
    }
    this.closeText()
    this.closeCalls()
    this.searched(this.searches.rest())
    // who refuses in words may say that this was all
    const told = this.#sawRefusal && this.reason === 'end' ? 'refusal' : this.reason
    const reason = told === 'unknown' ? told : reasonFor(told, this.#sawCall)
    this.found.add({
      type: 'stop',
      reason,
      sequence: this.sequence,
      ...(this.#isSteered ? { isSteered: true } : {}),
    })
    this.found.add({ type: 'end' })
    this.done = true
  }

  /** The reason of a stream that names none; null = it was cut. */
  get #unsaid(): 'unknown' | 'end' | null {
    if (this.#sawCall) return 'unknown'
    return this.#options.isLenient ? 'end' : null
  }

  fail(failure: Failure): void {
    if (this.done) return
    this.found.add({ type: 'fail', failure })
    this.done = true
  }

  #open(): number {
    if (this.#next < MOST_BLOCKS) return this.#next++
    this.fail(untellable('the answer has too many parts'))
    return -1
  }
}
