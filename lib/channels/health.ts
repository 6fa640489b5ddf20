/** The breakers of all channels, by name: they outlive worlds, and an administrator's `status` is none of their business. */
import type { Clock } from '../base/clock.ts'
import { Breaker, type Outcome, type State } from './breaker.ts'

export type { Outcome, State } from './breaker.ts'

/** What decides whether a channel is still the one that failed. */
export interface ChannelIdentity {
  name: string
  origin: string
  basePath: string
  key: string
}

export class Health {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #onAuthFailure: (channel: string) => void
  readonly #breakers = new Map<string, Breaker>()
  #channels = new Map<string, ChannelIdentity>()

  /** `onAuthFailure` is called when a channel begins to rest because its upstream refuses its key. */
  constructor(options: { clock: Clock; onAuthFailure: (channel: string) => void; random?: () => number }) {
    this.#clock = options.clock
    this.#random = options.random ?? Math.random
    this.#onAuthFailure = options.onAuthFailure
  }

  /** The channels of a new world: one with another key or address is a new one, one that is gone is forgotten. */
  keep(channels: Iterable<ChannelIdentity>): void {
    const kept = new Map<string, ChannelIdentity>()
    for (const channel of channels) {
      const { name, origin, basePath, key } = channel
      const before = this.#channels.get(name)
      if (before?.origin !== origin || before.basePath !== basePath || before.key !== key) this.#breakers.delete(name)
      kept.set(name, channel)
    }
    for (const name of this.#breakers.keys()) if (!kept.has(name)) this.#breakers.delete(name)
    this.#channels = kept
  }

  mayAsk(name: string): boolean {
    return this.#breakers.get(name)?.mayAsk(this.#clock.monotonic()) ?? true
  }

  /** A request goes to a channel that may be asked; what came of it must be reported. */
  admit(name: string): void {
    this.#breakers.get(name)?.admit(this.#clock.monotonic())
  }

  /** `retryAfterS`: as the upstream named it. */
  report(name: string, outcome: Outcome, retryAfterS?: number): void {
    let breaker = this.#breakers.get(name)
    if (breaker === undefined) this.#breakers.set(name, (breaker = new Breaker(this.#random)))
    if (breaker.report(outcome, this.#clock.monotonic(), retryAfterS)) this.#onAuthFailure(name)
  }

  state(name: string): State {
    return this.#breakers.get(name)?.state(this.#clock.monotonic()) ?? 'closed'
  }

  /** Of every channel that was ever asked. */
  states(): Map<string, State> {
    return new Map([...this.#breakers.keys()].map(name => [name, this.state(name)]))
  }

  restsForBusy(name: string): boolean {
    return this.#breakers.get(name)?.restsForBusy() ?? false
  }

  restMs(name: string): number {
    return this.#breakers.get(name)?.restMs(this.#clock.monotonic()) ?? 0
  }
}
