/**
 * Access tokens, as they are kept. A token is used until shortly before it ends. A new one is asked for ahead
 * of that, while requests still go out with the old one; only where there is none that can be used do requests wait, all for the same answer. For a
 * moment after a failure nobody asks again.
 */
import type { Clock } from '../base/clock.ts'
import { CredentialError } from './attempt.ts'
import type { Signer } from './signer.ts'

export interface BearerToken {
  text: string
  lifeMs: number
}

/** Gets a new token, within a bounded time. Rejects with CredentialError. */
type Fetch = () => Promise<BearerToken>

/** A token is replaced when it has less than this left, and not used when it has less than that. */
const REPLACED_MS = 300_000
const SPARE_MS = 10_000
/** The share of their life that is enough for short tokens. */
const REPLACED_SHARE = 0.2
const FAILED_MS = 2_000
/** The token, and the one before it, which requests that are under way still have. */
const MOST_MINTED = 2
/** An upstream that refuses every token gets a new one only so often. */
const RENEWED_MS = 60_000

export class Bearer implements Signer {
  readonly #clock: Clock
  readonly #fetch: Fetch
  /** Called when there is no new token while the old one is still good. */
  readonly #onFailure: (error: CredentialError) => void
  readonly minted: string[] = []
  /** Monotonic ms. */
  #replaceMs = 0
  #endMs = 0
  #headers: readonly string[] = []
  #fetching: Promise<void> | null = null
  #failure: CredentialError | null = null
  #failedMs = 0
  #renewedMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, fetch: Fetch, onFailure: (error: CredentialError) => void) {
    this.#clock = clock
    this.#fetch = fetch
    this.#onFailure = onFailure
  }

  sign(): readonly string[] | Promise<readonly string[]> {
    const now = this.#clock.monotonic()
    if (now < this.#replaceMs) return this.#headers
    if (now < this.#endMs) {
      if (this.#fetching === null && !this.#rests(now)) this.#renew().catch(this.#onFailure)
      return this.#headers
    }
    if (this.#fetching === null && this.#rests(now)) return Promise.reject(this.#failure as CredentialError)
    return this.#renew().then(() => this.#headers)
  }

  #rests(nowMs: number): boolean {
    return this.#failure !== null && nowMs - this.#failedMs < FAILED_MS
  }

  refused(headers: readonly string[]): boolean {
    const now = this.#clock.monotonic()
    // a newer one is there already, or is being asked for
    if (!headers.includes(this.#headers[1] ?? '') || this.#endMs === 0) return true
    if (now - this.#renewedMs < RENEWED_MS) return false
    this.#renewedMs = now
    this.#replaceMs = this.#endMs = 0
    return true
  }

  #renew(): Promise<void> {
    this.#fetching ??= this.#ask().finally(() => (this.#fetching = null))
    return this.#fetching
  }

  async #ask(): Promise<void> {
    try {
      const { text, lifeMs } = await this.#fetch()
      const now = this.#clock.monotonic()
      this.minted.splice(0, MOST_MINTED, text, ...this.minted.slice(0, MOST_MINTED - 1))
      this.#headers = ['authorization', `Bearer ${text}`]
      this.#replaceMs = now + lifeMs - Math.min(REPLACED_MS, lifeMs * REPLACED_SHARE)
      this.#endMs = now + lifeMs - Math.min(SPARE_MS, lifeMs * REPLACED_SHARE)
      this.#failure = null
    } catch (error) {
      this.#failure =
        error instanceof CredentialError ? error : new CredentialError('unreachable', (error as Error).message)
      this.#failedMs = this.#clock.monotonic()
      throw this.#failure
    }
  }
}
