/** Why none of the channels that are enabled for a request could be asked, and when one of them may be asked again. */
import { isFull, type KeyHealth } from './channel-health.ts'
import type { Health } from './health.ts'
import type { Candidate } from './route.ts'

/**
 * `disabled`: none is enabled. `saturated`: every enabled one is full, or rests because its upstream said that it is too
 * busy. `unfit`: none that is enabled fits the request. `resting`: all others.
 */
export type WhyNone = 'disabled' | 'unfit' | 'resting' | 'saturated'

/** `unfit`: those of the enabled candidates that have proved not to fit the request; null = none has. */
export function whyNone(health: Health, enabled: readonly Candidate[], unfit: readonly Candidate[] | null): WhyNone {
  const now = health.clock.monotonic()
  if (enabled.length === 0) return 'disabled'
  if (unfit !== null && enabled.every(candidate => unfit.includes(candidate))) return 'unfit'
  return enabled.every(({ channel }) => isSaturated(health, channel, now)) ? 'saturated' : 'resting'
}

function isSaturated(health: Health, channel: Candidate['channel'], nowMs: number): boolean {
  const ofChannel = health.of(channel)
  if (ofChannel.restsForBusy(nowMs)) return true
  if (!ofChannel.breaker.mayAsk(nowMs)) return false
  return isFull(channel, ofChannel) || channel.keys.some(key => isFull(key, ofChannel.keys[key.index] as KeyHealth))
}

/** Whole seconds until the first enabled channel may be asked again, at least 1; 0 = none is enabled. */
export function retryAfterS(health: Health, enabled: readonly Candidate[]): number {
  const now = health.clock.monotonic()
  const waits = enabled.map(({ channel }) => health.of(channel).restMs(now))
  return waits.length === 0 ? 0 : Math.max(1, Math.ceil(Math.min(...waits) / 1000))
}
