/**
 * Sends an attempt to its upstream: when what it needs is ready, and signed where its channel has no plain key. What cannot be sent
 * is an attempt that failed, of which `Attempts` may hear before the call returns.
 */
import type { Attempt } from '../../upstream/attempt.ts'
import type { Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import { whenReady } from './readying.ts'
import { sign } from './signing.ts'
import { upstreamRequest } from './upstream-request.ts'

export function send(x: Exchange, services: Services, attempt: Attempt): void {
  whenReady(x, services, attempt, () => dispatch(x, services, attempt))
}

function dispatch(x: Exchange, services: Services, attempt: Attempt): void {
  const { claim } = attempt
  try {
    const request = upstreamRequest(x, services, claim)
    if (claim.key.credential === null) services.pools.send(attempt, request, x.free)
    else sign(x, services, attempt, request, signed => services.pools.send(attempt, signed, x.free))
  } catch (error) {
    attempt.onResponseError(null, error as Error)
  }
}
