/** What a reader has found in an answer since it was last asked, and whether another event like the last one would tell just as much. */
import type { AnswerEvent } from './events.ts'
import type { Literal } from './json/literal.ts'
import { NONE, type Node } from './json/tree.ts'

export class Found {
  #events: AnswerEvent[] = []
  /** The block of the last delta, and the value in the upstream's event that is its text as it stands; NONE = there is none. */
  #block = -1
  #source: Node = NONE
  /** The reader keeps in mind what it has read of a block, so that it must read each event. */
  readsAll = false

  get count(): number {
    return this.#events.length
  }

  add(event: AnswerEvent): void {
    this.#events.push(event)
  }

  /** `source`: the value that `text` is; NONE = it was made. */
  delta(index: number, text: Literal, source: Node): void {
    this.#block = index
    this.#source = source
    this.#events.push({ type: 'delta', index, text })
  }

  /** More of what the last delta belongs to. */
  again(text: Literal): void {
    this.#events.push({ type: 'delta', index: this.#block, text })
  }

  /**
   * The value whose text is all that was found since `count` was so much: with another text in its place that text would have been
   * found, and nothing else. NONE = something else was found.
   */
  onlySource(count: number): Node {
    const isOne = this.#events.length === count + 1 && this.#events[count]?.type === 'delta'
    return isOne && !this.readsAll ? this.#source : NONE
  }

  take(): readonly AnswerEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }
}
