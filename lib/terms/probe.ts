/**
 * The probe: what `gateway doctor --public` asks of a gateway through its public addresses, to see what the way there does to
 * streams, bodies, headers and addresses. Only who knows the `secret` of the gateway is answered, and only for ten minutes; for
 * everybody else the path does not exist.
 */
import { cookieLine } from '../base/cookies.ts'
import { createHmac, timingSafeEqual } from 'node:crypto'

export const PROBE_PATH = '/gateway-probe/'
export const PROBE_HEADER = 'x-gateway-probe'
/** How long a token is good for. */
export const PROBE_MS = 10 * 60_000

/** Request headers that clients need to have arrive, and headers of answers that clients need to get. */
export const PROBE_SENT = [
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'anthropic-version',
  'anthropic-beta',
  'idempotency-key',
]
export const PROBE_ANSWERED = [
  'x-request-id',
  'request-id',
  'retry-after',
  'x-should-retry',
  'ratelimit',
  'x-gateway-via',
]
/** A cookie as that of a session is, which ends at once. `main`: the address of the console. */
export const probeCookie = (main: string): string => cookieLine(main, 'probe', 'x', 0)

/** A name of a model with a slash, as it stands in a path. */
export const PROBE_NAME = 'models/a%2Fb:probe'

/** What the gateway saw of a request, as JSON. */
export interface ProbeSeen {
  /** Length of the body. */
  bytes: number
  /** The target of the request as it came. */
  target: string
  headers: string[]
  /** Who opened the connection. */
  remote: string
  /** Who the gateway takes for the client. */
  address: string
  forwarded: string | null
  trusts: boolean
}

const signed = (secret: string, untilMs: number): string =>
  createHmac('sha256', secret).update(`probe\n${untilMs}`).digest('base64url')

export const probeToken = (secret: string, nowMs: number): string => {
  const untilMs = nowMs + PROBE_MS
  return `${untilMs}.${signed(secret, untilMs)}`
}

export function isProbeToken(token: string, secret: string, nowMs: number): boolean {
  const [until = '', signature = ''] = token.split('.', 2)
  const untilMs = /^\d{1,15}$/.test(until) ? Number(until) : 0
  if (secret === '' || untilMs < nowMs || untilMs > nowMs + 2 * PROBE_MS) return false
  const [sent, right] = [Buffer.from(signature), Buffer.from(signed(secret, untilMs))]
  return sent.length === right.length && timingSafeEqual(sent, right)
}
