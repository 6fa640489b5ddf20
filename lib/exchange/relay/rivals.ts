/**
 * The attempts of one exchange that are under way. Usually that is one. Where a group hedges there may be two for a while, and
 * whoever has something for the client first is kept; of the other one nothing was learnt, and it is closed.
 */
import type { AttemptNote } from '../../terms/records.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import { AttemptNotes } from './attempt-notes.ts'
import { report } from './attempt-report.ts'

export class Rivals {
  readonly #x: Exchange
  readonly #services: Services
  readonly notes = new AttemptNotes()
  /** The attempt that counts; of two the one that was made first. */
  #current: Attempt | null = null
  /** The second one, while neither has sent a byte. */
  #second: Attempt | null = null

  readonly #onLost: (attempt: Attempt, note: AttemptNote) => void

  constructor(x: Exchange, services: Services, onLost: (attempt: Attempt, note: AttemptNote) => void) {
    this.#x = x
    this.#services = services
    this.#onLost = onLost
  }

  /** The attempt that counts; there is one as soon as an upstream was asked. */
  get current(): Attempt {
    return this.#current as Attempt
  }

  /** In the place of all before it. */
  set current(attempt: Attempt) {
    this.#current = attempt
  }

  get areTwo(): boolean {
    return this.#second !== null
  }

  /** A second attempt, beside the one that counts. */
  join(second: Attempt): void {
    this.#second = second
  }

  /** This one has something for the client: the other one, if there is one, is closed. */
  choose(attempt: Attempt): void {
    const second = this.#second
    if (second === null) return
    this.#services.metrics.hedge(attempt === second ? 'won' : 'lost')
    this.#lose(attempt === second ? this.current : second)
    this.#current = attempt
    this.#second = null
  }

  /** One of two failed: the other one is all there is. */
  drop(attempt: Attempt): void {
    if (attempt === this.#current) this.#current = this.#second
    this.#second = null
    const { clock } = this.#services
    this.notes.giveUp(attempt, clock.monotonic(), 'answer')
    attempt.discard(clock)
    this.#services.metrics.hedge(attempt === this.#current ? 'lost' : 'won')
  }

  /** Nobody waits for the faster of two. */
  giveSecond(): void {
    const second = this.#second
    this.#second = null
    if (second !== null) this.#lose(second)
  }

  #lose(attempt: Attempt): void {
    this.#onLost(attempt, this.notes.giveUp(attempt, this.#services.clock.monotonic(), 'lost'))
    this.#give(attempt)
  }

  /** Closed from our side; nothing was learnt about its channel. */
  #give(attempt: Attempt, reason?: Error): void {
    report(this.#x, this.#services, attempt, 'ignored')
    attempt.cut(reason)
  }

  /** No more is heard of any; a short rest of the answer is read away. */
  discard(): void {
    this.giveSecond()
    this.#current?.discard(this.#services.clock)
  }

  /** No more is heard of any, and their connections are closed. */
  cut(reason?: Error): void {
    this.giveSecond()
    if (this.#current !== null) this.#give(this.#current, reason)
  }

  /** Gives up on those that began before then. */
  abortBefore(startedMs: number, reason: () => Error): void {
    for (const attempt of [this.#current, this.#second])
      if (attempt !== null && attempt.startedMs < startedMs) attempt.abort(reason())
  }
}
