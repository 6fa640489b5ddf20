/**
 * What the writers of all protocols share. Each gets the events of an answer and counts what it tells its client, as the meter counts
 * what an upstream sends. Of a stream a protocol brings the words; of a document, of which nothing is written before its end, it brings
 * `end`.
 */
import { BYTES_PER_TOKEN, UNICODE_ESCAPE_BYTES } from '../protocols/answers/content.ts'
import type { Usage } from '../protocols/words/usage.ts'
import {
  type AnswerEvent,
  type AnswerWriter,
  type CallHead,
  type Citation,
  type Failure,
  isCut,
  type LikelyToken,
  type Logprobs,
  type LossWord,
  NO_LOGPROBS,
  type Opaque,
  type OpenEvent,
  type StopReason,
  untellable,
  type WebFindings,
  type WriterOptions,
} from './events.ts'
import { type PlaceUnit, TextPlaces } from './search-results.ts'
import { ObjectCheck } from './json/check.ts'
import { EMPTY_TEXT, isBlank, type JsonText, join, type Literal } from './json/literal.ts'
import { objectIn } from './json/tree.ts'

/** The most bytes of an answer that is kept, of a document or of what waits in a stream. */
export const MOST_HELD = 32 * 1024 * 1024
const TOO_MUCH = untellable('the answer is too long')
const NO_OBJECT = untellable('the arguments of a call are no JSON object')
const HALF = untellable('the arguments of a call are not whole')
const UNICODE_ESCAPE = 6

/** The bytes that a text stands for. */
export function bytesIn(text: Literal): number {
  let bytes = text.length - 2
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at + 2))
    bytes -= text[at + 1] === 'u' ? UNICODE_ESCAPE - UNICODE_ESCAPE_BYTES : 1
  return bytes
}

/** Options of a writer that writes one of several answers. */
export interface AnswerOptions extends WriterOptions {
  /** The place of the answer; absent = it is the first, whose writer also writes what belongs to all. */
  answer?: number
  /** The other answers of a document, when all is known. */
  others?: () => readonly JsonText[]
  /** Whether the array of a stream has begun, which all of them share. */
  frame?: { isBegun: boolean }
}

/** A writer whose document has a place for several answers. */
export interface WriterOfMany extends AnswerWriter {
  /** The answer as an element of a document. */
  element(): JsonText
}

/** Writes several answers to one request: each by a writer of its own, of which the first one ends the whole. */
export function writerOfAll(writerOf: (options: AnswerOptions) => WriterOfMany, options: WriterOptions): AnswerWriter {
  const { answers = 1 } = options.ask
  return answers === 1 ? writerOf(options) : new ManyWriter(writerOf, options, answers)
}

class ManyWriter implements AnswerWriter {
  readonly #first: WriterOfMany
  readonly #others: WriterOfMany[]
  readonly #told = new Set<number>()
  readonly #isDocument: boolean

  constructor(writerOf: (options: AnswerOptions) => WriterOfMany, options: WriterOptions, answers: number) {
    this.#isDocument = !options.events && !options.array
    const shared = { ...options, frame: { isBegun: false } }
    const others = () => this.#given.map(writer => writer.element())
    this.#first = writerOf({ ...shared, others })
    this.#others = Array.from({ length: answers - 1 }, (_, place) => writerOf({ ...shared, answer: place + 1 }))
  }

  /** The others of which something came. */
  get #given(): WriterOfMany[] {
    return this.#others.filter((_, place) => this.#told.has(place + 1))
  }

  get #all(): WriterOfMany[] {
    return [this.#first, ...this.#others]
  }

  write(event: AnswerEvent): string {
    if (event.type !== 'other') return this.#first.write(event)
    this.#told.add(event.answer)
    return this.#others[event.answer - 1]?.write(event.event) ?? ''
  }

  finish(usage: Usage): string {
    const others = this.#isDocument ? [] : this.#given.map(writer => writer.finish(usage))
    return others.join('') + this.#first.finish(usage)
  }

  stopByLength(usage: Usage): string {
    const others = this.#isDocument ? [] : this.#given.map(writer => writer.stopByLength(usage))
    return others.join('') + this.#first.stopByLength(usage)
  }

  breakOff(failure: Failure): string {
    return this.#first.breakOff(failure)
  }

  usageText(usage: Usage, thinking: number): JsonText {
    return this.#first.usageText(usage, thinking)
  }

  get keepAlive(): string {
    return this.#first.keepAlive
  }

  get thinking(): number {
    return this.#first.thinking
  }

  get counted(): number {
    return this.#all.reduce((sum, { counted }) => sum + counted, 0)
  }

  get held(): number {
    return this.#all.reduce((sum, { held }) => sum + held, 0)
  }

  get failure(): Failure | null {
    return this.#all.find(({ failure }) => failure !== null)?.failure ?? null
  }

  get losses(): ReadonlySet<LossWord> {
    return new Set(this.#all.flatMap(({ losses }) => [...(losses ?? [])]))
  }
}

