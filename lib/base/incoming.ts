/**
 * The body of a request on its way from the HTTP parser to whoever takes it. As a stream it would cost listeners, states and three turns of
 * the queue of ticks, for a body that mostly comes in one piece with its head. So a request of our listeners hands each piece on as
 * the parser reads it. What has come before somebody takes it is in the stream, and so is what comes while it has to wait: then the stream
 * holds the connection up, as for every other reader.
 *
 * This relies on one thing of `node:http`: it passes each piece of a body to the method `push` of the request, and null at its end.
 */
import type { IncomingMessage } from 'node:http'
import { http } from './http.ts'

export interface BodyTaker {
  /** A piece has come. The promise, which never rejects, is waited for before more is read; null = nothing is. */
  onData(piece: Buffer): Promise<void> | null
  /** All of the body has come. */
  onEnd(): void
  /** The connection broke before that. */
  onBroken(): void
}

export class Incoming extends http.IncomingMessage {
  /** Gets the pieces from the parser; null = the stream does. */
  #taker: BodyTaker | null = null
  /** A taker was given the last piece. */
  #wasTaken = false

  /** The body goes to this taker from now on. */
  handTo(taker: BodyTaker): void {
    if (this.#taker === null) {
      const isUntouched = this.readableFlowing === null && this.readableLength === 0
      if (this.complete || !isUntouched) {
        readStream(this, taker)
        return
      }
      this.read(0) // so that `node:http` knows that the body is wanted
    }
    this.#taker = taker
  }

  override push(piece: Buffer | null): boolean {
    const taker = this.#taker
    if (taker === null) return super.push(piece)
    if (piece === null) this.#end(taker)
    else {
      const until = taker.onData(piece)
      if (until !== null) this.#wait(until)
    }
    return true
  }

  #end(taker: BodyTaker): void {
    this.#taker = null
    this.#wasTaken = true
    // later, as a stream would: the parser may be in the midst of bytes of the next request
    if (this.listenerCount('end') > 0) process.nextTick(() => this.emit('end'))
    taker.onEnd()
  }

  #wait(until: Promise<void>): void {
    const taker = this.#taker
    this.#taker = null
    if (taker === null) return
    readStream(this, taker)
    hold(this, until)
  }

  // @ts-expect-error: in the types it is a property, in Node it is an accessor
  override get readableEnded(): boolean {
    return this.#wasTaken || Reflect.get(http.IncomingMessage.prototype, 'readableEnded', this)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    super._destroy(error, done)
    const taker = this.#taker
    this.#taker = null
    taker?.onBroken()
  }
}

/** The body of a request goes to this taker, what has come of it and what comes. */
export function takeBody(req: IncomingMessage, taker: BodyTaker): void {
  if (req instanceof Incoming) req.handTo(taker)
  else readStream(req, taker)
}

function readStream(req: IncomingMessage, taker: BodyTaker): void {
  req.on('data', (piece: Buffer) => {
    const until = taker.onData(piece)
    if (until !== null) hold(req, until)
  })
  req.on('end', () => taker.onEnd())
  req.on('error', () => taker.onBroken())
}

function hold(req: IncomingMessage, until: Promise<void>): void {
  req.pause()
  void until.then(() => req.resume())
}
