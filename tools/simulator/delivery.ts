/**
 * Sends one stream: events at their pace, no faster than the other side takes them, and ended as the directive says.
 * Events that are due at the same time leave in one write. Nothing of an event is kept once it is written.
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../lib/base/clock.ts'
import type { Usage } from '../../lib/protocols/words/usage.ts'
import type { End } from './books.ts'
import type { Directive } from './directive.ts'
import type { Frame } from './dialect.ts'

/** How many characters are gathered before they are written. */
const WRITE_AT = 64 * 1024

export interface Order {
  res: ServerResponse
  frames: Iterable<Frame>
  directive: Directive
  /** The pace; 0 = all at once. */
  tokensPerSecond: number
  errorFrame(first: boolean): string
  clock: Clock
}

export class Delivery {
  /** The usage that was reported, and the output tokens that were sent. */
  usage: Usage | null = null
  delivered = 0
  /** How the simulator ended the stream; null = it has not. */
  end: End | null = null

  readonly #order: Order
  readonly #frames: Iterator<Frame>
  readonly #beganMs: number
  #waiting = ''
  #sent = 0
  #stalled = false
  #next: Frame | null = null
  #cancelTimer: (() => void) | null = null

  constructor(order: Order) {
    this.#order = order
    this.#frames = order.frames[Symbol.iterator]()
    this.#beganMs = order.clock.monotonic()
  }

  /** Starts sending. The head of the answer is written already. */
  start(): void {
    this.#order.res.on('drain', () => this.#run())
    this.#run()
  }

  /** Stops, because the other side has left. */
  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  #run(): void {
    if (this.end !== null || this.#cancelTimer !== null) return
    for (;;) {
      if (this.#interrupted()) return
      const frame = (this.#next ??= this.#pull())
      if (frame === null) {
        this.#finish('completed')
        return
      }
      const waitMs = this.#dueMs(frame) - this.#order.clock.monotonic()
      if (waitMs > 0) {
        if (this.#flush()) this.#wait(waitMs)
        return
      }
      this.#next = null
      this.#sent++
      this.delivered += frame.tokens
      this.usage = frame.usage ?? this.usage
      this.#waiting += frame.bytes
      if (this.#waiting.length >= WRITE_AT && !this.#flush()) return
    }
  }

  #pull(): Frame | null {
    const next = this.#frames.next()
    return next.done ? null : next.value
  }

  /** The time at which the last token of an event is made. */
  #dueMs(frame: Frame): number {
    const rate = this.#order.tokensPerSecond
    return rate === 0 ? 0 : this.#beganMs + ((this.delivered + frame.tokens) * 1000) / rate
  }

  /** Ends or pauses the stream before the next event, where the directive says so. Returns whether it did. */
  #interrupted(): boolean {
    const { directive, res, errorFrame } = this.#order
    if (directive.stall === this.#sent && !this.#stalled) {
      this.#stalled = true
      this.#flush()
      this.#wait(directive.stall_ms ?? Number.POSITIVE_INFINITY)
    } else if (directive.event_error === this.#sent) {
      this.#waiting += errorFrame(this.#sent === 0)
      this.#finish('cut')
    } else if (directive.end_early === this.#sent) this.#finish('cut')
    else if (directive.cut === this.#sent) {
      this.end = 'cut'
      // the connection is closed once the kernel has everything before
      res.write(this.#waiting === '' ? '\n' : this.#waiting, () => res.destroy())
    } else return false
    return true
  }

  #finish(end: End): void {
    this.end = end
    this.#order.res.end(this.#waiting)
    this.#waiting = ''
  }

  /** Writes what is gathered. Returns false when the other side takes no more for now. */
  #flush(): boolean {
    const text = this.#waiting
    this.#waiting = ''
    return text === '' || this.#order.res.write(text)
  }

  #wait(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) {
      this.#cancelTimer = () => {}
      return
    }
    this.#cancelTimer = this.#order.clock.after(ms, () => {
      this.#cancelTimer = null
      this.#run()
    })
  }
}
