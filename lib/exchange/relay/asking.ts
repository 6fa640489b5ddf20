/**
 * The attempts of one exchange: which upstream is asked, and which next, over the candidates while nothing was relayed. What each
 * attempt says of its channel's health is reported here. Usually one attempt is under way. A group may hedge: when the first one stays
 * silent a second one is made beside it, whoever has something for the client first is kept, and the other one is closed.
 *
 * The relay hears of the attempts and says here what becomes of them. After a failure that another upstream may not share (`retryable`
 * below) the next channel is drawn by `lib/channels/pick.ts`, until attempts, deadline or retry budget are used up
 * (`#claim`), two channels have named a time to wait for, or the client has left or been told something.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { AttemptOutcome, Claim } from '../../channels/health.ts'
import { HOPS, saysLoop } from '../../terms/hops.ts'
import type { AttemptNote } from '../../terms/usage-row.ts'
import { Attempt, type AttemptEvents, BadRequest, CredentialError } from '../../upstream/attempt.ts'
import { namedRetryS } from '../../upstream/headers.ts'
import type { Candidate } from '../../world/table.ts'
import type { Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import { NO_ANSWER, type Reading, type UpstreamAnswer } from './reading.ts'
import type { ErrorName } from '../../base/errors.ts'
import type { CountAtKind } from '../../protocols/protocol.ts'
import type { Clock } from '../../base/clock.ts'
import { guard } from '../record/ending.ts'
import type { RelayState } from './states.ts'

/** An attempt that is over, and whose answer does not count. */
export interface GivenUp {
  attempt: Attempt
  note: AttemptNote
  /** The answer that was taken back; null = the hedged attempt beside it was faster. */
  takenBack: Reading | null
}

export class Asking {
  readonly #x: Exchange
  readonly #services: Services
  /** The attempt that counts; of two the one that was made first. It is there from `begin` on, and only the methods here change it. */
  current!: Attempt
  /** The answer of that attempt, as far as it has come. Only `hear` and `forget` change it. */
  answer: UpstreamAnswer = NO_ANSWER
  /** The hedged attempt beside it, while neither has sent a byte. */
  second: Attempt | null = null
  /** Notes of the attempts that are over, and these attempts; null = there are none, as nearly always. */
  #notes: AttemptNote[] | null = null
  #noted: Attempt[] | null = null
  /** The attempts whose upstreams may take money although their answers do not count; null = there are none. */
  givenUp: GivenUp[] | null = null
  /** An attempt that said something for the client, should nobody who is asked after it say anything. */
  #answered: Attempt | null = null
  /** The one further try with a newer token was made. */
  #signedAnew = false
  /** The first channel that named a time to wait for, because it is too busy. */
  #toldToWait: string | null = null
  /** A second one did. */
  #toldTwice = false

  constructor(x: Exchange, services: Services) {
    this.#x = x
    this.#services = services
  }

  // --- the attempt that counts

  get candidate(): Candidate {
    return this.current.claim.candidate
  }

  /** The upstream was asked and may take money for it: whatever it has not refused. */
  get costs(): boolean {
    const { status } = this.answer
    return !this.#x.free && (status === 0 ? this.current.sent : status < 300)
  }

  /** The head of the answer that counts has come. */
  hear(answer: UpstreamAnswer): void {
    this.answer = answer
  }

  /** Another upstream is asked: what an earlier one said is void. */
  forget(): void {
    this.answer.reading?.close()
    this.answer = NO_ANSWER
  }

