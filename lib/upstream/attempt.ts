/**
 * An attempt: one request of an exchange to one upstream. It turns the events of undici's handler interface into those
 * that the exchange wants, and releases its claim at the end. An answer that nobody wants any more is read to its end
 * or cut.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { Claim } from '../channels/health.ts'

/**
 * Receives the events of attempts. For each attempt they come in order: `onHead`, any number of `onData`, then `onEnd`
 * or `onError`.
 */
export interface AttemptEvents {
  /** The head of the answer has come: `status` and `headers` of the attempt are set. */
  onHead(attempt: Attempt): void
  /** Bytes of the answer have come, which `take` takes: called with the first of them since they were taken last. */
  onData(attempt: Attempt): void
  onEnd(attempt: Attempt): void
  /** Connecting failed, the connection broke, or `abort` was called. */
  onError(attempt: Attempt, error: Error): void
  /** One of these methods has thrown. That is a bug of ours, and must end this exchange and no other. */
  onFault(error: unknown): void
  /** The attempt is over. This is called even after `discard` or `cut`, which end all other events. */
  onOver(attempt: Attempt): void
}

/**
 * An unwanted answer is read to its end up to these limits, because that keeps the connection; beyond them it is cut.
 */
const DISCARD_BYTES = 64 * 1024
const DISCARD_MS = 5_000

const NO_HEADERS: IncomingHttpHeaders = {}

/** A header or path cannot be sent. Nothing of the request was sent. */
export class BadRequest extends Error {
  override name = 'BadRequest'
  readonly code = 'BAD_REQUEST'
}

/** Reasons for which a credential is no good at the moment. */
type CredentialFault = 'clock' | 'refused' | 'unreachable' | 'unreadable'

/** A request cannot be signed. The message says what to do about it, and holds no secret. */
export class CredentialError extends Error {
  override name = 'CredentialError'
  readonly code: `CREDENTIAL_${Uppercase<CredentialFault>}`

  constructor(fault: CredentialFault, message: string) {
    super(message)
    this.code = `CREDENTIAL_${fault.toUpperCase() as Uppercase<CredentialFault>}`
  }
}

/** The error with which a connection is closed when nobody wants the rest of its answer any more. */
class Cut extends Error {
  override name = 'Cut'
  readonly code = 'cut'
}

/** What tells when all of a request has gone out, and when an answer ends with what was told: a connection of our own does. */
interface Controller extends Dispatcher.DispatchController {
  readonly taken?: boolean
  readonly ends?: boolean
}

export class Attempt implements Dispatcher.DispatchHandler {
  readonly claim: Claim
  readonly #clock: Pick<Clock, 'after' | 'monotonic'>
  /** Monotonic ms. */
  readonly startedMs: number
  readonly #listener: AttemptEvents
  /** HTTP status of the answer; 0 = there is none yet. */
  status = 0
  /** The headers with which its request was signed; null = its key is plain, or it was not signed yet. */
  signature: readonly string[] | null = null
  /** The last byte of the request has been written. */
  sent = false
  /** The failure of the attempt; null = it has not failed. */
  error: Error | null = null
  /** The cause of an upstream's error, for operators; null = its status says all that is known. */
  cause: string | null = null
  /** The first bytes of the answer, for the log; null = they are not kept. */
  excerpt: Buffer | null = null
  #excerptBytes = 0
  /** With what has come the answer ends, and its end is told at once. */
  ends = false
  headers: IncomingHttpHeaders = NO_HEADERS
  /** Monotonic ms; -1 = no byte of the answer has come. */
  firstByteMs = -1
  /** Monotonic ms since which the upstream is silent: of the last byte of the answer, or of what `touch` tells of. */
  lastByteMs = 0
  /** Bytes that nobody has taken yet: what an upstream sent together is taken together, and costs once. */
  #untaken: Buffer | null = null
  #untakenMore: Buffer[] | null = null
  /** The listener as long as it wants events; null after `discard`, `cut` and the end. */
  #events: AttemptEvents | null
  #controller: Controller | null = null
  /** The bytes of the answer that came after `discard`. */
  #rest: Buffer[] | null = null
  #restBytes = 0
  #cancelDiscard: (() => void) | null = null
  #over = false
  #isWhole = false
  #abortReason: Error | null = null

