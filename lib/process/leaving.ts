/**
 * The time between the signal to end and the moment from which new connections are refused. `/readyz` says 503 all the while, so
 * that balancers send new requests to other gateways before they would be refused here.
 */
import type { Readiness } from '../ops/server.ts'

export class Leaving {
  #leaving = false

  /** What `ready` says, and that this gateway leaves once it does. */
  over(ready: () => Promise<Readiness>): () => Promise<Readiness> {
    return async () => {
      const state = await ready()
      return this.#leaving && state.ready ? { ready: false, store: state.store, reason: 'leaving' } : state
    }
  }

  /** Resolves when everybody has had time to see it. */
  async leave(ms: number): Promise<void> {
    this.#leaving = true
    // a timer of Node's own, because the process must live until it has drained
    if (ms > 0) await new Promise(resolve => setTimeout(resolve, ms))
  }
}
