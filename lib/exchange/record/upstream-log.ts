/**
 * Writes the log lines about upstreams, for operators who look for a cause: an attempt failed, another candidate is asked, a
 * channel begins or ceases to rest. A dead channel fails with every request, so each channel has a limited number of lines in a
 * while; its next line says how many were left out.
 *
 * Upstreams quote what they refuse. Nothing that they say is written before our secrets are taken out of it.
 */
import type { Clock } from '../../base/clock.ts'
import { latest } from '../../base/lru.ts'
import { formatMicro, type Micro } from '../../base/money.ts'
import type { Claim, BreakerChange, AttemptOutcome } from '../../channels/health.ts'
import type { RestNote } from '../../channels/rests.ts'
import type { FailureClass } from '../../terms/channel-seen.ts'
import type { CompiledChannel } from '../../world/compiled-channel.ts'
import type { Logger } from '../../base/log.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import { ChannelFailures, classOf, type FailureWords } from './channel-failures.ts'
import { quotesSecret, secretsOf, withoutSecrets } from './redact.ts'

const LINES = 20
const WHILE_MS = 10_000
const HOUR_MS = 3_600_000
const MOST_CHANNELS = 10_000
const MOST_TEXT = 300
/** The most that is shown of what an upstream says about its failure. */
const MOST_BODY = 500
/** A body is kept for so many bytes beyond what is shown, so that a secret which begins in the part that is shown is whole and found. */
const LONGEST_SECRET = 4096
const EXCERPT_BYTES = MOST_BODY + LONGEST_SECRET
/** Headers in which providers return their own id of a request. */
const ID_HEADERS = ['x-request-id', 'request-id', 'x-amzn-requestid', 'x-ms-request-id', 'cf-ray']

interface Lines {
  sinceMs: number
  written: number
  left: number
}

export class UpstreamLog {
  readonly #log: Logger
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  /** The same failures, as they are told to operators who look at a channel. */
  readonly failures: ChannelFailures
  readonly #lines = latest<string, Lines>(MOST_CHANNELS)
  /** Until when a line that is written once an hour is not written again. */
  readonly #hours = latest<string, number>(MOST_CHANNELS)
  readonly #disputes = latest<string, { untilMs: number; requests: number; amount: number }>(MOST_CHANNELS)

  constructor(log: Logger, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#log = log
    this.#clock = clock
    this.failures = new ChannelFailures(clock)
  }

  /** The bytes that are wanted of the body of a failure; 0 = none. */
  get excerptBytes(): number {
    return this.#log.isLevelEnabled('debug') ? EXCERPT_BYTES : 0
  }

  /** `nth`: the attempt was the nth of its request. */
  failed(id: string, nth: number, attempt: Attempt, outcome: AttemptOutcome): void {
    this.failures.note(id, attempt, outcome, () => failureWords(attempt))
    this.#attempt(id, attempt, { attempt: nth, outcome }, 'attempt failed')
  }

  /** How a request of our own went, in words. What failed counts as a failure of the channel. */
  tried(attempt: Attempt, outcome: AttemptOutcome): FailureWords & { class: FailureClass | 'refused' } {
    const words = failureWords(attempt)
    const said = { ...words, reason: words.reason ?? bodyWords(attempt) }
    if (outcome === 'ok') return { ...said, class: 'refused' }
    this.failures.note(null, attempt, outcome, () => said)
    return { ...said, class: classOf(attempt, outcome) }
  }

  brokeOff(id: string, attempt: Attempt): void {
    this.failures.note(id, attempt, 'cut', () => failureWords(attempt))
    this.#attempt(id, attempt, {}, 'answer broke off')
  }

  /** The gateway had no room for the rest of an answer. */
  noMemory(id: string, attempt: Attempt): void {
    this.#attempt(id, attempt, {}, 'no memory for an answer')
  }