  constructor(claim: Claim, clock: Pick<Clock, 'after' | 'monotonic'>, events: AttemptEvents) {
    this.claim = claim
    this.#clock = clock
    this.startedMs = clock.monotonic()
    this.#events = this.#listener = events
  }

  signedWith(headers: readonly string[]): void {
    this.signature = headers
  }

  /** Notes why the upstream answered an error; null = its status says all that is known. */
  explain(cause: string | null): void {
    this.cause = cause
  }

  /** Keeps the first `bytes` bytes of the answer in `excerpt`. */
  keepExcerpt(bytes: number): void {
    this.excerpt = Buffer.alloc(0)
    this.#excerptBytes = bytes
  }

  #excerpt(kept: Buffer, chunk: Buffer): void {
    const room = this.#excerptBytes - kept.length
    if (room > 0) this.excerpt = Buffer.concat([kept, chunk.subarray(0, room)])
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#abortReason !== null) controller.abort(this.#abortReason)
  }

  /** True: nobody reads the bytes of its request any more. */
  get isTaken(): boolean {
    return this.#controller?.taken === true
  }

  onRequestSent(): void {
    this.sent = true
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    this.#controller = controller
    if (status < 200) return // an interim answer
    this.status = status
    this.headers = headers
    try {
      this.#events?.onHead(this)
    } catch (error) {
      this.#events?.onFault(error)
    }
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.excerpt !== null) this.#excerpt(this.excerpt, chunk)
    if (this.#events === null) {
      this.#rest ??= []
      this.#rest.push(chunk)
      this.#restBytes += chunk.length
      if (this.#restBytes > DISCARD_BYTES) controller.abort(new Error('answer discarded'))
    } else if (this.#untaken !== null) {
      this.#untakenMore ??= []
      this.#untakenMore.push(chunk)
    } else {
      this.#untaken = chunk
      this.ends = controller.ends === true
      this.lastByteMs = this.#clock.monotonic()
      if (this.firstByteMs < 0) this.firstByteMs = this.lastByteMs
      try {
        this.#events.onData(this)
      } catch (error) {
        this.#events?.onFault(error)
      }
    }
  }

  /** What has come of the answer since it was called last; null = nothing. */
  take(): Buffer | null {
    const first = this.#untaken
    const more = this.#untakenMore
    this.#untaken = this.#untakenMore = null
    return first === null || more === null ? first : Buffer.concat([first, ...more])
  }

  /** The upstream is not to blame for the silence until now. */
  touch(): void {
    this.lastByteMs = this.#clock.monotonic()
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

  /** Nothing more will be heard of it. */
  get over(): boolean {
    return this.#over
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  /**
   * Closes the connection. The events end with `onError(reason)`, at once when the attempt still waits for a
   * connection.
   */
  abort(reason: Error): void {
    this.#abortReason = reason
    if (this.#controller !== null) this.#controller.abort(reason)
    else this.#finish(reason)
  }

  /**
   * Ends the events. A short rest of the answer is read and dropped, so that the connection can be used again; a long
   * or slow one is cut.
   */
  discard(): void {
    this.#events = null
    if (this.#over || this.#abortReason !== null) return
    this.#cancelDiscard ??= this.#clock.after(DISCARD_MS, () => this.abort(new Error('answer discarded')))
    this.#controller?.resume()
  }

  /** What was discarded may be taken after all. False: it did not come to its end. */
  takeBack(): boolean {
    if (!this.#isWhole) return false
    this.#untaken = Buffer.concat(this.#rest ?? [])
    this.touch()
    this.firstByteMs = this.lastByteMs
    return true
  }

  /** Ends the events and closes the connection. */
  cut(reason: Error = new Cut()): void {
    this.#events = null
    this.abort(reason)
  }
}
