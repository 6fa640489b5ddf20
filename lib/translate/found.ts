/** What a reader has found in an answer since it was last asked, and whether another event like the last one would tell just as much. */
import type { AnswerEvent } from './events.ts'
import { flat, type Literal } from './json/literal.ts'
import { NONE, type Node } from './json/tree.ts'

export class Found {
  #events: AnswerEvent[] = []
  /** The block of the last delta, and the value in the upstream's event that is its text as it stands; NONE = there is none. */
  #block = -1
  #source: Node = NONE
  /** How many events there were when the reader began with the last event of its upstream. */
  #from = 0
  #isKept = false

  /** The texts of the last deltas get memory of their own, so that they do not keep what they were taken from. */
  copyLast(count: number): void {
    for (let at = this.#events.length - count; at < this.#events.length; at++) {
      const event = this.#events[at] as AnswerEvent
      if (event.type === 'delta') this.#events[at] = { ...event, text: flat(event.text) }
    }
  }

  /** Another event of the upstream is read. */
  next(): void {
    this.#from = this.#events.length
    this.#isKept = false
  }

  /** What the event says, or what it means, depends on what the reader keeps in mind of this or of other events, so that each one like it must be read. */
  keeps(): void {
    this.#isKept = true
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
   * The value whose text is all that was found in the event: with another text in its place that text would have been found, and
   * nothing else. NONE = something else was found.
   */
  get onlySource(): Node {
    const isOne = this.#events.length === this.#from + 1 && this.#events[this.#from]?.type === 'delta'
    return isOne && !this.#isKept ? this.#source : NONE
  }

  take(): readonly AnswerEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }
}
