/** What serving processes know of a channel, for operators: why it rests, what failed there lately, and what a request of our own finds. */
import type { MoneyLeft } from '../protocols/words/kinds.ts'
import type { Protocol } from '../protocols/names.ts'
import type { BreakerState } from './records.ts'

/**
 * Why a request got no answer. `dns`: its name has no address; `connect`: nothing takes the connection; `tls`: the certificate or
 * the handshake; `auth`: the key is refused; `busy`: 429 or 529; `5xx`: any other status of a fault; `slow`: no answer in time; `cut`:
 * the connection broke in the middle; `other`: what is none of these.
 */
export const FAILURE_CLASSES = ['dns', 'connect', 'tls', 'auth', 'busy', '5xx', 'slow', 'cut', 'other'] as const
export type FailureClass = (typeof FAILURE_CLASSES)[number]

/** One failed attempt. Nothing of it has a secret of ours. */
export interface ChannelFailure {
  atMs: number
  /** null: it was no client's request. */
  requestId: string | null
  class: FailureClass
  /** HTTP status; 0 = no answer came. */
  status: number
  /** The code of the system or of the connection; null = an answer came. */
  error: string | null
  /** In words; null = the status says all. */
  reason: string | null
  /** The upstream's own id of the request; null = it named none. */
  upstreamId: string | null
  /** Position of the key among the channel's keys, from 1. */
  key: number
  /** The upstream's name of the model. */
  model: string
  /** How long the attempt took. */
  tookMs: number
}

/** Why a breaker is open: after failures, because the upstream refuses the key, or because an operator said so. */
export type RestCause = 'failed' | 'auth' | 'hand'

export interface RestSeen {
  state: BreakerState
  /** null = it is closed. */
  why: RestCause | null
  /** ms until requests may pass again; 0 = they may. */
  restMs: number
  /** Attempts under way. */
  open: number
}

/** A channel in one process, or in several together: then the worst of the states, the sums, and the latest failures of all. */
export interface ChannelSeen extends RestSeen {
  keys: RestSeen[]
  /** The newest first; ten at most. */
  failures: ChannelFailure[]
  /** Failures of the last hour by class; a class without any is left out. */
  lately: Partial<Record<FailureClass, number>>
}

/** `rest`: no requests for so long; `wake`: the breakers close and rests end, as if nothing had failed; `look` changes nothing. */
export type ChannelOrder = { channel: string } & ({ what: 'look' | 'wake' } | { what: 'rest'; forMs: number })

/** A request of our own to one channel, past its breaker. */
export interface ChannelTrial {
  channel: string
  /** The model as clients name it. */
  model: string
  protocol: Protocol
  /** Position of the key, from 1. */
  key: number
}

/** `failure` null = the upstream answered with 2xx. */
export interface TrialSeen {
  status: number
  /** null = no byte came. */
  firstByteMs: number | null
  tookMs: number
  upstreamId: string | null
  failure: (Pick<ChannelFailure, 'error' | 'reason'> & { class: FailureClass | 'refused' }) | null
}

/** How much money is left at an upstream by what it tells a key; or why that is not known. */
export type BalanceSeen = MoneyLeft | { reason: string }

/** The balance of one channel as metrics have it; `amount` null = it is not known. */
export interface BalanceState {
  state: 'ok' | 'low' | 'unknown'
  /** Millionths. */
  amount: number | null
  currency: string
  /** Whether an alarm is wanted. */
  isWatched: boolean
}

/** The channels as the serving processes of one gateway have them. */
export interface LiveChannels {
  /** null = they have no channel of that name. */
  order(order: ChannelOrder): Promise<ChannelSeen | null>
  /** null = they have no such channel, or it has not this key, model or protocol, or the protocol has no cheap request. */
  try(trial: ChannelTrial): Promise<TrialSeen | null>
  /** Asks the upstream how much money is left. null = they have no such channel, or it has not this key. */
  balance(asked: Pick<ChannelTrial, 'channel' | 'key'>): Promise<BalanceSeen | null>
}

const MOST_FAILURES = 10
const BADNESS: Record<BreakerState, number> = { closed: 0, half_open: 1, open: 2 }

const worse = (a: RestSeen, b: RestSeen): RestSeen => {
  const worst = BADNESS[b.state] > BADNESS[a.state] || (a.state === b.state && b.restMs > a.restMs) ? b : a
  return { ...worst, open: a.open + b.open }
}

/** What several processes know together. */
export function seenTogether(a: ChannelSeen, b: ChannelSeen): ChannelSeen {
  const lately = { ...a.lately }
  for (const [name, count] of Object.entries(b.lately) as [FailureClass, number][])
    lately[name] = (lately[name] ?? 0) + count
  return {
    ...worse(a, b),
    keys: a.keys.map((key, i) => (b.keys[i] === undefined ? key : worse(key, b.keys[i]))),
    failures: [...a.failures, ...b.failures].sort((x, y) => y.atMs - x.atMs).slice(0, MOST_FAILURES),
    lately,
  }
}
