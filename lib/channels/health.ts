/** The breakers of all channels, by name: they outlive worlds, and an administrator's `status` is none of their business. */
import type { Clock } from '../base/clock.ts'
import { Breaker, type Outcome, type State } from './breaker.ts'

export type { Outcome, State } from './breaker.ts'

export class Health {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #onAuthFailure: (channel: string) => void
  readonly #breakers = new Map<string, Breaker>()

  constructor(options: { clock: Clock; onAuthFailure: (channel: string) => void; random?: () => number }) {
    this.#clock = options.clock
    this.#random = options.random ?? Math.random
    this.#onAuthFailure = options.onAuthFailure
  }

  #of(name: string): Breaker {
    let breaker = this.#breakers.get(name)
    if (breaker === undefined) this.#breakers.set(name, (breaker = new Breaker(this.#random)))
    return breaker
  }

  mayAsk(name: string): boolean {
    return this.#of(name).mayAsk(this.#clock.monotonic())
  }

  /** A request goes to the channel; what came of it must be reported. False: its one probe is taken. */
  admit(name: string): boolean {
    return this.#of(name).admit(this.#clock.monotonic())
  }

  report(name: string, outcome: Outcome, retryAfterS?: number): void {
    this.#of(name).report(outcome, this.#clock.monotonic(), retryAfterS)
    if (outcome === 'auth') this.#onAuthFailure(name)
  }

  state(name: string): State {
    return this.#breakers.get(name)?.state(this.#clock.monotonic()) ?? 'closed'
  }

  states(): Map<string, State> {
    return new Map([...this.#breakers.keys()].map(name => [name, this.state(name)]))
  }

  restsForBusy(name: string): boolean {
    return this.#of(name).restsForBusy(this.#clock.monotonic())
  }

  restMs(name: string): number {
    return this.#of(name).restMs(this.#clock.monotonic())
  }
}
