/**
 * Slows down whoever guesses, without ever locking anybody out. Tries are counted before they are checked, so that many
 * at once count as many, and a try that succeeds is taken back. Counters fall with time.
 *
 * A sign-in counts per IP (a network of 64 bits for IPv6), per e-mail and IP, and per e-mail. The waits grow with the
 * first two. Many failures for one e-mail do not close it, for that would be a weapon: they only make an IP that is new
 * to this e-mail wait before its first try, and every IP between two. A browser that has signed in before has a counter of its own instead.
 */
import { MINUTE_MS, SECOND_MS } from '../../base/clock.ts'
import { createHash } from 'node:crypto'
import type { Store } from '../../store/store.ts'
import type { Counter } from '../../store/people/records.ts'
import type { Actor, User } from '../../base/people.ts'
import { throttled } from '../error.ts'
import { networkOf } from '../../base/network.ts'

interface Rule {
  /** Failures before the first wait. */
  free: number
  firstWaitMs: number
  mostWaitMs: number
  /** After so much time one failure is forgotten. */
  forgetMs: number
}

/** Many people share the address of a mobile network, so an IP may fail often. */
const IP: Rule = { free: 100, firstWaitMs: SECOND_MS, mostWaitMs: MINUTE_MS, forgetMs: 3 * SECOND_MS }
const EMAIL_AND_IP: Rule = {
  free: 5,
  firstWaitMs: 2 * SECOND_MS,
  mostWaitMs: 15 * MINUTE_MS,
  forgetMs: 10 * MINUTE_MS,
}
const OWN: Rule = { free: 10, firstWaitMs: 2 * SECOND_MS, mostWaitMs: 15 * MINUTE_MS, forgetMs: 10 * MINUTE_MS }
const CODE: Rule = { free: 5, firstWaitMs: 5 * SECOND_MS, mostWaitMs: 15 * MINUTE_MS, forgetMs: 15 * MINUTE_MS }
/** Letters that anybody may have sent to an address: few, because they reach somebody who did not ask. */
const MAIL: Rule = { free: 3, firstWaitMs: MINUTE_MS, mostWaitMs: 60 * MINUTE_MS, forgetMs: 20 * MINUTE_MS }
/** Letters that somebody has sent to whatever address: more than an owner invites at once, and few in a day. */
const SENDER: Rule = { free: 100, firstWaitMs: MINUTE_MS, mostWaitMs: 60 * MINUTE_MS, forgetMs: 10 * MINUTE_MS }
const EMAIL: Rule = { free: 30, firstWaitMs: 0, mostWaitMs: 0, forgetMs: 10 * SECOND_MS }

/** How long an IP waits, before its first try and between two, while an e-mail is attacked. */
const ATTACKED_WAIT_MS = 20 * SECOND_MS
/** More failures than this above what is free change nothing, so that a counter falls again in bounded time. */
const MOST_ABOVE = 20

const hashed = (kind: string, text: string): string =>
  `${kind}:${createHash('sha256').update(text, 'utf8').digest('hex').slice(0, 40)}`

/** Clocks of gateways differ, and may be set back: a failure to come is of now, and nobody waits for longer than at most. */
function fallen({ failures, lastMs, untilMs }: Counter, rule: Rule, nowMs: number): Counter {
  const left = lastMs === 0 ? 0 : failures - Math.floor(Math.max(0, nowMs - lastMs) / rule.forgetMs)
  const mostMs = Math.max(rule.mostWaitMs, ATTACKED_WAIT_MS)
  return { failures: Math.max(0, left), lastMs, untilMs: Math.min(untilMs, nowMs + mostMs) }
}

/** `leastWaitMs`: also for the first failures. */
function raised(counter: Counter, rule: Rule, nowMs: number, leastWaitMs: number): Counter {
  const failures = Math.min(counter.failures + 1, rule.free + MOST_ABOVE)
  const grown = failures < rule.free ? 0 : rule.firstWaitMs * 2 ** (failures - rule.free)
  const waitMs = Math.max(leastWaitMs, Math.min(grown, rule.mostWaitMs))
  return { failures, lastMs: nowMs, untilMs: waitMs === 0 ? 0 : nowMs + waitMs }
}

interface Counted {
  id: string
  rule: Rule
}

/** A try that is counted. `succeeded` takes it back. */
export interface Try {
  succeeded(): Promise<void>
}

interface ThrottleDeps {
  store: Pick<Store, 'people'>
  clock: { now(): number }
}

