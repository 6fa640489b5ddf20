/**
 * Closes the public listeners without cutting a request. New connections are refused at once. On a connection that a
 * client keeps open, the next answer carries `connection: close`, so that the client learns of the end from an answer
 * and not from a request that is cut. Only then are idle connections closed.
 */
import type http from 'node:http'
import net from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { Services } from '../exchange/services.ts'

const POLL_MS = 20
/** A kept connection on which no request came for so long counts as idle. */
const QUIET_MS = 1_000
/** The time between the last answer and the end of its connection, so that the client gets all of it. */
const LINGER_MS = 50

export class ServerDrain {
  readonly #clock: Clock
  readonly #services: Services
  readonly #servers: readonly http.Server[]
  #untilMs = Number.POSITIVE_INFINITY

  /** `servers` may still grow before `run`. */
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
    services.sweeper.each(relay => relay.shutDown())
    for (const server of this.#servers) server.closeAllConnections()
  }

  /** Resolves when no connection is left, or when on those that are no request has come for a while. */
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

/** A timer of the injected clock would not keep the process alive, and this one must see its end. */
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const connectionsOf = (server: http.Server): Promise<number> =>
  new Promise(resolve => server.getConnections((error, count) => resolve(error === null ? count : 0)))
