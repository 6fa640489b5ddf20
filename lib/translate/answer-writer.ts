/**
 * What the writers of all protocols share where an answer is one document: nothing is written before its end, so its blocks
 * are collected until then. A protocol brings `finish`.
 */
import { BYTES_PER_TOKEN, UNICODE_ESCAPE_BYTES } from '../protocols/answers/content.ts'
import type { Usage } from '../protocols/words/usage.ts'
import {
  type LossWord,
  type Opaque,
  type AnswerEvent,
  type CallHead,
  type Citation,
  type StopReason,
  isCut,
  type Failure,
  type AnswerWriter,
  type WriterOptions,
  unreadable,
} from './events.ts'
import { EMPTY, type Literal, type Source, join, unquote } from './json/literal.ts'
import { Tree } from './json/tree.ts'
import { sizeOfNote } from './openai.ts'

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

  abstract finish(usage: Usage): string

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

  stopByLength(usage: Usage): string {
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

// --- collected

/** The blocks of an answer that is written as one document, when all of it has come. */

/** The most bytes of an answer that is kept, of a document or of what waits in a stream. */
export const MOST_HELD = 32 * 1024 * 1024
export const TOO_MUCH = unreadable('the answer is too long')

export interface CollectedBlock {
  kind: 'text' | 'thought' | 'refusal' | 'call' | 'media'
  /** Texts, thoughts, and the arguments of calls. */
  text: Literal
  /** Calls only. */
  call: CallHead | null
  /** Media only. */
  mime: string
  opaque: Opaque | null
  notes: Citation[]
  /** The block has come to its end. */
  closed: boolean
}

class Collected {
  readonly #blocks: (CollectedBlock & { pieces: Pieces })[] = []
  reason: StopReason | null = null
  sequence: Literal | null = null
  thinking = 0
  held = 0

  add(event: AnswerEvent): void {
    switch (event.type) {
      case 'open':
        this.#blocks[event.index] = {
          kind: event.kind,
          text: '""',
          call: event.kind === 'call' ? event.call : null,
          mime: event.kind === 'media' ? event.mime : '',
          opaque: null,
          notes: [],
          closed: false,
          pieces: new Pieces(),
        }
        if (event.kind === 'media') this.#blocks[event.index]?.pieces.add(event.base64)
        this.held += event.kind === 'media' ? event.base64.length : 100
        return
      case 'delta':
        this.#blocks[event.index]?.pieces.add(event.text)
        this.held += event.text.length
        return
      case 'seal':
        this.#put(event.index, { opaque: event.opaque })
        this.held += event.opaque.value.length
        return
      case 'note':
        this.#blocks[event.index]?.notes.push(event.citation)
        this.held += sizeOfNote(event.citation)
        return
      case 'close':
        this.#put(event.index, { closed: true })
        return
      case 'thinking':
        this.thinking = event.tokens
        return
      case 'stop':
        this.reason = event.reason
        this.sequence = event.sequence
    }
  }

  #put(index: number, more: Partial<CollectedBlock>): void {
    const block = this.#blocks[index]
    if (block !== undefined) Object.assign(block, more)
  }

  /** All blocks, in the order in which they were opened. */
  get blocks(): readonly CollectedBlock[] {
    for (const block of this.#blocks) block.text = block.pieces.text
    return this.#blocks
  }
}

// --- pieces

/** A long text of which the pieces come one by one, where all of it is written at the end. */

const MOST_PIECES = 128

/**
 * A piece is a view of the event that it came in and would keep all of that in memory, so that pieces are copied together
 * now and then.
 */
export class Pieces {
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
    return all.length === 0 ? EMPTY : join(all)
  }
}

// --- told

/** Counts what a writer has told its client, as the meter counts what an upstream sends. */

const ESCAPES = /\\(?:u[0-9a-fA-F]{4}|.)/g

export class Told {
  #bytes = 0

  add(text: Literal): void {
    this.#bytes += text.length - 2
    if (text.includes('\\'))
      for (const [found] of text.matchAll(ESCAPES))
        this.#bytes -= found.length - (found.length === 2 ? 1 : UNICODE_ESCAPE_BYTES)
  }

  get tokens(): number {
    return Math.ceil(this.#bytes / BYTES_PER_TOKEN)
  }
}
