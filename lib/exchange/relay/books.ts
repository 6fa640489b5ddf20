/**
 * The books of a relay: the answer is charged once, the client may see its end when the charge is kept, and whatever was taken
 * goes back when the upstream is done with. What is charged is the business of `settle`.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { CommitGroup } from '../../ledger/ledger.ts'
import type { Tariff } from '../../pricing/tariff.ts'
import type { Facts } from '../../protocols/facts.ts'
import type { ErrorName } from '../../base/errors.ts'
import type { ReadOnEnd } from '../../terms/metric-rows.ts'
import type { End, UsageRow } from '../../terms/records.ts'
import type { Exchange } from '../record/exchange.ts'
import { finish, giveRightBack, CLIENT_CLOSED } from '../record/ending.ts'
import { boundsAt, canThink, hiddenRatioOf, mostOutputOf } from '../record/need.ts'
import { placesOf, type ReadOn } from '../record/read-ons.ts'
import { wantsArray, wantsEvents } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import type { Answer } from './answer.ts'
import { attemptRow, type GivenUp } from './attempt-row.ts'
import type { Attempts } from './attempts.ts'
import { settle } from './settle.ts'
import type { Telling } from './telling.ts'
import type { Hidden, How } from './used.ts'

const NO_ROWS: readonly UsageRow[] = []

/** Everything is read on for at least so long. */
const LEAST_READ_ON_MS = 2_000
/** An answer that can have fewer further tokens ends soon. */
const SOON_TOKENS = 512

export class Books implements ReadOn {
  readonly #x: Exchange
  readonly #services: Services
  readonly #answer: Answer
  readonly #attempts: Attempts
  readonly #telling: Telling
  /** Until the charge is kept the client may not see the end. */
  #charge: CommitGroup | null = null
  /** Rows of attempts that do not count. */
  #besides: readonly UsageRow[] = NO_ROWS
  /** Content tokens that the meter had when the answer was charged. */
  #chargedTokens = 0
  /** Its upstream is read on without a client. */
  #readsOn = false
  /** Monotonic ms: until then the upstream is read on after its client has left. */
  readOnUntilMs = 0
  /** Why it is closed then. */
  readOnEnd: ReadOnEnd = 'time'
  /** Its client took nothing for too long. */
  slow = false

  constructor(x: Exchange, services: Services, answer: Answer, attempts: Attempts, telling: Telling) {
    this.#x = x
    this.#services = services
    this.#answer = answer
    this.#attempts = attempts
    this.#telling = telling
  }

  // --- the charge

  /** An attempt that does not count, and whose upstream may take money for it. */
  note(givenUp: GivenUp): void {
    const x = this.#x
    if (x.free || x.hold === null || x.row !== null) return
    const row = attemptRow(x, givenUp, this.#answer.reading, this.#besides.length + 1)
    if (row !== null) this.#besides = [...this.#besides, row]
  }

  /** Charges the exchange, unless it is charged already or free. */
  settle(how: How, refusal?: ErrorName): void {
    const x = this.#x
    if (x.row !== null || x.free || x.hold === null) return
    const { reading, status, firstByteMs } = this.#answer
    const { gone } = this.#telling
    const growth = reading?.growth ?? null
    const isCutShort = growth !== null && (how === 'stopped' || growth.holdsBack)
    this.#chargedTokens = reading?.meter.counted ?? 0
    const ofAnswer = gone ? CLIENT_CLOSED : refusal === undefined ? status : 0
    this.#charge = settle(x, this.#services, {
      how,
      end: gone || (x.left && !x.ended) ? 'client_gone' : this.#endOf(how),
      status: x.status !== 0 ? x.status : ofAnswer,
      refusal,
      channel: this.#attempts.channel,
      candidate: this.#attempts.candidate,
      upstreamKey: this.#attempts.upstreamKey,
      reading,
      delivered: isCutShort ? growth : null,
      hidden: how === 'left' ? this.#hidden() : null,
      firstByteMs: firstByteMs < 0 ? null : firstByteMs - x.startedMs,
      attempts: this.#attempts.notes(how === 'completed' || how === 'stopped' || how === 'left'),
      upstreamId: this.#attempts.upstreamId,
      besides: this.#besides,
      via: this.#attempts.candidate.lane?.via ?? null,
    })
    giveRightBack(x, this.#services)
    if (how !== 'completed') this.#services.ledger.write() // the client is told at once
  }