  #attempt(id: string, attempt: Attempt, more: object, message: string): void {
    const { channel } = attempt.claim.candidate
    this.#write(channel.name, unsaid => {
      const ms = Math.round(this.#clock.monotonic() - attempt.startedMs)
      const line = { id, channel: channel.name, ...more, ...whyOf(attempt), ms, ...unsaid }
      this.#log.warn(line, message)
    })
  }

  goesOn(id: string, from: string, to: string): void {
    this.#write(from, unsaid => this.#log.info({ id, channel: from, next: to, ...unsaid }, 'another channel is asked'))
  }

  /** The body with which an upstream answered, when its status is an error. */
  body(id: string, attempt: Attempt): void {
    const { claim, status } = attempt
    const { channel } = claim.candidate
    const body = bodyWords(attempt)
    if (body === null) return
    this.#write(channel.name, unsaid =>
      this.#log.debug({ id, channel: channel.name, status, body, ...unsaid }, 'what the upstream said'),
    )
  }

  breaker({ channel, key, was, state, restMs }: BreakerChange): void {
    const which = key === null ? { channel } : { channel, key: key + 1 }
    const rests = state === 'open'
    this.#write(`${channel} rests`, unsaid =>
      this.#log.warn(
        { ...which, was, state, ...(rests ? { rest_ms: Math.round(restMs) } : {}), ...unsaid },
        rests ? 'channel rests' : 'channel is asked again',
      ),
    )
  }

  /** A model of a channel rests. When only one account waits, the line of its attempt has said so. */
  rests({ at, scope, ms, why }: RestNote): void {
    if (scope === 'account') return
    const { channel, model, key } = at
    const which = key === '' ? { channel, model } : { channel, model, upstream_key: key }
    this.#write(`${channel} rests`, unsaid =>
      this.#log.warn({ ...which, scope, why, rest_ms: Math.round(ms), ...unsaid }, 'a model of the channel rests'),
    )
  }

  /**
   * The channel reported more than a request can have caused, so that money is disputed which it may ask us for. It is told once
   * an hour and channel, with what came since.
   */
  disputed(id: string, channel: string, model: string, amount: Micro): void {
    const now = this.#clock.monotonic()
    const told = this.#disputes.get(channel) ?? { untilMs: 0, requests: 0, amount: 0 }
    this.#disputes.set(channel, told)
    told.requests++
    told.amount += amount
    if (now < told.untilMs) return
    const { requests } = told
    const disputed = formatMicro(BigInt(told.amount))
    this.#log.warn({ id, channel, model, requests, disputed }, 'the upstream reports more than was asked for')
    Object.assign(told, { untilMs: now + HOUR_MS, requests: 0, amount: 0 })
  }

  /** The reports of a channel concern everybody, and it is asked all the same, because no other one can serve the model. */
  onlyOne(channel: string, model: string): void {
    this.#hourly(`${channel} ${model} only`, () =>
      this.#log.warn({ channel, model }, 'the upstream is asked all the same: no other serves the model'),
    )
  }

  /** A channel reports more input than the others of the model do, as `InputSkew` finds it. */
  skewed({ channel, model, ratio, others }: Skew): void {
    const shown = { ratio: Number(ratio.toFixed(2)), others: Number(others.toFixed(2)) }
    this.#hourly(`${channel} ${model} skew`, () =>
      this.#log.warn({ channel, model, ...shown }, 'the upstream reports more input than others of the model'),
    )
  }

  /** An answer says why it ended in a word that nobody knows. */
  strangeFinish(id: string, channel: CompiledChannel, word: string): void {
    const { name } = channel
    const finish = quotesSecret(word, channel) ? '***' : word
    this.#hourly(`${name} finish`, () =>
      this.#log.warn({ id, channel: name, finish }, 'an answer ended with an unknown word'),
    )
  }

  #hourly(about: string, line: () => void): void {
    const now = this.#clock.monotonic()
    if (now < (this.#hours.get(about) ?? 0)) return
    this.#hours.set(about, now + HOUR_MS)
    line()
  }

  #write(about: string, line: (unsaid: { unsaid?: number }) => void): void {
    const now = this.#clock.monotonic()
    let lines = this.#lines.get(about)
    if (lines === undefined) this.#lines.set(about, (lines = { sinceMs: now, written: 0, left: 0 }))
    if (now - lines.sinceMs >= WHILE_MS) {
      lines.sinceMs = now
      lines.written = 0
    }
    if (lines.written >= LINES) {
      lines.left++
      return
    }
    lines.written++
    const unsaid = lines.left === 0 ? {} : { unsaid: lines.left }
    lines.left = 0
    line(unsaid)
  }
}