export abstract class EventWriter {
  protected readonly options: WriterOptions
  /** How many of the tokens were thought. */
  thinking = 0
  protected reason: StopReason = 'end'
  protected sequence: Literal | null = null
  /** Bytes of text that the client is told. */
  protected toldBytes = 0
  failure: Failure | null = null
  held = 0

  /** The text of the answer, where the client asked for a search and may be told what cites what; null = it did not. */
  readonly #places: TextPlaces | null

  constructor(options: WriterOptions) {
    this.options = options
    this.#places = options.ask.query === undefined ? null : new TextPlaces()
  }

  /** The client asked for a search. */
  protected get searches(): boolean {
    return this.#places !== null
  }

  /** How the protocol counts places in the text. */
  protected get unit(): PlaceUnit {
    return 'answer'
  }

  /** The citation with its place as the protocol counts. Nothing is known of places of a text that was not kept. */
  protected placed(index: number, citation: Citation): Citation {
    if (this.#places !== null) return this.#places.told(index, citation, this.unit)
    return citation.at === 'bytes' ? { ...citation, start: '0', end: '0' } : citation
  }

  /** What stands between two places, in bytes. */
  protected between(start: number, end: number): string {
    return this.#places?.between(start, end) ?? ''
  }

  get keepAlive(): string {
    return '\n'
  }

  get counted(): number {
    return Math.ceil(this.toldBytes / BYTES_PER_TOKEN)
  }

  protected hold(bytes: number): void {
    this.held += bytes
    if (this.held > MOST_HELD) this.failure = TOO_MUCH
  }

  write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    switch (event.type) {
      case 'begin':
        return this.begin()
      case 'open':
        if (event.kind === 'text') this.#places?.open(event.index)
        return this.open(event)
      case 'delta':
        if (this.#places !== null) this.hold(this.#places.add(event.index, event.text))
        return this.piece(event.index, event.text, event.logprobs)
      case 'seal':
        return this.seal(event.index, event.opaque)
      case 'note':
        return this.note(event.index, this.placed(event.index, event.citation))
      case 'close':
        return this.close(event.index)
      case 'thinking':
        this.thinking = event.tokens
        return ''
      case 'stop':
        if (event.reason !== 'unknown') this.reason = event.reason
        else this.reason = this.hasWholeCalls ? 'tool' : 'length'
        if (event.isSteered) this.steered()
        this.sequence = event.sequence
        this.stopped()
        return ''
      default:
        return ''
    }
  }

  abstract usageText(usage: Usage, thinking: number): JsonText

  protected usage(usage: Usage): JsonText {
    return this.options.usageMark ?? this.usageText(usage, this.thinking)
  }

  finish(usage: Usage): string {
    return this.begin() + this.end(usage, this.reason)
  }

  stopByLength(usage: Usage): string {
    return this.begin() + this.end(usage, 'length')
  }

  breakOff(_failure: Failure): string {
    return ''
  }

  /** The answer begins, unless it has begun. */
  protected begin(): string {
    return ''
  }

  protected abstract open(event: OpenEvent): string
  protected abstract piece(index: number, text: Literal, logprobs?: Logprobs): string
  protected abstract seal(index: number, opaque: Opaque): string
  protected abstract close(index: number): string
  protected abstract end(usage: Usage, reason: StopReason): string

  /** Protocols that have no place for citations leave them out. */
  protected note(_index: number, _citation: Citation): string {
    return ''
  }

  /** There are calls, and the arguments of all of them are whole. All blocks are closed. */
  protected abstract readonly hasWholeCalls: boolean

  /** The answer was turned elsewhere. Only the head of a document can still say so. */
  protected steered(): void {}

  /** All blocks are closed, and `reason` is known. */
  protected stopped(): void {}
}

// --- streams in which blocks come one after the other

export interface OpenBlock {
  kind: OpenEvent['kind']
  call: CallHead | null
  /** Whether the arguments of a call are whole. */
  check: ObjectCheck | null
  /** What waits for the blocks before it. */
  waiting: { piece: Piece; logprobs?: Logprobs | undefined }[]
  /** The arguments of a call that is told whole. */
  args: LongText
  argBytes: number
  /** The reader says that the block has come to its end. */
  isClosed: boolean
}

/** Text, state that belongs to it, what it cites, and what a search has found. */
export type Piece = Literal | Opaque | Citation | WebFindings

function sizeOf(piece: Piece): number {
  if (typeof piece === 'string') return piece.length
  if ('value' in piece) return piece.value.length
  return 'sources' in piece ? sizeOfFound(piece) : sizeOfNote(piece)
}

/**
 * One block is told at a time: while it is, what belongs to blocks behind it waits. A call has ended when its arguments are a whole
 * object, so that parallel calls wait for nobody unless the upstream mixes them.
 */
export abstract class OrderedWriter extends EventWriter {
  /** Blocks that are not told to their end, in order; the first one is live. */
  #blocks: OpenBlock[] = []
  /** How many blocks came before the first of these, as the reader counts. */
  #gone = 0
  /** The arguments of a call have ended before they were whole, which may only be in an answer that was cut. */
  #hasHalfCall = false

