/**
 * The headers by which an answer says how much of its rate the account has left: those of the IETF's draft 11 of RateLimit on every
 * answer, and beside them what the clients of a protocol know. The limits of upstreams are those of an account that all customers
 * share, and never pass.
 */
import { invariant } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { headerLine } from '../../base/http.ts'
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

/** The beginnings of the lines that clients know, made once for each family: of the limit, of what is left, and of when there is more. */
type Beginnings = readonly [limit: string, remaining: string, reset: string]

function beginningsOf(prefix: string, suffix = ''): Beginnings {
  const line = (name: string): string => {
    const beginning = headerLine(prefix + name + suffix, '')
    invariant(beginning !== null, 'the names of these headers are right')
    return beginning
  }
  return [line('limit'), line('remaining'), line('reset')]
}

const BEGINNINGS = beginningsOf('x-ratelimit-', '-requests')
const ofFamilies = new WeakMap<World, Beginnings>()

/** The lines up to what is left of the rate, which stay the same for as long as the rate does. */
const fixedLines = new WeakMap<Rate, string>()

/** Lines of a head, each behind its line end. */
export function rateLines(x: Exchange, rate: Rate, { left, moreInS }: Standing, clock: Clock): string {
  let fixed = fixedLines.get(rate)
  if (fixed === undefined) {
    const policy = `\r\nratelimit-policy: "requests";q=${rate.requests};w=${rate.minutes * SECONDS_PER_MINUTE}`
    fixedLines.set(rate, (fixed = `${policy}\r\nratelimit: "requests";r=`))
  }
  const common = `${fixed}${left};t=${moreInS}`
  if (x.protocol === WITHOUT) return common
  const [limit, remaining, reset] = x.protocol === MESSAGES ? ofFamily(x.world) : BEGINNINGS
  const more =
    x.protocol === MESSAGES
      ? new Date(clock.now() + moreInS * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
      : duration(moreInS)
  return `${common}${limit}${rate.requests}${remaining}${left}${reset}${more}`
}

/** The headers of the messages family as its clients know them: named as the first other name of its version's header. */
function ofFamily(world: World): Beginnings {
  let beginnings = ofFamilies.get(world)
  if (beginnings === undefined) {
    const family = (world.config.wire['alpha-version']?.[0] ?? 'alpha-version').replace(/-version$/, '')
    ofFamilies.set(world, (beginnings = beginningsOf(`${family}-ratelimit-requests-`)))
  }
  return beginnings
}

/** The time is written as in `12s` and `6m0s`. */
const duration = (seconds: number): string =>
  seconds < SECONDS_PER_MINUTE
    ? `${seconds}s`
    : `${Math.floor(seconds / SECONDS_PER_MINUTE)}m${seconds % SECONDS_PER_MINUTE}s`
