/**
 * The headers by which an answer says how much of its rate the account has left: those of the IETF's draft 11 of RateLimit on every
 * answer, and beside them what the clients of a protocol know. The limits of upstreams are those of an account that all customers
 * share, and never pass.
 */
import type { Rate } from '../../terms/records.ts'
import type { World } from '../../world/world.ts'
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

/** The names of the headers of clients, made once for each family: of the limit, of what is left, and of when there is more. */
type Names = readonly [limit: string, remaining: string, reset: string]
const namesOf = (prefix: string, suffix = ''): Names => [
  `${prefix}limit${suffix}`,
  `${prefix}remaining${suffix}`,
  `${prefix}reset${suffix}`,
]
const NAMES = namesOf('x-ratelimit-', '-requests')
const ofFamilies = new WeakMap<World, Names>()

/** The values that stay the same for as long as the rate does. */
const fixedValues = new WeakMap<Rate, readonly [policy: string, limit: string]>()

/** `[name, value, …]`. `nowMs`: since 1970. */
export function rateHeaders(x: Exchange, rate: Rate, { left, moreInS }: Standing, nowMs: number): string[] {
  let fixed = fixedValues.get(rate)
  if (fixed === undefined) {
    const { requests, minutes } = rate
    fixed = [`"requests";q=${requests};w=${minutes * SECONDS_PER_MINUTE}`, String(requests)]
    fixedValues.set(rate, fixed)
  }
  const [policy, limit] = fixed
  const now = `"requests";r=${left};t=${moreInS}`
  if (x.protocol === WITHOUT) return ['ratelimit-policy', policy, 'ratelimit', now]
  const names = x.protocol === MESSAGES ? familyNames(x.world) : NAMES
  const reset =
    x.protocol === MESSAGES ? new Date(nowMs + moreInS * 1000).toISOString().replace(/\.\d+Z$/, 'Z') : duration(moreInS)
  return ['ratelimit-policy', policy, 'ratelimit', now, names[0], limit, names[1], String(left), names[2], reset]
}

/** The headers of the messages family as its clients know them: named as the first other name of its version's header. */
function familyNames(world: World): Names {
  let names = ofFamilies.get(world)
  if (names === undefined) {
    const family = (world.config.wire['alpha-version']?.[0] ?? 'alpha-version').replace(/-version$/, '')
    ofFamilies.set(world, (names = namesOf(`${family}-ratelimit-requests-`)))
  }
  return names
}

/** The time is written as in `12s` and `6m0s`. */
const duration = (seconds: number): string =>
  seconds < SECONDS_PER_MINUTE
    ? `${seconds}s`
    : `${Math.floor(seconds / SECONDS_PER_MINUTE)}m${seconds % SECONDS_PER_MINUTE}s`
