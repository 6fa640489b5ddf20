/** A connection that two may hold up, each for a reason of its own: it goes on when neither does. */
import type { Dispatcher } from 'undici'

export class Gate implements Dispatcher.DispatchController {
  readonly #connection: Dispatcher.DispatchController
  /** The attempt holds it up. */
  #paused = false
  /** What reads its bytes does. */
  #held = false

  constructor(connection: Dispatcher.DispatchController) {
    this.#connection = connection
  }

  get aborted(): boolean {
    return this.#connection.aborted
  }

  get reason(): Error | null {
    return this.#connection.reason
  }

  get paused(): boolean {
    return this.#paused || this.#held
  }

  abort(reason: Error): void {
    this.#connection.abort(reason)
  }

  pause(): void {
    this.#paused = true
    this.#connection.pause()
  }

  resume(): void {
    this.#paused = false
    if (!this.#held) this.#connection.resume()
  }

  hold(): void {
    this.#held = true
    this.#connection.pause()
  }

  release(): void {
    this.#held = false
    if (!this.#paused) this.#connection.resume()
  }
}