  #sawCall = false
  readonly #tellsCallsWhole: boolean

  constructor(options: WriterOptions, { tellsCallsWhole }: { tellsCallsWhole: boolean }) {
    super(options)
    this.#tellsCallsWhole = tellsCallsWhole
  }

  /** The block is live, or is so still. */
  protected live(_block: OpenBlock): string {
    return ''
  }
  protected abstract tell(block: OpenBlock, piece: Piece, logprobs?: Logprobs): string
  protected abstract ended(block: OpenBlock): string

  protected open(event: OpenEvent): string {
    const call = event.kind === 'call' ? event.call : null
    this.#sawCall ||= call !== null
    const waiting: OpenBlock['waiting'] = []
    if (event.kind === 'media') waiting.push({ piece: this.media(event.mime, event.base64) })
    if (event.kind === 'search') waiting.push({ piece: event.found })
    const check = call === null ? null : new ObjectCheck()
    this.#blocks.push({ kind: event.kind, call, check, waiting, args: new LongText(), argBytes: 0, isClosed: false })
    for (const { piece } of waiting) this.hold(sizeOf(piece))
    return this.#live()
  }

  /** What is told of a file. */
  protected abstract media(mime: string, base64: Literal): Literal

  protected seal(index: number, opaque: Opaque): string {
    return this.piece(index, opaque)
  }

  protected override note(index: number, citation: Citation): string {
    return this.searches ? this.piece(index, citation) : ''
  }

  protected piece(index: number, piece: Piece, logprobs?: Logprobs): string {
    const block = this.#blocks[index - this.#gone]
    if (block === undefined) {
      // a call whose arguments were whole, behind which only space may come
      if (typeof piece === 'string' && !isBlank(piece)) this.failure = NO_OBJECT
      return ''
    }
    const { check } = block
    if (check !== null && typeof piece === 'string') {
      check.feed(piece)
      if (check.bad) {
        this.failure = NO_OBJECT
        return ''
      }
    }
    const isLive = block === this.#blocks[0]
    let text = ''
    if (check !== null && this.#tellsCallsWhole) this.#keep(block, piece)
    else if (isLive) text = this.tell(block, piece, logprobs)
    else {
      block.waiting.push({ piece, logprobs })
      this.hold(sizeOf(piece) + sizeOfLogprobs(logprobs ?? NO_LOGPROBS))
    }
    return isLive && check?.whole && this.failure === null ? text + this.#live() : text
  }

  #keep(block: OpenBlock, piece: Piece): void {
    if (typeof piece !== 'string') return
    block.args.add(piece)
    block.argBytes += piece.length
    this.hold(piece.length)
  }

  protected close(index: number): string {
    const block = this.#blocks[index - this.#gone]
    if (block === undefined) return ''
    const { check } = block
    block.isClosed = true
    this.#hasHalfCall ||= check !== null && !check.whole && !check.empty
    return this.#live()
  }

  /** Calls that are not whole end as they are: with the reason that follows nobody runs them. */
  protected closeAll(): string {
    for (const block of this.#blocks) block.isClosed = true
    return this.#live()
  }

  protected get hasWholeCalls(): boolean {
    return this.#sawCall && !this.#hasHalfCall
  }

  protected override stopped(): void {
    if (this.#hasHalfCall && !isCut(this.reason)) this.failure = HALF
  }

  /** Tells what the first block has waiting, and goes on to the next while blocks have come to their end. */
  #live(): string {
    let text = ''
    for (let block = this.#blocks[0]; block !== undefined; block = this.#blocks[0]) {
      text += this.live(block)
      for (const { piece, logprobs } of block.waiting) {
        this.held -= sizeOf(piece) + sizeOfLogprobs(logprobs ?? NO_LOGPROBS)
        text += this.tell(block, piece, logprobs)
      }
      block.waiting = []
      if (!block.isClosed && !block.check?.whole) return text
      this.held -= block.argBytes
      text += this.ended(block)
      this.#blocks.shift()
      this.#gone++
    }
    return text
  }
}

// --- documents

/** What a block costs besides its text. */
const BLOCK_BYTES = 100

export interface CollectedBlock {
  kind: OpenEvent['kind']
  /** Texts, thoughts, the arguments of calls, and media as base64. */
  pieces: LongText
  /** Calls only. */
  call: CallHead | null
  /** Media only. */
  mime: string
  /** Searches only. */
  found: WebFindings | null
  opaque: Opaque | null
  notes: Citation[]
  /** How likely the tokens of a text were. */
  logprobs: Logprobs[number][]
  isClosed: boolean
}

/** An answer as one document: its blocks are collected until the end. */
export abstract class DocumentWriter extends EventWriter {
  /** All blocks, in the order in which they were opened. */
  protected readonly blocks: CollectedBlock[] = []
  readonly losses = new Set<LossWord>()

