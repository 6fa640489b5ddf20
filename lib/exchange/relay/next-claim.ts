/** Who may be asked when an attempt has failed, or is silent: the next candidate, within attempts, deadline and retry budget. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Claim } from '../../channels/claim.ts'
import type { Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'

/** A place at the next channel; null = nobody may be asked. `beside`: the one before it is still asked. */
export function nextClaim(x: Exchange, { clock, retries }: Services, beside: boolean): Claim | null {
  const { attempts, deadlineMs } = x.world.config.retry
  const { id } = (x.entry as KeyEntry).account
  if (x.attempts >= attempts) return null
  if (deadlineMs > 0 && clock.monotonic() - x.dispatchedMs > deadlineMs) return null
  if (!retries.allows(id)) return null // before a candidate is taken, which counts as tried
  const claim = (beside ? x.candidates?.nextWell() : x.candidates?.next()) ?? null
  if (claim !== null) retries.retry(id)
  return claim
}
