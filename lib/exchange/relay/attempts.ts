/**
 * The tries of one exchange: over the candidates while nothing was relayed, within attempts, a deadline and the retry
 * budget. Usually there is one. A group may hedge: when the first stays silent a second is made beside it, whoever sends
 * the first byte is relayed, and the other is closed. What each says of its channel's health is reported here.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { Claim } from '../../channels/claim.ts'
import type { Outcome } from '../../channels/health.ts'
import type { Candidate } from '../../channels/table.ts'
import type { ProtocolRow } from '../../protocols/protocol.ts'
import type { ErrorName } from '../../terms/errors.ts'
import { Attempt, type AttemptEvents } from '../../upstream/attempt.ts'
import type { Exchange } from '../exchange.ts'
import { fail } from '../fail.ts'
import type { Services } from '../services.ts'
import { EXCERPT_BYTES } from '../upstream-log.ts'
import type { AnswerEvents } from './answer-events.ts'
import { upstreamRequest } from './upstream-request.ts'
import { isOurs, refusesKey, retryable, saysBusy } from './upstream-status.ts'
import { report, reportStatus } from './verdicts.ts'

/** The gateway gave up on the upstream; not a fault of the connection. */
class GaveUp extends Error {
  override name = 'GaveUp'
  readonly row: ErrorName

  constructor(row: ErrorName) {
    super(row)
    this.row = row
  }
}

const nameOf = ({ claim }: Attempt): string => claim.candidate.channel.name

export class Attempts implements AttemptEvents {
  readonly #x: Exchange
  readonly #services: Services
  readonly #row: ProtocolRow
  readonly #answer: AnswerEvents
  #current: Attempt | null = null
  /** The second one, while neither has sent a byte. */
  #rival: Attempt | null = null
  /** What said something that the client may hear, should nobody who is asked after it say anything. */
  #answered: Attempt | null = null

  constructor(x: Exchange, services: Services, row: ProtocolRow, answer: AnswerEvents) {
    this.#x = x
    this.#services = services
    this.#row = row
    this.#answer = answer
  }

  get #account(): number {
    return (this.#x.entry as KeyEntry).account.id
  }

