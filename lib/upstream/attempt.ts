/** One try at one candidate: undici's handler protocol turned into the events the exchange wants, and nothing more. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { Claim } from '../channels/claim.ts'

/** Receives attempts' events, for each in order: `onHead`, any number of `onData`, then `onEnd` or `onError`. */
export interface AttemptEvents {
  /** `status` and `headers` are set. */
  onHead(attempt: Attempt): void
  onData(attempt: Attempt, chunk: Buffer): void
  onEnd(attempt: Attempt): void
  /** Connecting failed, the connection broke, or `abort` was called. */
  onError(attempt: Attempt, error: Error): void
  /** One of these methods has thrown: a fault of ours, which must end this exchange and no other. */
  onFault(error: unknown): void
  /** The attempt is over; told also when its other events are not heard any more. */
  onOver(attempt: Attempt): void
}

/** An answer nobody wants is read to its end up to here, because that keeps the connection; then it is cut. */
const DISCARD_BYTES = 64 * 1024
const DISCARD_MS = 5_000

const NO_HEADERS: IncomingHttpHeaders = {}

export class Attempt implements Dispatcher.DispatchHandler {
  readonly claim: Claim
  /** Monotonic ms. */
  readonly startedMs: number
  readonly #listener: AttemptEvents
  /** 0 = no answer yet. */
  status = 0
  /** The last byte of the request has been written. */
  sent = false
  /** Why it failed. */
  error: Error | null = null
  /** How its answer began; null = that is not kept. */
  excerpt: Buffer | null = null
  #excerptBytes = 0
  headers: IncomingHttpHeaders = NO_HEADERS
  #events: AttemptEvents | null
  #controller: Dispatcher.DispatchController | null = null
  #rest: Buffer[] = []
  #restBytes = 0
  #cancelDiscard: (() => void) | null = null
  #over = false
  #isWhole = false
  #abortReason: Error | null = null

  constructor(claim: Claim, startedMs: number, events: AttemptEvents) {
    this.claim = claim
    this.startedMs = startedMs
    this.#events = this.#listener = events
  }

  /** Of its answer, so many bytes. */
  keepExcerpt(bytes: number): void {
    this.excerpt = Buffer.alloc(0)
    this.#excerptBytes = bytes
  }

  #excerpt(kept: Buffer, chunk: Buffer): void {
    const room = this.#excerptBytes - kept.length
    if (room > 0) this.excerpt = Buffer.concat([kept, chunk.subarray(0, room)])
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#abortReason !== null) controller.abort(this.#abortReason)
  }

  onRequestSent(): void {
    this.sent = true
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#controller = controller
    if (status < 200) return // the answer is still to come
    this.status = status
    this.headers = headers
    try {
      this.#events?.onHead(this)
    } catch (error) {
      this.#events?.onFault(error)
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.excerpt !== null) this.#excerpt(this.excerpt, chunk)
    if (this.#events !== null) {
      try {
        this.#events.onData(this, chunk)
      } catch (error) {
        this.#events?.onFault(error)
      }
      return
    }
    this.#rest.push(chunk)
    this.#restBytes += chunk.length
    if (this.#restBytes > DISCARD_BYTES) controller.abort(new Error('answer discarded'))
  }

  onResponseEnd(): void {
    this.#finish(null)
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#finish(error)
  }

  #finish(error: Error | null): void {
    if (this.#over) return
    const events = this.#events
    this.#events = null
    this.#over = true
    this.#isWhole = error === null
    this.error = error
    this.#cancelDiscard?.()
    try {
      if (error === null) events?.onEnd(this)
      else events?.onError(this, error)
    } catch (fault) {
      events?.onFault(fault)
    } finally {
      this.claim.release()
      this.#listener.onOver(this)
    }
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  /** Closes the connection; the events end with `onError(reason)`, at once when it still waits in line for one. */
  abort(reason: Error): void {
    this.#abortReason = reason
    if (this.#controller !== null) this.#controller.abort(reason)
    else this.#finish(reason)
  }

  /** No more events; a short rest of the answer is read away, a long or a slow one cut. */
  discard(clock: Pick<Clock, 'after'>): void {
    this.#events = null
    if (this.#over) return
    this.#cancelDiscard ??= clock.after(DISCARD_MS, () => this.abort(new Error('answer discarded')))
    this.#controller?.resume()
  }

  /** What came since nobody wanted it; null = not all did. */
  get discarded(): Buffer | null {
    return this.#isWhole ? Buffer.concat(this.#rest) : null
  }

  /** No more events, and the connection is closed. */
  cut(): void {
    this.#events = null
    this.abort(new Error('attempt cut'))
  }
}
