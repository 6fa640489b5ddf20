/** The health of one channel and of its keys: their circuit breakers, and how many attempts are under way. */
import type { BreakerState, ChannelState } from '../terms/records.ts'
import type { Breaker } from './breaker.ts'

/** What identifies a channel over reloads: with another address it is a new channel, which has not failed yet. */
export interface ChannelIdentity {
  name: string
  connection: { origin: string }
  basePath: string
  keys: readonly { secret: string; fingerprint: string }[]
}

/** The health of one upstream key. */
export class KeyHealth {
  readonly secret: string
  readonly fingerprint: string
  /** null = the channel has only this key, and the channel's breaker serves for it. */
  readonly breaker: Breaker | null
  /** Monotonic ms before which the key is not probed again. */
  proveAgainMs = 0
  /** How many attempts are under way with this key. */
  open = 0

  constructor({ secret, fingerprint }: { secret: string; fingerprint: string }, breaker: Breaker | null) {
    this.secret = secret
    this.fingerprint = fingerprint
    this.breaker = breaker
  }
}

export class ChannelHealth {
  readonly identity: ChannelIdentity
  readonly breaker: Breaker
  readonly keys: readonly KeyHealth[]
  /** How many attempts are under way at this channel. */
  open = 0

  constructor(identity: ChannelIdentity, breaker: Breaker, keys: readonly KeyHealth[]) {
    this.identity = identity
    this.breaker = breaker
    this.keys = keys
  }

  /** Whether the breakers allow a request. Limits of concurrency are not looked at. */
  mayAsk(nowMs: number): boolean {
    return this.breaker.mayAsk(nowMs) && this.keys.some(key => key.breaker?.mayAsk(nowMs) ?? true)
  }

  state(nowMs: number): ChannelState {
    const own = this.breaker.state(nowMs)
    const keys = this.keys.map(key => key.breaker?.state(nowMs) ?? own)
    return { state: own === 'closed' ? best(keys) : own, keys, open: this.open }
  }

  /**
   * For a request without another candidate: how often this channel was tried while it rested; null = it may not be.
   */
  triedAnyway(nowMs: number, account: number): number | null {
    return this.keys.some(key => key.breaker?.mayAsk(nowMs) ?? true) ? this.breaker.triedAnyway(nowMs, account) : null
  }
}

/** Whether as many attempts are under way at a channel, or with a key, as it may have. */
export const isFull = ({ maxConcurrency }: { maxConcurrency: number }, { open }: ChannelHealth | KeyHealth): boolean =>
  maxConcurrency > 0 && open >= maxConcurrency

const GOODNESS: Record<BreakerState, number> = { open: 0, half_open: 1, closed: 2 }
const best = (states: readonly BreakerState[]): BreakerState =>
  states.reduce((a, b) => (GOODNESS[b] > GOODNESS[a] ? b : a))
