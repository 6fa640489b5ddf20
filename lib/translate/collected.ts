/** The blocks of an answer that is written as one document, when all of it has come. */
import type { Opaque } from './ask.ts'
import { unreadable } from './blocks.ts'
import { sizeOfNote } from './citation.ts'
import type { AnswerEvent, CallHead, Citation, StopReason } from './events.ts'
import type { Literal } from './json/literal.ts'
import { Pieces } from './pieces.ts'

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

export class Collected {
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
