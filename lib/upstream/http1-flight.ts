/** A request on its way to an upstream, from the pool to the end of its answer, whichever connection carries it. */
import type { Dispatcher } from 'undici'

/** The upstream closed the connection before it had answered the request. */
export class OtherSideClosed extends Error {
  override name = 'OtherSideClosed'
  readonly code = 'OTHER_SIDE_CLOSED'

  constructor(message = 'the upstream closed the connection') {
    super(message)
  }
}

/** A connection that carries a request. */
export interface Carrier {
  pause(): void
  resume(): void
  /** Closes the connection, because of this. */
  end(reason: Error): void
}

/** A request on its way. Whoever sent it can pause, resume and abort it. */
export class Flight implements Dispatcher.DispatchController {
  /** The bytes of the request; empty once they are written. */
  bytes: readonly Buffer[]
  readonly handler: Dispatcher.DispatchHandler
  reason: Error | null = null
  paused = false
  /** What carries the request; null = nothing yet, or no more. */
  connection: Carrier | null = null

  constructor(bytes: readonly Buffer[], handler: Dispatcher.DispatchHandler) {
    this.bytes = bytes
    this.handler = handler
  }

  get aborted(): boolean {
    return this.reason !== null
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.reason = reason
    this.connection?.end(reason)
  }

  pause(): void {
    if (this.connection === null) return
    this.paused = true
    this.connection.pause()
  }

  resume(): void {
    if (!this.paused) return
    this.paused = false
    this.connection?.resume()
  }

  /** Called when the socket has taken the last byte of the request, or with an error. */
  readonly written = (error?: Error | null): void => {
    if (!error) this.handler.onRequestSent?.()
  }

  fail(error: Error): void {
    this.connection = null
    this.handler.onResponseError?.(this, error)
  }
}