/** Counts a try, or throws OperationError `throttled` with the time to wait. */
async function attempt(deps: ThrottleDeps, counted: readonly Counted[], attackedWaitMs = 0): Promise<Try> {
  const nowMs = deps.clock.now()
  const ids = counted.map(({ id }) => id)
  const waitMs = await deps.store.people.throttles.count(ids, rows => {
    const counters = rows.map((row, i) => fallen(row, counted[i]!.rule, nowMs))
    const until = Math.max(...counters.map(counter => counter.untilMs))
    // written, because a wait that was bounded begins now, and not with each try
    if (until > nowMs)
      return { result: until - nowMs, counters: rows.some(row => row.untilMs > until) ? counters : null }
    const attacked = counters.some((counter, i) => counted[i]!.rule === EMAIL && counter.failures >= EMAIL.free)
    const fresh = rows.findIndex((row, i) => counted[i]!.rule === EMAIL_AND_IP && row.lastMs === 0)
    if (attacked && fresh >= 0 && attackedWaitMs > 0) {
      const waiting = { failures: 0, lastMs: nowMs, untilMs: nowMs + attackedWaitMs }
      return { result: attackedWaitMs, counters: rows.map((row, i) => (i === fresh ? waiting : row)) }
    }
    const leastWaitMs = ({ rule }: Counted) => (attacked && rule === EMAIL_AND_IP ? attackedWaitMs : 0)
    const raise = (counter: Counter, i: number) => raised(counter, counted[i]!.rule, nowMs, leastWaitMs(counted[i]!))
    return { result: 0, counters: counters.map(raise) }
  })
  if (waitMs > 0) throw throttled(waitMs)
  return { succeeded: () => takeBack(deps, counted) }
}

/** The counters of an IP and an e-mail lose this try; those that are about this person alone begin anew. */
const takeBack = (deps: ThrottleDeps, counted: readonly Counted[]): Promise<void> =>
  deps.store.people.throttles.count(
    counted.map(({ id }) => id),
    rows => ({
      result: undefined,
      counters: rows.map((row, i) => {
        const shared = [IP, EMAIL].includes(counted[i]!.rule)
        return { failures: shared ? Math.max(0, row.failures - 1) : 0, lastMs: row.lastMs, untilMs: 0 }
      }),
    }),
  )

/** `device`: the hash of a device token that belongs to the user of this e-mail; null = there is none. */
export function trySignIn(deps: ThrottleDeps, email: string, ip: string, device: string | null): Promise<Try> {
  if (device !== null) return attempt(deps, [{ id: hashed('device', device), rule: OWN }])
  const network = networkOf(ip)
  return attempt(
    deps,
    [
      { id: hashed('ip', network), rule: IP },
      { id: hashed('pair', `${email}\0${network}`), rule: EMAIL_AND_IP },
      { id: hashed('email', email), rule: EMAIL },
    ],
    ATTACKED_WAIT_MS,
  )
}

/** Codes and passwords of somebody who is half or wholly signed in. `device` as above. */
export const tryCode = (deps: ThrottleDeps, userId: number, device: string | null): Promise<Try> =>
  attempt(deps, [{ id: hashed('code', device ?? String(userId)), rule: CODE }])

export const tryStepUp = (deps: ThrottleDeps, sessionId: number): Promise<Try> =>
  attempt(deps, [{ id: hashed('step-up', String(sessionId)), rule: CODE }])

/** A call of somebody unknown that costs something other than a try of a password. */
export const tryUnknown = (deps: ThrottleDeps, ip: string): Promise<Try> =>
  attempt(deps, [{ id: hashed('ip', networkOf(ip)), rule: IP }])

interface Sender {
  user: Pick<User, 'id' | 'operator'> | null
  ip: string
  actor: Pick<Actor, 'kind'>
}

/** What a letter that anybody may have sent is about. */
type Mailed = 'registration' | 'reset' | 'email' | 'invitation'

/**
 * A letter to an address that the caller named. It is never taken back. Each kind counts by itself, because some calls
 * count where no letter leaves: whoever asks for resets of somebody who is no user must not keep out invitations. Nobody
 * sends letters to the whole world through this gateway either, but operators: they count for the user, else for the
 * network, of `by`.
 */
export function tryMail(deps: ThrottleDeps, kind: Mailed, email: string, by: Sender): Promise<Try> {
  const letter = { id: hashed(`mail ${kind}`, email), rule: MAIL }
  const { user, ip, actor } = by
  if (actor.kind !== 'user' || user?.operator) return attempt(deps, [letter])
  const sender = user === null ? `ip ${networkOf(ip)}` : `user ${user.id}`
  return attempt(deps, [letter, { id: hashed('sender', sender), rule: SENDER }])
}
