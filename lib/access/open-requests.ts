/** What the open requests of accounts take of this process: turns at the store, bytes of bodies in memory, and time to read these. */
import { invariant } from '../base/assert.ts'
import { type Clock, pause } from '../base/clock.ts'
import { Turns } from './turns.ts'

const MOST_AT_ONCE = 16
const MOST_WAITING = 1_000

/**
 * Questions of clients that only the store can answer. They are free, and take its time as any other: so few are asked at once that no
 * lease waits long behind them, however many keys ask. The others wait in line.
 */
export class Questions {
  readonly #turns = new Turns(MOST_AT_ONCE, MOST_WAITING)
  readonly #open = new Map<number, number>()
  readonly #mostOfAccount: number

  constructor(mostOfAccount: number) {
    this.#mostOfAccount = mostOfAccount
  }

  /** True while as many wait as may. */
  get full(): boolean {
    return this.#turns.full
  }

  /** Runs `work` when its turn comes; null = the account has as many questions open as one may. */
  take<T>(accountId: number, work: () => Promise<T>): Promise<T> | null {
    const open = this.#open.get(accountId) ?? 0
    if (open >= this.#mostOfAccount) return null
    this.#open.set(accountId, open + 1)
    return this.#turns.take(work).finally(() => this.#leave(accountId))
  }

  #leave(accountId: number): void {
    const open = this.#open.get(accountId) as number
    if (open > 1) this.#open.set(accountId, open - 1)
    else this.#open.delete(accountId) // so that only accounts with open questions take memory
  }
}

/**
 * Counts the bytes of request bodies in memory, of all accounts together and of each, for `limits.buffered`. The only body there is may
 * take all of it; otherwise an account may take at most half of what the others leave. So there is always room for one more account,
 * however many send large bodies slowly: two that took a half each kept everybody else out.
 */
export class Buffered {
  /** Bytes of all accounts together. */
  bytes = 0
  readonly #ofAccount = new Map<number, number>()

  /**
   * Takes room for `more` bytes of a body that has `had` bytes in memory already; false = there is no room. `give`
   * gives room back.
   */
  take(accountId: number, had: number, more: number, limit: number): boolean {
    const own = this.#ofAccount.get(accountId) ?? 0
    const ofOthers = this.bytes - own
    const isOnly = ofOthers === 0 && own === had
    if (own + more > (isOnly ? limit : (limit - ofOthers) / 2)) return false
    this.bytes += more
    this.#ofAccount.set(accountId, own + more)
    return true
  }

  /** Where there is no room for `more` bytes: whether no other account has more than this one would, so that it is the one that left none. */
  isLargest(accountId: number, more: number): boolean {
    const own = (this.#ofAccount.get(accountId) ?? 0) + more
    for (const [id, bytes] of this.#ofAccount) if (id !== accountId && bytes > own) return false
    return true
  }

  give(accountId: number, bytes: number): void {
    const left = (this.#ofAccount.get(accountId) ?? 0) - bytes
    invariant(left >= 0, `account ${accountId} gives back more than it has`)
    this.bytes -= bytes
    if (left > 0) this.#ofAccount.set(accountId, left)
    else this.#ofAccount.delete(accountId) // so that only accounts with bodies in memory take memory here
  }
}

/** Reading so much takes a twentieth of a processor: an account may have it, and all accounts together a fifth. */
const INFLATED_BYTES_PER_S = 2 * 1024 * 1024
const MOST_SHARES = 4
/** An account may have so much at once. */
const INFLATED_AT_ONCE_MS = 8000
/** How often who waits is asked whether anybody still wants it: its decoder has megabytes of memory. */
const LOOK_MS = 250
const MOST_ACCOUNTS = 10_000

/**
 * Bounds how fast bodies are read that decode to far more than was sent. Reading a body costs by its decoded bytes, before
 * anybody knows whether it is refused: with a few hundred bytes each, one account without money could keep a whole process busy. Accounts
 * that send such bodies at the same time share what is left for all of them equally.
 */
export class Inflating {
  readonly #clock: Clock
  /** Monotonic ms at which what an account has read so far would be read at that speed; only of those that are not there yet. */
  readonly #untilMs = new Map<number, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes the next bytes of an account. Resolves when they may be read, or when `isOver` says that nobody wants them any more; null = at once. */
  take(accountId: number, bytes: number, isOver: () => boolean): Promise<void> | null {
    const ask = () => (isOver() ? 0 : this.#waitMs(accountId, bytes))
    const waitMs = ask()
    return waitMs === 0 ? null : this.#wait(waitMs, ask)
  }

  async #wait(waitMs: number, ask: () => number): Promise<void> {
    for (let leftMs = waitMs; leftMs > 0; leftMs = ask()) await pause(this.#clock, Math.min(leftMs, LOOK_MS))
  }

  /** 0 = they are taken. What waits is not counted, or clients that do not wait for it could keep the account waiting for hours. */
  #waitMs(accountId: number, bytes: number): number {
    const nowMs = this.#clock.monotonic()
    const beginMs = Math.max(this.#untilMs.get(accountId) ?? 0, nowMs)
    const waitMs = beginMs - nowMs - INFLATED_AT_ONCE_MS
    if (waitMs > 0) return waitMs
    for (const [id, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(id)
    if (this.#untilMs.size === MOST_ACCOUNTS && !this.#untilMs.has(accountId)) return LOOK_MS
    const slower = Math.max(1, this.#untilMs.size / MOST_SHARES)
    this.#untilMs.set(accountId, beginMs + (bytes / INFLATED_BYTES_PER_S) * 1000 * slower)
    return 0
  }
}
