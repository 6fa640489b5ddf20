/**
 * The bytes of an upstream's answer as JSON: each event of a stream, or the one document, is given to the reader's rules as
 * a tree. What cannot be read, is too long or has too much in it fails the answer.
 */
import { BLANK_LINE, EventReader, type EventSink } from '../protocols/events.ts'
import { bytesAsText } from '../protocols/patterns.ts'
import { type Blocks, unreadable } from './blocks.ts'
import { EventShape } from './event-shape.ts'
import type { AnswerEvent } from './events.ts'
import { NONE, Tree } from './json/tree.ts'
import type { AnswerReader } from './protocol.ts'

/** The longest event and the longest document. Pictures stand whole in both. */
const LONGEST_EVENT = 8 * 1024 * 1024
const LONGEST_DOCUMENT = 32 * 1024 * 1024

/** How a protocol reads its answers. What it finds goes into `blocks`. */
export interface AnswerRules {
  readonly blocks: Blocks
  /** An event of a stream: the tree has its data, which are JSON. */
  event(name: string, tree: Tree): void
  /** An event whose data are no JSON; true: that is in order. */
  words(text: string): boolean
  /** The stream has ended. */
  ended(): void
  document(tree: Tree): void
}

export const readerOf = (rules: AnswerRules, events: boolean): AnswerReader =>
  events ? new StreamReader(rules) : new DocumentReader(rules)

class StreamReader implements AnswerReader, EventSink {
  readonly #rules: AnswerRules
  readonly #events = new EventReader(this, LONGEST_EVENT)
  readonly #tree = new Tree()
  readonly #shape = new EventShape()
  /** What is being read, when it is one whole event; null = it is not. */
  #whole: Buffer | null = null

  constructor(rules: AnswerRules) {
    this.#rules = rules
  }

  push(chunk: Buffer): readonly AnswerEvent[] {
    this.#feed(chunk)
    return this.#rules.blocks.found.take()
  }

  /** Gives the events that are like the last one to its shape, and all others, one by one, to the general reader. */
  #feed(chunk: Buffer): void {
    const { blocks } = this.#rules
    let at = 0
    while (!blocks.done && at < chunk.length) {
      if (this.#events.atBoundary) at = this.#shape.tell(chunk, at, blocks.found)
      const blank = this.#shape.isDue ? chunk.indexOf(BLANK_LINE, at) : -1
      const end = blank < 0 ? chunk.length : blank + BLANK_LINE.length
      const part = chunk.subarray(at, end)
      this.#whole = this.#events.atBoundary && blank >= 0 ? part : null
      if (at < end) this.#events.feed(part)
      at = end
    }
  }

  end(): readonly AnswerEvent[] {
    this.#events.end()
    if (!this.#rules.blocks.done) this.#rules.ended()
    return this.#rules.blocks.found.take()
  }

  takeDocument(): null {
    return null
  }

  get held(): number {
    return this.#events.held
  }

  event(name: string, data: Buffer, cut: Buffer | null): void {
    const { blocks } = this.#rules
    if (blocks.done || data.length === 0) return
    this.#shape.forget()
    if (cut !== null) blocks.fail(unreadable('an event of the answer is too long'))
    else if (this.#tree.read(bytesAsText(data))) this.#read(name)
    else if (!this.#rules.words(this.#tree.text)) blocks.fail(unreadable('an event of the answer is not JSON'))
  }

  #read(name: string): void {
    const { blocks } = this.#rules
    const { found } = blocks
    found.next()
    this.#rules.event(name, this.#tree)
    const text = this.#whole === null ? NONE : found.onlySource
    if (text !== NONE) this.#shape.learn(bytesAsText(this.#whole as Buffer), this.#tree, text)
  }
}

class DocumentReader implements AnswerReader {
  readonly #rules: AnswerRules
  #chunks: Buffer[] = []
  held = 0

  constructor(rules: AnswerRules) {
    this.#rules = rules
  }

  push(chunk: Buffer): readonly AnswerEvent[] {
    const { blocks } = this.#rules
    if (blocks.done) return blocks.found.take()
    this.held += chunk.length
    if (this.held <= LONGEST_DOCUMENT) this.#chunks.push(chunk)
    else {
      this.#chunks = []
      this.held = 0
      blocks.fail(unreadable('the answer is too long'))
    }
    return blocks.found.take()
  }

  takeDocument(): Buffer<ArrayBuffer> {
    const whole = Buffer.from(new ArrayBuffer(this.held)) // in memory of its own, which can go to another thread
    let at = 0
    for (const chunk of this.#chunks) at += chunk.copy(whole, at)
    this.#chunks = []
    this.held = 0
    return whole
  }

  end(): readonly AnswerEvent[] {
    const { blocks } = this.#rules
    if (!blocks.done) {
      const tree = new Tree()
      if (tree.read(bytesAsText(Buffer.concat(this.#chunks)))) this.#rules.document(tree)
      else blocks.fail(unreadable('the answer is not JSON'))
    }
    this.#chunks = []
    this.held = 0
    return blocks.found.take()
  }
}
