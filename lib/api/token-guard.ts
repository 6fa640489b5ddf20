/**
 * Slows down whoever tries tokens, and tells of it. A network that sends too many wrong tokens in a minute is refused for a while, whatever
 * token it sends then: otherwise the right one would be found by guessing as fast as the line allows. Other networks notice
 * nothing. What is wrong is counted and logged; of many in a row the log has some, and says how many it left out.
 */
import { type Clock, MINUTE_MS } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { latest } from '../base/lru.ts'
import { networkOf } from '../base/network.ts'
import { both, throttled } from '../operations/error.ts'

/** A network must wait after so many wrong tokens in a minute, and for how long. */
const MOST_WRONG = 10
/** The networks that are told apart; the one that was heard of longest ago is forgotten. */
const MOST_NETWORKS = 10_000
const LINES = 10
const TOO_MANY = both('此地址发送的错误令牌过多', 'too many wrong tokens came from this address')

interface Wrong {
  sinceMs: number
  count: number
}

/** What was wrong with a call: its token, or that its network has sent too many wrong ones. */
export type TokenFault = 'token' | 'throttled'

export interface TokenGuardParts {
  clock: Pick<Clock, 'monotonic'>
  log: Pick<Logger, 'warn'>
  /** Counts a call that is not let in. */
  count: (why: TokenFault) => void
}

export class TokenGuard {
  readonly #parts: TokenGuardParts
  readonly #networks = latest<string, Wrong>(MOST_NETWORKS)
  #linesSinceMs = Number.NEGATIVE_INFINITY
  #lines = 0
  #unsaid = 0

  constructor(parts: TokenGuardParts) {
    this.#parts = parts
  }

  /** Throws OperationError `throttled` when the network of the address must wait. */
  enter(address: string, about: object): void {
    const { clock, count } = this.#parts
    const wrong = this.#networks.get(networkOf(address))
    const waitMs = wrong === undefined || wrong.count < MOST_WRONG ? 0 : wrong.sinceMs + MINUTE_MS - clock.monotonic()
    if (waitMs <= 0) return
    count('throttled')
    this.#say({ ...about, address, why: 'throttled' })
    throw throttled(waitMs, TOO_MANY)
  }

  /** A call from this address had a wrong token, or none. */
  wrong(address: string, about: object): void {
    const now = this.#parts.clock.monotonic()
    const network = networkOf(address)
    let wrong = this.#networks.get(network)
    if (wrong === undefined || now - wrong.sinceMs >= MINUTE_MS)
      this.#networks.set(network, (wrong = { sinceMs: now, count: 0 }))
    wrong.count++
    if (wrong.count === MOST_WRONG) wrong.sinceMs = now // it waits a whole minute from here
    this.#parts.count('token')
    this.#say({ ...about, address, why: 'token' })
  }

  #say(line: object): void {
    const now = this.#parts.clock.monotonic()
    if (now - this.#linesSinceMs >= MINUTE_MS) {
      this.#linesSinceMs = now
      this.#lines = 0
    }
    if (this.#lines >= LINES) {
      this.#unsaid++
      return
    }
    this.#lines++
    const unsaid = this.#unsaid === 0 ? {} : { unsaid: this.#unsaid }
    this.#unsaid = 0
    this.#parts.log.warn({ ...line, ...unsaid }, 'an admin call was not let in')
  }
}