  /** Name of the channel whose answer counts. */
  get channel(): string {
    return nameOf(this.#current as Attempt)
  }

  get candidate(): Candidate {
    return (this.#current as Attempt).claim.candidate
  }

  /** The upstream key that the answer which counts was made with. */
  get upstreamKey(): string {
    return (this.#current as Attempt).claim.key.fingerprint
  }

  /** When the attempt that counts began. */
  get startedMs(): number {
    return (this.#current as Attempt).startedMs
  }

  /** Its upstream has the whole request. */
  get sent(): boolean {
    return (this.#current as Attempt).sent
  }

  start(claim: Claim): void {
    this.#services.retries.request(this.#account)
    this.#current = this.#begin(claim)
    this.#send(this.#current)
  }

  #begin(claim: Claim): Attempt {
    this.#x.attempts++
    this.#answer.onAsked()
    const { clock, upstreamLog } = this.#services
    const attempt = new Attempt(claim, clock.monotonic(), this)
    if (upstreamLog.wantsBodies) attempt.keepExcerpt(EXCERPT_BYTES)
    return attempt
  }

  /** What cannot be sent is an attempt that failed: it may be heard of before this returns. */
  #send(attempt: Attempt): void {
    const { claim } = attempt
    try {
      const { pools } = this.#services
      pools.of(claim.candidate.channel.connection).dispatch(upstreamRequest(this.#x, this.#row, claim), attempt)
    } catch (error) {
      attempt.onResponseError(null, error as Error)
    }
  }

  /** Goes on with the next candidate if there is one and it is allowed. */
  tryNext(): boolean {
    const current = this.#current as Attempt
    if (saysBusy(current.status) || refusesKey(current.status)) this.#x.candidates?.keyFailed(current.claim)
    const claim = this.#nextClaim()
    if (claim === null) return false
    current.discard(this.#services.clock)
    if (retryable(current.status) && !refusesKey(current.status)) this.#answered = current
    this.#current = this.#begin(claim)
    this.#services.upstreamLog.goesOn(this.#x.id, nameOf(current), nameOf(this.#current))
    this.#send(this.#current)
    return true
  }

  /** None is left to ask, and the last one gave no answer. */
  #giveLast(name: ErrorName): void {
    const answered = this.#answered
    const body = answered?.discarded ?? null
    if (answered === null || body === null) {
      this.#answer.onNoAnswer(name)
      return
    }
    this.#current = answered
    this.#answer.onAsked()
    this.#answer.onHead(answered)
    this.#answer.onData(body)
    this.#answer.onEnd()
  }

  /** `beside`: the one before it is still asked. */
  #nextClaim(beside = false): Claim | null {
    const x = this.#x
    const { attempts, deadlineMs } = x.world.config.retry
    if (!this.#answer.open || x.attempts >= attempts) return null
    if (deadlineMs > 0 && this.#services.clock.monotonic() - x.dispatchedMs > deadlineMs) return null
    if (!this.#services.retries.allows(this.#account)) return null // before a candidate is taken, which counts as tried
    const claim = (beside ? x.candidates?.nextWell() : x.candidates?.next()) ?? null
    if (claim !== null) this.#services.retries.retry(this.#account)
    return claim
  }

  #report(attempt: Attempt, outcome: Outcome): void {
    report(this.#x, this.#services, attempt, outcome)
  }

  /** What the answer that counts turned out to be. */
  judge(outcome: 'ok' | 'failed'): void {
    this.#report(this.#current as Attempt, outcome)
  }

  /** The answer that counts broke off after it was judged. */
  broke(): void {
    const current = this.#current as Attempt
    current.claim.broke()
    this.#services.upstreamLog.brokeOff(this.#x.id, current)
  }

  // --- what upstreams say

  onHead(attempt: Attempt): void {
    const { status } = attempt
    if (status < 300) {
      if (this.#rival === null) this.#answer.onHead(attempt)
      return
    }
    reportStatus(this.#x, this.#services, attempt)
    if (!retryable(status)) this.#choose(attempt)
    else if (this.#rival !== null) this.#drop(attempt)
    else if (!this.tryNext()) this.#answer.onHead(attempt)
  }

  onData(attempt: Attempt, chunk: Buffer): void {
    if (this.#rival !== null) this.#choose(attempt)
    this.#answer.onData(chunk)
  }

  onEnd(attempt: Attempt): void {
    if (this.#rival === null) {
      this.#answer.onEnd()
      return
    }
    this.#report(attempt, 'failed') // 2xx and then nothing
    this.#drop(attempt)
  }

  onError(attempt: Attempt, error: Error): void {
    if (this.#rival === null && this.#answer.began) {
      this.#answer.onBroken()
      return
    }
    if (attempt.status < 300) this.#report(attempt, isOurs(error) ? 'ignored' : 'failed')
    if (this.#rival !== null) this.#drop(attempt)
    else if (!this.tryNext()) this.#giveLast(error instanceof GaveUp ? error.row : 'upstream')
  }

  onFault(error: unknown): void {
    fail(this.#x, this.#services, error)
  }

  onOver(attempt: Attempt): void {
    if (attempt.excerpt !== null && attempt.status >= 300) this.#services.upstreamLog.body(this.#x.id, attempt)
  }

  // --- two at once

  /** Closed from our side; nothing was learnt about its channel. */
  #give(attempt: Attempt): void {
    this.#report(attempt, 'ignored')
    attempt.cut()
  }

  #choose(attempt: Attempt): void {
    const rival = this.#rival
    if (rival !== null) {
      this.#services.metrics.hedge(attempt === rival ? 'won' : 'lost')
      const loser = attempt === rival ? this.#current : rival
      if (loser !== null) this.#give(loser)
      this.#current = attempt
      this.#rival = null
    }
    this.#answer.onHead(attempt)
  }

  /** One of two failed: the other one is all there is. */
  #drop(attempt: Attempt): void {
    if (attempt === this.#current) this.#current = this.#rival
    this.#rival = null
    attempt.discard(this.#services.clock)
    this.#services.metrics.hedge(attempt === this.#current ? 'lost' : 'won')
    const { status } = this.#current as Attempt
    if (status !== 0) this.#answer.onHead(this.#current as Attempt)
  }

  /** While no byte has come: gives up on who is silent for too long, and hedges. */
  check(nowMs: number): void {
    const x = this.#x
    const { firstByteMs } = x.world.config.timeouts
    const current = this.#current as Attempt
    const { hedgeMs } = x.world.group((x.entry as KeyEntry).key.group)
    if (hedgeMs > 0 && x.attempts === 1 && nowMs - current.startedMs >= hedgeMs) {
      const claim = this.#nextClaim(true)
      if (claim !== null) {
        this.#rival = this.#begin(claim)
        this.#send(this.#rival)
      }
    }
    for (const attempt of [current, this.#rival])
      if (attempt !== null && nowMs - attempt.startedMs > firstByteMs) attempt.abort(new GaveUp('timeout'))
  }

  // --- steering

  pause(): void {
    this.#current?.pause()
  }

  resume(): void {
    this.#current?.resume()
  }

  /** The client has left: nobody waits for the faster of two. */
  keepOne(): void {
    if (this.#rival === null) return
    this.#giveRival()
    const current = this.#current as Attempt
    if (current.status !== 0) this.#answer.onHead(current) // void since the other was asked
  }

  #giveRival(): void {
    const rival = this.#rival
    this.#rival = null
    if (rival !== null) this.#give(rival)
  }

  discard(): void {
    this.#giveRival()
    this.#current?.discard(this.#services.clock)
  }

  /** Closed from our side; no more is heard of it. */
  cut(): void {
    this.#giveRival()
    if (this.#current !== null) this.#give(this.#current)
  }

  timeOut(): void {
    this.#current?.abort(new GaveUp('timeout'))
  }
}
