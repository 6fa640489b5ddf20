/**
 * The books of a relay: the answer is charged once, the client may see its end when the charge is kept, and whatever was taken
 * goes back when the upstream is done with. What is charged is the business of `settle`.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { CommitGroup } from '../../ledger/ledger.ts'
import type { ErrorName } from '../../terms/errors.ts'
import type { End, UsageRow } from '../../terms/records.ts'
import type { Exchange } from '../exchange.ts'
import { finish, giveRightBack } from '../finish.ts'
import type { Services } from '../services.ts'
import { CLIENT_CLOSED } from '../verdict.ts'
import type { Answer } from './answer.ts'
import { attemptRow, type GivenUp } from './attempt-row.ts'
import type { Attempts } from './attempts.ts'
import { settle } from './settle.ts'
import type { Telling } from './telling.ts'
import type { How } from './used.ts'

const NO_ROWS: readonly UsageRow[] = []

export class Books {
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
  /** Its upstream has a place among those that are read on without a client. */
  #hasPlace = false
  /** Monotonic ms: until then the upstream is read on after its client has left. */
  readOnUntilMs = 0
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
      firstByteMs: firstByteMs < 0 ? null : firstByteMs - x.startedMs,
      attempts: this.#attempts.notes(how === 'completed' || how === 'stopped' || how === 'left'),
      upstreamId: this.#attempts.upstreamId,
      besides: this.#besides,
      via: this.#attempts.candidate.lane?.via ?? null,
    })
    giveRightBack(x, this.#services)
    if (how !== 'completed') this.#services.ledger.write() // the client is told at once
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

  /** Takes a place among the upstreams that are read on without a client. False: there is none, or nothing is lost without. */
  readOn(concurrent: number): boolean {
    const { account } = this.#x.entry as KeyEntry
    this.#hasPlace = this.costs && this.#services.readOns.enter(account.id, concurrent)
    return this.#hasPlace
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
    if (this.#hasPlace) readOns.leave((x.entry as KeyEntry).account.id)
    if (this.#telling.gone) metrics.clientGone(this.slow ? 'slow' : answer.isDone ? 'drained' : 'cut')
    if (this.#telling.gone || x.closed) finish(x, this.#services)
  }
}
