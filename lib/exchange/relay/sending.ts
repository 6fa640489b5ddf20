/**
 * Sends an attempt to its upstream: when what it needs is ready, and signed where its channel has no plain key. What cannot be sent
 * is an attempt that failed, of which `Attempts` may hear before the call returns.
 */
import type { Dispatcher } from 'undici'
import { readerOf } from '../../upstream/answers.ts'
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
    if (claim.key.credential === null) ask(x, services, attempt, request)
    else sign(x, services, attempt, request, signed => ask(x, services, attempt, signed))
  } catch (error) {
    attempt.onResponseError(null, error as Error)
  }
}

function ask(x: Exchange, { pools }: Services, attempt: Attempt, request: Dispatcher.DispatchOptions): void {
  const { connection, answers } = attempt.claim.candidate.channel
  const handler = answers === null ? attempt : readerOf(answers, attempt, x.free)
  pools.of(connection).dispatch(request, handler)
}