  constructor(options: WriterOptions) {
    super(options)
    this.reason = 'length'
  }

  protected open(event: OpenEvent): string {
    const { index, kind } = event
    const call = kind === 'call' ? event.call : null
    const mime = kind === 'media' ? event.mime : ''
    const pieces = new LongText()
    if (kind === 'media') pieces.add(event.base64)
    const found = kind === 'search' ? event.found : null
    this.blocks[index] = { kind, pieces, call, mime, found, opaque: null, notes: [], logprobs: [], isClosed: false }
    this.hold(kind === 'media' ? event.base64.length : BLOCK_BYTES + (found === null ? 0 : sizeOfFound(found)))
    return ''
  }

  protected piece(index: number, text: Literal, logprobs: Logprobs = NO_LOGPROBS): string {
    this.blocks[index]?.pieces.add(text)
    for (const one of logprobs) this.blocks[index]?.logprobs.push(one)
    this.hold(text.length + sizeOfLogprobs(logprobs))
    return ''
  }

  /** What is counted here is seldom asked for, and takes long in a long text. */
  override get counted(): number {
    const texts = this.blocks.filter(({ kind }) => kind !== 'media').map(({ pieces }) => pieces.text)
    return Math.ceil(texts.reduce((sum, text) => sum + bytesIn(text), 0) / BYTES_PER_TOKEN)
  }

  protected seal(index: number, opaque: Opaque): string {
    const block = this.blocks[index]
    if (block !== undefined) block.opaque = opaque
    this.hold(opaque.value.length)
    return ''
  }

  protected override note(index: number, citation: Citation): string {
    this.blocks[index]?.notes.push(citation)
    this.hold(sizeOfNote(citation))
    return ''
  }

  protected close(index: number): string {
    const block = this.blocks[index]
    if (block !== undefined) block.isClosed = true
    return ''
  }

  protected get hasWholeCalls(): boolean {
    const calls = this.blocks.filter(({ call }) => call !== null)
    const isWhole = ({ call, pieces: { text } }: CollectedBlock): boolean =>
      call?.freeform === true || isBlank(text) || objectIn(text) !== null
    return calls.length > 0 && calls.every(isWhole)
  }

  protected override steered(): void {
    this.losses.add('other')
  }

  /** The protocol has no place for citations of addresses. */
  protected losesCitations(): void {
    if (!this.searches && this.blocks.some(({ notes }) => notes.length > 0)) this.losses.add('citations')
  }
}

/** A document of a protocol in which the arguments of a call are an object: a call that ends without one is a failure. */
export abstract class DocumentOfObjects extends DocumentWriter {
  protected override stopped(): void {
    const isHalf = ({ kind, pieces }: CollectedBlock) => kind === 'call' && objectIn(pieces.text) === null
    if (!isCut(this.reason) && this.blocks.some(isHalf)) this.failure = NO_OBJECT
  }
}

/** Bytes of memory. */
export const sizeOfNote = ({ url, title }: Citation): number => url.length + title.length

/** What a token costs in memory besides its texts. */
const TOKEN_BYTES = 100

const sizeOfToken = ({ token, logprob, bytes }: LikelyToken): number =>
  TOKEN_BYTES + token.length + logprob.length + (bytes?.length ?? 0)

const sizeOfLogprobs = (all: Logprobs): number =>
  all.reduce((sum, one) => one.top.reduce((more, other) => more + sizeOfToken(other), sum + sizeOfToken(one)), 0)

export const sizeOfFound = ({ sources }: WebFindings): number =>
  sources.reduce((sum, { url, title, text }) => sum + url.length + title.length + text.length, 0)

const MOST_PIECES = 128

/**
 * A long text of which the pieces come one by one, where all of it is written at the end. A piece is a view of the event that it came in
 * and would keep all of that in memory, so that pieces are copied together now and then.
 */
export class LongText {
  #copied: Literal[] = []
  #views: Literal[] = []

  add(piece: Literal): void {
    this.#views.push(piece)
    if (this.#views.length < MOST_PIECES) return
    this.#copied.push(Buffer.from(join(this.#views), 'latin1').toString('latin1'))
    this.#views = []
  }

  get text(): Literal {
    const all = [...this.#copied, ...this.#views]
    return all.length === 0 ? EMPTY_TEXT : join(all)
  }
}
