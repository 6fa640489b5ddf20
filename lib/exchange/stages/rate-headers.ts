/**
 * The headers by which an answer says how much of its rate the account has left: those of the IETF's draft 11 of RateLimit on every
 * answer, and beside them what the clients of a protocol know. The limits of upstreams are those of an account that all customers
 * share, and never pass.
 */
import type { Rate } from '../../terms/records.ts'
import type { Exchange } from '../record/exchange.ts'

/** Clients of messages read headers of their own family; those of generate read none. */
const MESSAGES = 'messages'
const WITHOUT = 'generate'
const SECONDS_PER_MINUTE = 60

interface Standing {
  /** Requests that the window still admits. */
  left: number
  /** Whole seconds until it admits one more. */
  moreInS: number
}

/** `[name, value, …]`. `nowMs`: since 1970. */
export function rateHeaders(
  x: Exchange,
  { requests, minutes }: Rate,
  { left, moreInS }: Standing,
  nowMs: number,
): string[] {
  const headers = [
    'ratelimit-policy',
    `"requests";q=${requests};w=${minutes * SECONDS_PER_MINUTE}`,
    'ratelimit',
    `"requests";r=${left};t=${moreInS}`,
  ]
  if (x.protocol === WITHOUT) return headers
  const [prefix, suffix, reset] =
    x.protocol === MESSAGES
      ? [
          `${familyOf(x)}-ratelimit-requests-`,
          '',
          new Date(nowMs + moreInS * 1000).toISOString().replace(/\.\d+Z$/, 'Z'),
        ]
      : ['x-ratelimit-', '-requests', duration(moreInS)]
  headers.push(
    `${prefix}limit${suffix}`,
    String(requests),
    `${prefix}remaining${suffix}`,
    String(left),
    `${prefix}reset${suffix}`,
    reset,
  )
  return headers
}

/** The name of the messages family in headers, as clients know it: that of the first other name of its version's header. */
const familyOf = ({ world }: Exchange): string =>
  (world.config.wire['alpha-version']?.[0] ?? 'alpha-version').replace(/-version$/, '')

/** The time is written as in `12s` and `6m0s`. */
const duration = (seconds: number): string =>
  seconds < SECONDS_PER_MINUTE
    ? `${seconds}s`
    : `${Math.floor(seconds / SECONDS_PER_MINUTE)}m${seconds % SECONDS_PER_MINUTE}s`