  /**
   * The notes of every attempt, in the order in which they ended. `isWhole`: nothing is wrong with the answer that counts. `nowMs`:
   * monotonic.
   */
  notes(isWhole: boolean, nowMs: number): readonly AttemptNote[] {
    const { current } = this
    if (this.#notes !== null && this.#noted?.includes(current)) return this.#notes
    const note = noteOf(current, isWhole ? null : faultOf(current.status), nowMs)
    return this.#notes === null ? [note] : [...this.#notes, note]
  }

  /** Notes an attempt that is over, and in whose place another one counts. */
  #note(attempt: Attempt, why: string): AttemptNote {
    const note = noteOf(attempt, why, this.#services.clock.monotonic())
    this.#notes ??= []
    this.#noted ??= []
    this.#notes.push(note)
    this.#noted.push(attempt)
    return note
  }

  // --- who is asked

  /** Begins the first attempt, or the next one in the place of the one that counts. */
  begin(claim: Claim, events: AttemptEvents): Attempt {
    const { upstreamLog, retries } = this.#services
    const before = this.current as Attempt | undefined
    const attempt = (this.current = this.#attempt(claim, events))
    if (before === undefined) retries.request((this.#x.entry as KeyEntry).account.id, attempt.startedMs)
    else upstreamLog.goesOn(this.#x.id, nameOf(before), nameOf(attempt))
    return attempt
  }

  /** Begins the hedged attempt beside the first one. */
  beginSecond(claim: Claim, events: AttemptEvents): Attempt {
    return (this.second = this.#attempt(claim, events))
  }

  #attempt(claim: Claim, events: AttemptEvents): Attempt {
    this.#x.attempts++
    const { clock, upstreamLog } = this.#services
    const attempt = new Attempt(claim, clock, events)
    const { excerptBytes } = upstreamLog
    if (excerptBytes > 0) attempt.keepExcerpt(excerptBytes)
    return attempt
  }

  /** A place at the next channel, the attempt that counts having failed; null = nobody may be asked. `open`: by the client. */
  nextClaim(open: boolean): Claim | null {
    const { status, error, claim } = this.current
    if (saysBusy(status) || refusesKey(status) || error instanceof CredentialError) this.#x.candidates?.keyFailed(claim)
    return open && !this.#toldTwice ? this.#claim(false) : null
  }

  /** A place for the hedged attempt, when it is time for one and it is allowed; null = otherwise. */
  hedgeClaim(nowMs: number, open: boolean): Claim | null {
    const x = this.#x
    const { hedgeMs } = x.world.group((x.entry as KeyEntry).key.group)
    const isDue = hedgeMs > 0 && x.attempts === 1 && nowMs - this.current.startedMs >= hedgeMs
    return isDue && open ? this.#claim(true) : null
  }

  /** Within attempts, deadline and retry budget. `beside`: the one before it is still asked. */
  #claim(beside: boolean): Claim | null {
    const x = this.#x
    const { clock, retries } = this.#services
    const { attempts, deadlineMs } = x.world.config.retry
    const { id } = (x.entry as KeyEntry).account
    if (x.attempts >= attempts) return null
    if (deadlineMs > 0 && clock.monotonic() - x.dispatchedMs > deadlineMs) return null
    if (!retries.allows(id)) return null // before a candidate is taken, which counts as tried
    const claim = (beside ? x.candidates?.nextWell() : x.candidates?.next()) ?? null
    if (claim !== null) retries.retry(id)
    return claim
  }

  /** The attempt that counts is given up for the next one. */
  giveUp(): void {
    const { current } = this
    const { reading } = this.answer
    const { status } = current
    current.discard()
    if (retryable(status) && !refusesKey(status)) this.#answered = current
    const note = this.#note(current, faultOf(status) ?? 'answer')
    if (status > 0 && status < 300 && reading !== null) this.#keep({ attempt: current, note, takenBack: reading })
  }

  #keep(givenUp: GivenUp): void {
    this.givenUp ??= []
    this.givenUp.push(givenUp)
  }

  /**
   * None is left to ask, and the last one gave no answer: an earlier one counts again that said something for the client. False:
   * there is none.
   */
  takeBackAnswered(): boolean {
    const answered = this.#answered
    if (!answered?.takeBack()) return false
    this.#note(this.current, 'answer')
    this.current = answered
    return true
  }

  // --- the faster of two

  /** Keeps an attempt that has something for the client: the other one, if there is one, is closed. */
  choose(attempt: Attempt): void {
    const { second } = this
    if (second === null) return
    this.second = null
    this.#services.metrics.hedge(attempt === second ? 'won' : 'lost')
    this.#lose(attempt === second ? this.current : second)
    this.current = attempt
  }

  /** One of two failed: the other one is all there is. */
  drop(attempt: Attempt): void {
    if (attempt === this.current && this.second !== null) this.current = this.second
    this.second = null
    this.#note(attempt, 'answer')
    attempt.discard()
    this.#services.metrics.hedge(attempt === this.current ? 'lost' : 'won')
  }

  /** Nobody waits for the faster of two. */
  dropSecond(): void {
    const { second } = this
    this.second = null
    if (second !== null) this.#lose(second)
  }

  #lose(attempt: Attempt): void {
    this.#keep({ attempt, note: this.#note(attempt, 'lost'), takenBack: null })
    this.#cut(attempt)
  }

  // --- no more is heard

  /** The relay has ended: an attempt that was not judged says nothing, and a short rest of its answer is read away. */
  close(): void {
    this.dropSecond()
    this.report(this.current, 'ignored')
    this.current.discard()
  }

  /** The connections are closed. */
  cut(reason?: Error): void {
    this.dropSecond()
    this.#cut(this.current, reason)
  }

  /** The same, because there is no room for the answer, for which its upstream is not to blame. */
  cutForMemory(): void {
    this.cut(new NoMemory('there is no room left for the answer'))
    this.#services.upstreamLog.noMemory(this.#x.id, this.current)
  }

  #cut(attempt: Attempt, reason?: Error): void {
    this.report(attempt, 'ignored') // nothing was learnt about its channel
    attempt.cut(reason)
  }

  timeOut(): void {
    this.current.abort(new GaveUp('timeout'))
  }

  /** Gives up on those that began before `startedMs` and are silent. */
  abortSilent(startedMs: number): void {
    for (const attempt of [this.current, this.second])
      if (attempt !== null && attempt.startedMs < startedMs) attempt.abort(new GaveUp('timeout'))
  }

  // --- how attempts went

  /** Reports how an attempt went to the breaker of its channel, the metrics and the log. The first report of an attempt counts. */
  report(attempt: Attempt, outcome: AttemptOutcome, restS?: number): void {
    if (!attempt.claim.report(outcome, restS)) return
    const { metrics, upstreamLog } = this.#services
    metrics.attempt(nameOf(attempt), outcome)
    const isWell = outcome === 'ok' || (outcome === 'ignored' && attempt.error === null)
    if (!isWell) upstreamLog.failed(this.#x.id, this.#x.attempts, attempt, outcome)
  }

  /** Reports an answer whose status is not 2xx, by that status alone. */
  reportStatus(attempt: Attempt): void {
    const { status, headers } = attempt
    const restS = saysBusy(status) ? namedRetryS(headers, this.#services.clock.now()) : undefined
    this.#signedAnew ||= this.second === null && this.#signsAnew(attempt)
    if (refusesKey(status)) this.report(attempt, 'auth')
    else if (saysBusy(status)) this.report(attempt, 'busy', restS)
    // names that the client sent may be all that the next gateway refuses
    else if (saysLoop(status) && this.#x.req.headers[HOPS] !== undefined) this.report(attempt, 'ignored')
    else this.report(attempt, status >= 500 || status === 408 ? 'failed' : 'ok')
    if (!restS) return
    // a request that two channels told to wait may be the reason itself, and is not carried on to rest a third one
    this.#toldToWait ??= nameOf(attempt)
    this.#toldTwice ||= this.#toldToWait !== nameOf(attempt)
  }

  /**
   * Tells whether the upstream refused a token that ended before its time. The channel is then asked once more with a newer one, and
   * nothing is held against it.
   */
  #signsAnew(attempt: Attempt): boolean {
    const { status, claim, signature, cause } = attempt
    if (
      status !== 401 ||
      signature === null ||
      cause !== null ||
      !this.#services.signers.of(claim.key).refused(signature)
    )
      return false
    this.#x.candidates?.againWith(claim)
    this.report(attempt, 'ignored')
    return true
  }

  /** The answer that counts broke off, mostly after it was judged. */
  broke(): void {
    const { claim } = this.current
    const { metrics, upstreamLog } = this.#services
    if (claim.report('failed')) metrics.attempt(nameOf(this.current), 'failed')
    else claim.broke()
    upstreamLog.brokeOff(this.#x.id, this.current)
  }
}

const nameOf = ({ claim }: Attempt): string => claim.candidate.channel.name

const noteOf = ({ claim, status, startedMs, error }: Attempt, why: string | null, nowMs: number): AttemptNote => ({
  channel: claim.candidate.channel.name,
  status,
  error: error === null ? why : wordOf(error),
  ms: Math.max(0, Math.round(nowMs - startedMs)),
})

/** The code of the system or of the connection where there is one. */
const wordOf = (error: Error): string => (error as NodeJS.ErrnoException).code ?? error.name

// --- what a status or an error of an attempt says: who is to blame, and whether another upstream may be asked; and errors of our side

/** The gateway gave up on the upstream; not a fault of the connection. */
export class GaveUp extends Error {
  override name = 'GaveUp'
  readonly row: ErrorName
  readonly code: string

  constructor(row: ErrorName) {
    super(row)
    this.row = row
    this.code = row
  }
}

/** The account has not the money for what the candidate may cost, and another one may need less. */
export class NoMoney extends Error {
  override name = 'NoMoney'
  readonly code = 'money'
}

/** The request cannot be said to the candidate, which took a moment to find out. */
export class Unfit extends Error {
  override name = 'Unfit'
  readonly code = 'unfit'
}

/** The gateway has no room for what it must keep of the answer. */
class NoMemory extends Error {
  override name = 'NoMemory'
  readonly code = 'memory'
}

/** The client did nothing wrong, so the next candidate may be asked while nothing was relayed. */
export const retryable = (status: number): boolean =>
  status === 401 || status === 403 || status === 408 || status === 429 || status >= 500

/** The upstream does not say that the client's request is wrong: what it refuses in a form of its own (`own`) may be that form. */
export const couldNotCount = (status: number, own: CountAtKind | undefined): boolean =>
  retryable(status) || status === 404 || status === 405 || own?.body.envelope !== undefined

export const saysBusy = (status: number): boolean => status === 429 || status === 529
export const refusesKey = (status: number): boolean => status === 401 || status === 403

/** Errors that say that this machine has run out of something. */
const SPENT_HERE = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL'])

/** The failure says nothing of the upstream: the request cannot be sent, this machine has no socket for it, or there is no money, or it does not fit. */
const isOurs = (error: Error): boolean =>
  error instanceof BadRequest ||
  error instanceof NoMoney ||
  error instanceof Unfit ||
  SPENT_HERE.has((error as NodeJS.ErrnoException).code ?? '')

/** An attempt without a status says this of its channel. */
export function outcomeOfError(error: Error): AttemptOutcome {
  if (error instanceof CredentialError) return 'auth'
  return isOurs(error) ? 'ignored' : 'failed'
}

/** The word for what is wrong with an answer that came; null = nothing that its upstream is to blame for. 0 = none came. */
export const faultOf = (status: number): string | null => {
  if (status > 0 && status < 300) return 'answer'
  return retryable(status) ? 'status' : null
}

// --- the flow of an answer from its upstream: what holds the upstream up, so that the attempt that counts is paused, and whether it is done

/** The reasons for which an upstream is held up, as bits. */
export const SLOW_CLIENT = 1
export const GROWING = 2
export const DECODING = 4
export const LINKING = 8
const YIELDING = 16

export class AnswerFlow {
  readonly #x: Exchange
  readonly #services: Services
  readonly #clock: Clock
  readonly #state: RelayState
  readonly #asking: Asking
  /** Monotonic ms: the client takes nothing, since then; 0 = it does. */
  slowSinceMs = 0
  /** The upstream has said all it says, or was cut. */
  isDone = false
  /** The reasons for which the upstream is held up; 0 = it is not. */
  held = 0

  constructor(x: Exchange, services: Services, state: RelayState, asking: Asking) {
    this.#x = x
    this.#services = services
    this.#clock = services.clock
    this.#state = state
    this.#asking = asking
  }

  /** Another upstream is asked. */
  restart(): void {
    this.isDone = false
    this.held = 0
  }

  /** A socket that is full is read many times in one turn of the loop, in which all other exchanges wait: now they have their turn. */
  letOthers(): void {
    if (this.isDone) return
    this.pause(YIELDING)
    this.#clock.soon(() => {
      if (!this.#state.isEnding) guard(this.#x, this.#services, () => this.resume(YIELDING))
    })
  }

  end(): void {
    this.isDone = true
  }

  /** An answer that is not judged, or whose end is known, stays in its state, and its upstream waits all the same. */
  pause(reason: number): void {
    if (this.held === 0) this.#asking.current.pause()
    if (reason === SLOW_CLIENT) this.slowSinceMs = this.#clock.monotonic()
    this.held |= reason
    if (this.#state.now === 'relaying') this.#state.go('wait')
  }

  resume(reason: number): void {
    this.held &= ~reason
    if (reason === SLOW_CLIENT) this.slowSinceMs = 0
    if (this.held !== 0) return
    if (this.#state.now === 'waiting') this.#state.go('resume')
    this.#asking.current.touch() // the silence was ours
    this.#asking.current.resume()
  }
}