  #hidden(): Hidden | null {
    const { reading } = this.#answer
    if (reading === null) return null
    const facts = reading.sent ?? (this.#x.facts as Facts)
    return { ratio: hiddenRatioOf(this.#x, this.#services, facts), most: reading.mostOutput }
  }

  #endOf(how: How): End {
    if (how === 'completed' || how === 'stopped') return 'completed'
    return how === 'broken' && !this.#answer.reading?.meter.failed ? 'upstream_cut' : 'upstream_error'
  }

  /** The charge is kept, or there is none yet. */
  get mayEnd(): boolean {
    return this.#charge?.kept ?? true
  }

  /** In the order of the calls, when the charge is surely kept; at once when there is none. `act` may not throw. */
  whenKept(act: () => void): void {
    if (this.#charge === null) act()
    else this.#charge.whenKept(act)
  }

  /** More of the answer has come than was charged, so what comes is no part of it. */
  get isBehindEnd(): boolean {
    const { reading } = this.#answer
    if (this.#x.row === null || reading === null) return false
    return !reading.meter.terminal || reading.meter.counted > this.#chargedTokens
  }

  // --- a client that has left

  /** The upstream was asked and may take money for it: whatever it has not refused. */
  get costs(): boolean {
    const { status } = this.#answer
    return !this.#x.free && (status === 0 ? this.#attempts.sent : status < 300)
  }

  get accountId(): number {
    return (this.#x.entry as KeyEntry).account.id
  }

  /** The upstream is read on without its client. False: nothing is lost without that. */
  readOn(): boolean {
    if (!this.costs) return false
    const x = this.#x
    const { readOns } = this.#services
    const { clientGone, timeouts } = x.world.config
    const { goneMs } = this.#telling
    this.#readsOn = true
    readOns.join(this)
    this.readOnUntilMs = goneMs + Math.max(LEAST_READ_ON_MS, clientGone.drainMs)
    if (this.#isAwaited())
      this.readOnUntilMs = Math.max(this.readOnUntilMs, this.#attempts.startedMs + timeouts.firstByteMs)
    else if (!this.#needsNoPlace() && !readOns.takePlace(this, placesOf(x), clientGone.concurrent)) this.dropped()
    return true
  }

  /** What cannot be counted before its end is waited for as long as the first byte of an answer is. */
  #isAwaited(): boolean {
    const x = this.#x
    if (!wantsEvents(x) && !wantsArray(x)) return true
    return !(x.tariff as Tariff).pricesTokens || canThink(x, this.#services, x.facts as Facts)
  }

  /** It ends soon, or has said all that it is charged for. */
  #needsNoPlace(): boolean {
    const { reading } = this.#answer
    if (reading === null) return this.#mostOutput() < SOON_TOKENS
    const { meter, mostOutput } = reading
    return meter.final || mostOutput - meter.produced < SOON_TOKENS
  }

  /** Output tokens that the upstream can write of whose answer nothing has come. */
  #mostOutput(): number {
    const x = this.#x
    const { candidate } = this.#attempts
    const facts = x.facts as Facts
    return mostOutputOf(x, this.#services, x.tariff as Tariff, facts, boundsAt(x, candidate))
  }

  /** Is asked now and then while the upstream is read on. */
  freePlaceEarly(): void {
    if (this.#readsOn && this.#needsNoPlace()) this.#services.readOns.freePlace(this)
  }

  dropped(): void {
    const { clock } = this.#services
    this.readOnUntilMs = Math.max(clock.monotonic(), this.#telling.goneMs + LEAST_READ_ON_MS)
    this.readOnEnd = 'room'
  }

  // --- the end

  /** The upstream's part is over; the client's goes on until its connection has taken everything. */
  close(): void {
    const x = this.#x
    const { clock, metrics, readOns } = this.#services
    const answer = this.#answer
    answer.reading?.decoder?.stop()
    answer.reading?.links?.stop()
    answer.reading?.translation?.close()
    answer.lastByteMs = clock.monotonic() // what is left is the client's time
    x.upstreamMs = answer.lastByteMs - x.dispatchedMs
    if (this.#readsOn) readOns.leave(this)
    if (this.#telling.gone) metrics.clientGone(this.slow ? 'slow' : answer.isDone ? 'drained' : 'cut')
    if (this.#telling.gone || x.closed) finish(x, this.#services)
  }
}