/** What is known of why an attempt failed, without any secret of ours. */
function failureWords({ headers, error, cause, claim }: Attempt): FailureWords {
  const named = ID_HEADERS.map(name => headers[name]).find(value => typeof value === 'string')
  return {
    error: error === null ? null : codeOf(error),
    reason: error === null ? cause : shown(reasonOf(error), claim),
    upstreamId: typeof named === 'string' ? shown(named, claim) : null,
  }
}

/** The beginning of what an upstream said, as far as the attempt kept it, without any secret of ours; null = nothing that can be shown. */
function bodyWords({ claim, excerpt }: Attempt): string | null {
  const { channel } = claim.candidate
  if (excerpt === null || excerpt.length === 0 || secretsOf(channel).some(one => one.length > LONGEST_SECRET))
    return null
  return withoutSecrets(excerpt.toString(), claim).slice(0, MOST_BODY)
}

function whyOf(attempt: Attempt): object {
  const { status } = attempt
  const { error, reason, upstreamId } = failureWords(attempt)
  return {
    ...(status === 0 ? {} : { status }),
    ...(error === null ? {} : { error }),
    ...(reason === null ? {} : { reason }),
    ...(upstreamId === null ? {} : { upstream_id: upstreamId }),
  }
}

const codeOf = (error: Error): string => (error as NodeJS.ErrnoException).code ?? error.name

/** Where several addresses were tried, the reason of the first; where an error has a cause, that too. */
function reasonOf(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : []
  if (first !== undefined) return first.message
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

const shown = (text: string, claim: Claim): string => withoutSecrets(text, claim).slice(0, MOST_TEXT)

// --- channels that report more input than others

/** The number of answers of which the median counts. */
const ANSWERS = 100
const SKEW = 1.5
const MOST_MODELS = 10_000
const MOST_OF_MODEL = 1000

class Ratios {
  readonly #last = new Float64Array(ANSWERS)
  #count = 0
  /** The median of the last hundred; null = there were fewer. */
  median: number | null = null

  /** Returns true when another hundred is full. */
  add(ratio: number): boolean {
    this.#last[this.#count++ % ANSWERS] = ratio
    if (this.#count % ANSWERS !== 0) return false
    this.median = medianOf(this.#last)
    return true
  }
}

export interface Skew {
  channel: string
  model: string
  /** Reported ÷ estimated input, as the median of the channel and of the others. */
  ratio: number
  others: number
}

/**
 * Finds channels that report more input than the other channels of the same model do for the same kind of requests:
 * too little to dispute, and enough to cost. What an upstream reports is compared with what the gateway estimates,
 * because requests differ; the factor between the two belongs to the model and not to the channel.
 */
export class InputSkew {
  readonly #models = latest<string, ReturnType<typeof latest<string, Ratios>>>(MOST_MODELS)
  readonly #onSkew: (skew: Skew) => void

  constructor(onSkew: (skew: Skew) => void) {
    this.#onSkew = onSkew
  }

  note(channel: string, model: string, reported: number, estimated: number): void {
    if (estimated <= 0) return
    let channels = this.#models.get(model)
    if (channels === undefined) this.#models.set(model, (channels = latest<string, Ratios>(MOST_OF_MODEL)))
    let ratios = channels.get(channel)
    if (ratios === undefined) channels.set(channel, (ratios = new Ratios()))
    if (!ratios.add(reported / estimated)) return
    const others = [...channels.entries()].flatMap(([name, { median }]) => (name === channel ? [] : (median ?? [])))
    const ratio = ratios.median as number
    const usual = medianOf(others)
    if (others.length > 0 && ratio >= SKEW * usual) this.#onSkew({ channel, model, ratio, others: usual })
  }
}

function medianOf(numbers: ArrayLike<number>): number {
  const sorted = Float64Array.from(numbers).sort()
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2
}
