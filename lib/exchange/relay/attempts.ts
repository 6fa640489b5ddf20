/**
 * Asking: the attempts of one exchange, over the candidates while nothing was relayed. What each says of its channel's health is
 * reported here, and what the answer that counts says is passed on to the relay. A group may hedge: when the first attempt stays
 * silent a second is made beside it, and whoever sends the first byte is relayed.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { Claim } from '../../channels/claim.ts'
import type { Candidate } from '../../world/table.ts'
import type { ErrorName } from '../../base/errors.ts'
import type { AttemptNote } from '../../terms/records.ts'
import { Attempt, type AttemptEvents, CredentialError } from '../../upstream/attempt.ts'
import { namedRetryS } from '../../upstream/headers.ts'
import type { Exchange } from '../record/exchange.ts'
import { fail } from '../record/ending.ts'
import { upstreamIdOf } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import { EXCERPT_BYTES } from '../record/upstream-log.ts'
import type { AnswerEvents } from './answer-events.ts'
import { report, reportStatus } from './attempt-report.ts'
import { GaveUp, NoMemory, silent } from './given-up.ts'
import { nextClaim } from './next-claim.ts'
import { Rivals } from './rivals.ts'
import { send } from './sending.ts'
import { signsAnew } from './signing.ts'
import { faultOf, outcomeOf, refusesKey, retryable, saysBusy } from './upstream-status.ts'

const nameOf = ({ claim }: Attempt): string => claim.candidate.channel.name

export class Attempts implements AttemptEvents {
  readonly #x: Exchange
  readonly #services: Services
  readonly #answer: AnswerEvents
  readonly #rivals: Rivals
  /** What said something that the client may hear, should nobody who is asked after it say anything. */
  #answered: Attempt | null = null
  /** The one further try with a newer token was made. */
  #signedAnew = false
  /** The first channel that named a time to wait for, because it is too busy. */
  #toldToWait: string | null = null
  /** A second one did. */
  #toldTwice = false

  constructor(x: Exchange, services: Services, answer: AnswerEvents) {
    this.#x = x
    this.#services = services
    this.#answer = answer
    this.#rivals = new Rivals(x, services, (attempt, note) => answer.onGivenUp({ attempt, note, why: 'lost' }))
  }

  // --- the attempt that counts

  /** Name of its channel. */
  get channel(): string {
    return nameOf(this.#rivals.current)
  }

  get candidate(): Candidate {
    return this.#rivals.current.claim.candidate
  }

  /** Fingerprint of the upstream key that it was made with. */
  get upstreamKey(): string {
    return this.#rivals.current.claim.key.fingerprint
  }

  /** The id that its upstream gave the answer; null = none that can be kept. */
  get upstreamId(): string | null {
    return upstreamIdOf(this.#rivals.current)
  }

  /** Of every attempt, in the order in which they ended. `isWhole`: nothing is wrong with the answer that counts. */
  notes(isWhole: boolean): readonly AttemptNote[] {
    const { current, notes } = this.#rivals
    return notes.all(current, this.#services.clock.monotonic(), isWhole ? null : faultOf(current.status))
  }

  /** Monotonic ms. */
  get startedMs(): number {
    return this.#rivals.current.startedMs
  }

  /** Its upstream has the whole request. */
  get sent(): boolean {
    return this.#rivals.current.sent
  }

  /** What its answer turned out to be. */
  judge(outcome: 'ok' | 'failed'): void {
    report(this.#x, this.#services, this.#rivals.current, outcome)
  }

  /** Its answer broke off after it was judged. */
  broke(): void {
    const { current } = this.#rivals
    current.claim.broke()
    this.#services.upstreamLog.brokeOff(this.#x.id, current)
  }

  pause(): void {
    this.#rivals.current.pause()
  }

  resume(): void {
    this.#rivals.current.resume()
  }

  timeOut(): void {
    this.#rivals.current.abort(new GaveUp('timeout'))
  }

  // --- who is asked

  start(claim: Claim): void {
    this.#services.retries.request((this.#x.entry as KeyEntry).account.id)
    this.#rivals.current = this.#begin(claim)
    send(this.#x, this.#services, this.#rivals.current)
  }

  #begin(claim: Claim): Attempt {
    this.#x.attempts++
    this.#answer.onAsked()
    const { clock, upstreamLog } = this.#services
    const attempt = new Attempt(claim, clock.monotonic(), this)
    if (upstreamLog.wantsBodies) attempt.keepExcerpt(EXCERPT_BYTES)
    return attempt
  }

  /** Goes on with the next candidate if there is one and it is allowed. */
  tryNext(): boolean {
    const { current } = this.#rivals
    if (saysBusy(current.status) || refusesKey(current.status) || current.error instanceof CredentialError)
      this.#x.candidates?.keyFailed(current.claim)
    const claim = this.#answer.open && !this.#toldTwice ? nextClaim(this.#x, this.#services, false) : null
    if (claim === null) return false
    current.discard(this.#services.clock)
    if (retryable(current.status) && !refusesKey(current.status)) this.#answered = current
    const note = this.#rivals.notes.giveUp(
      current,
      this.#services.clock.monotonic(),
      faultOf(current.status) ?? 'answer',
    )
    if (current.status > 0 && current.status < 300)
      this.#answer.onGivenUp({ attempt: current, note, why: 'taken back' })
    const next = this.#begin(claim)
    this.#rivals.current = next
    this.#services.upstreamLog.goesOn(this.#x.id, nameOf(current), nameOf(next))
    send(this.#x, this.#services, next)
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
    this.#rivals.notes.giveUp(this.#rivals.current, this.#services.clock.monotonic(), 'answer')
    this.#rivals.current = answered
    this.#answer.onAsked()
    this.#answer.onHead(answered)
    this.#answer.onData(body)
    this.#answer.onEnd()
  }

  /** While no byte has come: gives up on who is silent for too long, and hedges. */
  check(nowMs: number): void {
    const x = this.#x
    const { hedgeMs } = x.world.group((x.entry as KeyEntry).key.group)
    if (hedgeMs > 0 && x.attempts === 1 && nowMs - this.startedMs >= hedgeMs) this.#hedge()
    this.#rivals.abortBefore(nowMs - x.world.config.timeouts.firstByteMs, silent)
  }

  #hedge(): void {
    const claim = this.#answer.open ? nextClaim(this.#x, this.#services, true) : null
    if (claim === null) return
    const second = this.#begin(claim)
    this.#rivals.join(second)
    send(this.#x, this.#services, second)
  }

  /** The client has left: nobody waits for the faster of two. */
  keepOne(): void {
    if (!this.#rivals.areTwo) return
    this.#rivals.giveSecond()
    this.#tellHead() // void since the other was asked
  }

  discard(): void {
    this.#rivals.discard()
  }

  /** Closed from our side; no more is heard of it. */
  cut(): void {
    this.#rivals.cut()
  }

  /** The same, because there is no room for its answer, for which its upstream is not to blame. */
  cutForMemory(): void {
    const { current } = this.#rivals
    this.#rivals.cut(new NoMemory('there is no room left for the answer'))
    this.#services.upstreamLog.noMemory(this.#x.id, current)
  }

  // --- what upstreams say

  onHead(attempt: Attempt): void {
    const { status } = attempt
    if (status < 300) {
      if (!this.#rivals.areTwo) this.#answer.onHead(attempt)
      return
    }
    this.#signedAnew ||= !this.#rivals.areTwo && signsAnew(this.#x, this.#services, attempt)
    reportStatus(this.#x, this.#services, attempt)
    if (saysBusy(status)) this.#isTold(attempt)
    if (!retryable(status)) this.#choose(attempt)
    else if (this.#rivals.areTwo) this.#drop(attempt)
    else if (!this.tryNext()) this.#answer.onHead(attempt)
  }

  /** A request that two channels told to wait may be the reason itself, and is not carried on to rest a third one. */
  #isTold(attempt: Attempt): void {
    if (!namedRetryS(attempt.headers, this.#services.clock.now())) return
    this.#toldToWait ??= nameOf(attempt)
    this.#toldTwice ||= this.#toldToWait !== nameOf(attempt)
  }

  onData(attempt: Attempt, chunk: Buffer): void {
    if (this.#rivals.areTwo) this.#choose(attempt)
    this.#answer.onData(chunk)
  }

  onEnd(attempt: Attempt): void {
    if (!this.#rivals.areTwo) {
      this.#answer.onEnd()
      return
    }
    report(this.#x, this.#services, attempt, 'failed') // 2xx and then nothing
    this.#drop(attempt)
  }

  onError(attempt: Attempt, error: Error): void {
    if (!this.#rivals.areTwo && this.#answer.began) {
      this.#answer.onBroken()
      return
    }
    if (attempt.status < 300) report(this.#x, this.#services, attempt, outcomeOf(error))
    if (this.#rivals.areTwo) this.#drop(attempt)
    else if (!this.tryNext()) this.#giveLast(error instanceof GaveUp ? error.row : 'upstream')
  }

  onFault(error: unknown): void {
    fail(this.#x, this.#services, error)
  }

  onOver(attempt: Attempt): void {
    if (attempt.excerpt !== null && attempt.status >= 300) this.#services.upstreamLog.body(this.#x.id, attempt)
  }

  #choose(attempt: Attempt): void {
    this.#rivals.choose(attempt)
    this.#answer.onHead(attempt)
  }

  #drop(attempt: Attempt): void {
    this.#rivals.drop(attempt)
    this.#tellHead()
  }

  /** Of the one that is left, if it has said something meanwhile. */
  #tellHead(): void {
    const { current } = this.#rivals
    if (current.status !== 0) this.#answer.onHead(current)
  }
}
