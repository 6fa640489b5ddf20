/**
 * A read-on, an upstream whose client has left (settings, metrics and rows call that `client_gone`): for how long it is read on for its
 * usage, and why it is cut then. `leave` of `relay.ts` makes it; what is charged for an answer that was cut is the end `left` in
 * `usage.ts`. A stream takes one of the places for such upstreams (`lib/exchange/record/read-ons.ts`). What ends soon, or cannot be counted
 * before its end, takes none.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { ReadOnEnd } from '../../terms/metric-rows.ts'
import type { Tariff } from '../../pricing/tariff.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { CountedReadOn, Exchange } from '../record/exchange.ts'
import { boundsAt, canThink, mostOutputOf } from '../record/need.ts'
import { wantsArray, wantsEvents } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import type { Asking } from './asking.ts'
import type { Reading } from './reading.ts'

/** Everything is read on for at least so long. */
const LEAST_MS = 2_000
/** An answer that can have fewer further tokens ends soon. */
const SOON_TOKENS = 512

export class ReadOn implements CountedReadOn {
  readonly #x: Exchange
  readonly #services: Services
  readonly #asking: Asking
  /** Monotonic ms since which nobody is told anything. */
  readonly #sinceMs: number
  /** The upstream counts among those that are read on. */
  #joined = false
  /** Monotonic ms until which the upstream is read on. */
  untilMs: number
  /** The reason for which it is closed then. */
  end: ReadOnEnd = 'time'

  constructor(x: Exchange, services: Services, asking: Asking) {
    this.#x = x
    this.#services = services
    this.#asking = asking
    this.#sinceMs = this.untilMs = services.clock.monotonic()
  }

  get accountId(): number {
    return (this.#x.entry as KeyEntry).account.id
  }

  /** The client was told that the main address timed out: the upstream is read on as long as a first byte may take. */
  waitForFirstByte(): void {
    this.untilMs = this.#firstByteMs
  }

  get #firstByteMs(): number {
    return this.#asking.current.startedMs + this.#x.world.config.timeouts.firstByteMs
  }

  /** `reading`: the answer as far as it has come; null = nothing has. */
  begin(reading: Reading | null): void {
    const x = this.#x
    const { readOns } = this.#services
    const { clientGone } = x.world.config
    this.#joined = true
    readOns.add(this)
    this.untilMs = this.#sinceMs + Math.max(LEAST_MS, clientGone.drainMs)
    if (this.#isAwaited()) this.untilMs = Math.max(this.untilMs, this.#firstByteMs)
    else if (!this.#needsNoPlace(reading) && !readOns.takePlace(this, x.readOnPlaces, clientGone.concurrent))
      this.dropped()
  }

  /** True: what cannot be counted before its end is waited for as long as the first byte of an answer is. */
  #isAwaited(): boolean {
    const x = this.#x
    if (!wantsEvents(x) && !wantsArray(x)) return true
    const facts = x.facts as Facts
    // of what is drawn or spoken for tokens, previews and sound have much and tell nothing of its charge
    const isUnseen = x.form === 'images' || x.form === 'speech' || facts.drawingTools > 0
    return isUnseen || !(x.tariff as Tariff).pricesTokens || canThink(x, this.#services, facts)
  }

  /** The answer ends soon, or has said all that it is charged for. */
  #needsNoPlace(reading: Reading | null): boolean {
    if (reading === null) return this.#mostOutput() < SOON_TOKENS
    const { meter, mostOutput } = reading
    return meter.final || mostOutput - meter.produced < SOON_TOKENS
  }

  /** Output tokens that the upstream can write of whose answer nothing has come. */
  #mostOutput(): number {
    const x = this.#x
    return mostOutputOf(x, this.#services, x.tariff as Tariff, x.facts as Facts, boundsAt(x, this.#asking.candidate))
  }

  /** True: the upstream was read on for long enough. Until then a place is given back when it is not needed any more. */
  isOver(nowMs: number, reading: Reading | null): boolean {
    const isOver = nowMs > this.untilMs
    if (isOver) this.#services.metrics.readOnClosed(this.end)
    else if (this.#joined && this.#needsNoPlace(reading)) this.#services.readOns.freePlace(this)
    return isOver
  }

  /** The place went to others. */
  dropped(): void {
    this.untilMs = Math.max(this.#services.clock.monotonic(), this.#sinceMs + LEAST_MS)
    this.end = 'room'
  }

  /** The upstream is done with. */
  close(): void {
    if (this.#joined) this.#services.readOns.remove(this)
    this.#joined = false
  }
}
