/** Names of tiers as requests and answers have them. A name that says nothing, or is too long to be one, is no name. */
import { NO_TIERS, type TierNames } from './usage.ts'

const LONGEST = 64
const SAYS_NOTHING = /^(auto|((service_tier|traffic_type)_)?unspecified)?$/i

export const tierName = (value: unknown): string | null =>
  typeof value === 'string' && value.length <= LONGEST && !SAYS_NOTHING.test(value) ? value : null

/** Values of an answer that may name its tier. */
export interface ToldTiers {
  service?: unknown
  speed?: unknown
  geo?: unknown
}

/** What was told last counts; what says nothing changes nothing. */
export function laterTiers(earlier: TierNames, told: ToldTiers): TierNames {
  const service = tierName(told.service) ?? earlier.service
  const speed = tierName(told.speed) ?? earlier.speed
  const geo = tierName(told.geo) ?? earlier.geo
  if (service === earlier.service && speed === earlier.speed && geo === earlier.geo) return earlier
  return { service, speed, geo }
}

export const tiersOf = (told: ToldTiers): TierNames => laterTiers(NO_TIERS, told)
