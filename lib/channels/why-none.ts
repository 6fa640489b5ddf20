/** Why none of the channels that are enabled for a request could be asked, and when one of them may be asked again. */
import { isFull, type KeyHealth } from './channel-health.ts'
import { type Health, placeOf } from './health.ts'
import type { Candidate } from '../world/table.ts'

/**
 * `disabled`: none is enabled. `saturated`: every enabled one is full, or rests for this account because its upstream said
 * that it is too busy. `unfit`: none that is enabled fits the request. `resting`: all others.
 */
export type WhyNone = 'disabled' | 'unfit' | 'resting' | 'saturated'

/** `unfit`: those of the enabled candidates that have proved not to fit the request; null = none has. */
export function whyNone(
  health: Health,
  enabled: readonly Candidate[],
  unfit: readonly Candidate[] | null,
  account: number,
): WhyNone {
  const now = health.clock.monotonic()
  if (enabled.length === 0) return 'disabled'
  if (unfit !== null && enabled.every(candidate => unfit.includes(candidate))) return 'unfit'
  return enabled.every(candidate => isSaturated(health, candidate, account, now)) ? 'saturated' : 'resting'
}

function isSaturated(health: Health, candidate: Candidate, account: number, nowMs: number): boolean {
  const { channel } = candidate
  const ofChannel = health.of(channel)
  const rests = restsOf(health, candidate, account, nowMs)
  const areAllHeldBack = ofChannel.keys.every((key, i) => rests[i] !== null || key.breaker?.mayAsk(nowMs) === false)
  if (areAllHeldBack && rests.some(rest => rest?.why === 'busy')) return true
  if (!ofChannel.breaker.mayAsk(nowMs)) return false
  return isFull(channel, ofChannel) || channel.keys.some(key => isFull(key, ofChannel.keys[key.index] as KeyHealth))
}

/** The rests that hold the account back, one for each key of the channel; null = it may be asked with that key. */
function restsOf(health: Health, { channel, upstreamModel: model }: Candidate, account: number, nowMs: number) {
  const ofChannel = health.of(channel)
  const own = health.rests.restOf({ channel: channel.name, key: '', model }, account, nowMs)
  return ofChannel.keys.map(key => {
    const { key: fingerprint } = placeOf(ofChannel, key, model)
    const ofKey = health.rests.restOf({ channel: channel.name, key: fingerprint, model }, account, nowMs)
    return ofKey !== null && (own === null || ofKey.ms > own.ms) ? ofKey : own
  })
}

/** SDKs that are told to wait for longer do not listen, or sleep for all of it. */
const LONGEST_TOLD_MS = 60_000

/** Whole seconds until the first enabled channel may be asked again, at least 1 and at most 60; 0 = none is enabled. */
export function retryAfterS(health: Health, enabled: readonly Candidate[], account: number): number {
  const now = health.clock.monotonic()
  const waits = enabled.map(candidate => {
    const { breaker, keys } = health.of(candidate.channel)
    const rests = restsOf(health, candidate, account, now)
    const ofKeys = keys.map((key, i) => Math.max(key.breaker?.restMs(now) ?? 0, rests[i]?.ms ?? 0))
    return Math.max(breaker.restMs(now), Math.min(...ofKeys))
  })
  return waits.length === 0 ? 0 : Math.max(1, Math.ceil(Math.min(LONGEST_TOLD_MS, ...waits) / 1000))
}
