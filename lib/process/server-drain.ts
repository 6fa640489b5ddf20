/**
 * Drains a process that ends: closes its public listeners without cutting a request. New connections are refused at once. On a
 * connection that a client keeps open, the next answer carries `connection: close`, so that the client learns of the end from
 * an answer and not from a request that is cut. Connections are closed as idle only after that. (Reading an upstream on after
 * its client has left is another thing: `lib/exchange/record/read-ons.ts`.)
 */
import type http from 'node:http'
import net from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { Services } from '../exchange/record/services.ts'

const POLL_MS = 20
/** A connection that a client keeps open counts as idle when no request has come on it for this time. */
const QUIET_MS = 1_000
/** How long a connection stays open after its last answer, so that the client gets all of that answer. */
const LINGER_MS = 50

export class ServerDrain {
  readonly #clock: Clock
  readonly #services: Services
  readonly #servers: readonly http.Server[]
  #untilMs = Number.POSITIVE_INFINITY

  /** More servers may be added to `servers` until `run` is called. */
  constructor(services: Services, servers: readonly http.Server[]) {
    this.#clock = services.clock
    this.#services = services
    this.#servers = servers
  }

  /** Sets the deadline, also while `run` is under way. Of several deadlines the earliest holds. */
  endWithin(deadlineMs: number): void {
    this.#untilMs = Math.min(this.#untilMs, this.#clock.monotonic() + deadlineMs)
  }

  /**
   * Resolves when every connection is closed. Exchanges that are still open at the deadline are ended and charged as if
   * their upstream had broken off.
   */
  async run(): Promise<void> {
    const services = this.#services
    services.draining = true
    // the close of http.Server would also cut idle connections, on which a client may be sending its next request just now
    for (const server of this.#servers) net.Server.prototype.close.call(server)
    await this.#untilQuiet()
    for (const server of this.#servers) server.closeIdleConnections()
    while (services.openCount > 0 && !this.#isLate()) await pause(POLL_MS)
    await pause(LINGER_MS)
    services.sweeper.each(relay => relay.stop('unavailable'))
    for (const server of this.#servers) server.closeAllConnections()
  }

  /** Resolves when no connection is left, or when no request has come for QUIET_MS on the connections that are left. */
  async #untilQuiet(): Promise<void> {
    let busyMs = this.#clock.monotonic()
    for (;;) {
      const counts = await Promise.all(this.#servers.map(connectionsOf))
      const nowMs = this.#clock.monotonic()
      const busy = this.#services.openCount > 0
      if (busy) busyMs = nowMs
      const isQuiet = counts.every(count => count === 0) || nowMs - busyMs > QUIET_MS
      if (this.#isLate() || (!busy && isQuiet)) return
      await pause(POLL_MS)
    }
  }

  #isLate(): boolean {
    return this.#clock.monotonic() >= this.#untilMs
  }
}

/**
 * Waits with a timer of Node's own. A timer of the injected clock does not keep the process alive, and the process must live until
 * the drain is done.
 */
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const connectionsOf = (server: http.Server): Promise<number> =>
  new Promise(resolve => server.getConnections((error, count) => resolve(error === null ? count : 0)))
