/** One try at one candidate: undici's handler protocol turned into the events the relay wants, and nothing more. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'

/** Receives one attempt's events, in order: `onHead`, any number of `onData`, then `onEnd` or `onError`. */
export interface AttemptEvents {
  onHead(status: number, headers: IncomingHttpHeaders): void
  onData(chunk: Buffer): void
  onEnd(): void
  /** Connecting failed, the connection broke, or `abort` was called. */
  onError(error: Error): void
}

/** An answer nobody wants is read to its end up to here, because that keeps the connection; then it is cut. */
const DISCARD_BYTES = 64 * 1024

export class Attempt implements Dispatcher.DispatchHandler {
  #events: AttemptEvents | null
  #controller: Dispatcher.DispatchController | null = null
  #discarded = 0
  #abortReason: Error | null = null

  constructor(events: AttemptEvents) {
    this.#events = events
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#abortReason !== null) controller.abort(this.#abortReason)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#controller = controller
    if (status >= 200) this.#events?.onHead(status, headers) // 1xx: the answer is still to come
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#events !== null) {
      this.#events.onData(chunk)
      return
    }
    this.#discarded += chunk.length
    if (this.#discarded > DISCARD_BYTES) controller.abort(new Error('answer discarded'))
  }

  onResponseEnd(): void {
    const events = this.#events
    this.#events = null
    events?.onEnd()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const events = this.#events
    this.#events = null
    events?.onError(error)
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  /** Closes the connection; the events end with `onError(reason)`. */
  abort(reason: Error): void {
    this.#abortReason = reason
    this.#controller?.abort(reason)
  }

  /** No more events; a short rest of the answer is read away, a long one cut. */
  discard(): void {
    this.#events = null
    this.#controller?.resume()
  }

  /** No more events, and the connection is closed. */
  cut(): void {
    this.#events = null
    this.abort(new Error('attempt cut'))
  }
}
