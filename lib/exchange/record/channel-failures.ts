/**
 * Keeps the last failures of each channel in memory, and how many there were of each class, so that an operator who looks at a channel
 * reads why it fails without searching the log. A dead channel fails with every request: ten failures of a channel in a second
 * are told in full, the others only counted.
 */
import type { Clock } from '../../base/clock.ts'
import { latest } from '../../base/lru.ts'
import type { AttemptOutcome } from '../../channels/health.ts'
import { SlidingCount } from '../../base/sliding-count.ts'
import type { ChannelFailure, ChannelSeen, FailureClass } from '../../terms/channel-seen.ts'
import { type Attempt, CredentialError } from '../../upstream/attempt.ts'

const MOST_CHANNELS = 10_000
const MOST_FAILURES = 10
const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

interface OfChannel {
  /** The newest first. */
  failures: ChannelFailure[]
  lately: Map<FailureClass, SlidingCount>
}

/** How an attempt failed. `cut`: its answer broke off after a good beginning. */
type FailedAs = AttemptOutcome | 'cut'

/** What the log says of a failed attempt. */
export type FailureWords = Pick<ChannelFailure, 'error' | 'reason' | 'upstreamId'>

export class ChannelFailures {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  readonly #channels = latest<string, OfChannel>(MOST_CHANNELS)

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
  }

  /** `words`: made only when they are kept. */
  note(requestId: string | null, attempt: Attempt, outcome: FailedAs, words: () => FailureWords): void {
    const { claim, status, startedMs } = attempt
    const { channel, upstreamModel: model } = claim.candidate
    const [nowMs, atMs] = [this.#clock.monotonic(), this.#clock.now()]
    let there = this.#channels.get(channel.name)
    if (there === undefined) this.#channels.set(channel.name, (there = { failures: [], lately: new Map() }))
    const name = classOf(attempt, outcome)
    let count = there.lately.get(name)
    if (count === undefined) there.lately.set(name, (count = new SlidingCount(HOUR_MS)))
    count.add(nowMs)
    const { failures } = there
    const oldest = failures[MOST_FAILURES - 1]
    if (oldest !== undefined && Math.abs(atMs - oldest.atMs) < SECOND_MS) return
    const tookMs = Math.round(nowMs - startedMs)
    failures.unshift({ atMs, requestId, class: name, status, ...words(), key: claim.key.index + 1, model, tookMs })
    failures.length = Math.min(failures.length, MOST_FAILURES)
  }

  of(channel: string): Pick<ChannelSeen, 'failures' | 'lately'> {
    const there = this.#channels.get(channel)
    if (there === undefined) return { failures: [], lately: {} }
    const nowMs = this.#clock.monotonic()
    const counts = [...there.lately].map(([name, count]) => [name, count.sum(nowMs)] as const)
    return { failures: [...there.failures], lately: Object.fromEntries(counts.filter(([, sum]) => sum > 0)) }
  }
}

/** Codes of Node, OpenSSL and our own connections. A code that is in no row is `tls` when it looks like one of OpenSSL's. */
const CODES: Readonly<Record<string, FailureClass>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  EAI_NODATA: 'dns',
  EAI_NONAME: 'dns',
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  EHOSTDOWN: 'connect',
  ENETUNREACH: 'connect',
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  ETIMEDOUT: 'connect',
  CONNECT_TIMEOUT: 'connect',
  SOCKS: 'connect',
  OTHER_SIDE_CLOSED: 'cut',
  ECONNRESET: 'cut',
  EPIPE: 'cut',
  UND_ERR_SOCKET: 'cut',
  timeout: 'slow',
  UND_ERR_HEADERS_TIMEOUT: 'slow',
  UND_ERR_BODY_TIMEOUT: 'slow',
}
const TLS = /^(?:ERR_TLS|ERR_SSL|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_|INVALID_|EPROTO)/

export function classOf({ status, error }: Pick<Attempt, 'status' | 'error'>, outcome: FailedAs): FailureClass {
  if (outcome === 'auth' || error instanceof CredentialError) return 'auth'
  if (outcome === 'busy') return 'busy'
  if (error !== null) return classOfCode(codesOf(error))
  if (status === 408) return 'slow'
  if (status >= 500) return '5xx'
  return outcome === 'cut' ? 'cut' : 'other'
}

function classOfCode(codes: readonly string[]): FailureClass {
  for (const code of codes) {
    const known = CODES[code] ?? (TLS.test(code) ? 'tls' : undefined)
    if (known !== undefined) return known
  }
  return 'other'
}

/** The codes of an error and of what caused it; where several addresses were tried, of the first. */
function codesOf(error: Error): string[] {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : []
  const { code, cause } = error as NodeJS.ErrnoException
  return [
    ...(code === undefined ? [] : [code]),
    ...(first === undefined ? [] : codesOf(first)),
    ...(cause instanceof Error ? codesOf(cause) : []),
  ]
}
