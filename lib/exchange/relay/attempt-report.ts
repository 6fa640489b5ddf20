/** Reports how an attempt went, once for each attempt, to the breaker of its channel, to the metrics and to the log. */
import type { AttemptOutcome as Outcome } from '../../channels/health.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import { HOPS, saysLoop } from '../../terms/hops.ts'
import { namedRetryS } from '../../upstream/headers.ts'
import type { Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import { refusesKey, saysBusy } from './upstream-status.ts'

/** The first report of an attempt counts; later ones change nothing. */
export function report(x: Exchange, services: Services, attempt: Attempt, outcome: Outcome, restS?: number): void {
  if (!attempt.claim.report(outcome, restS)) return
  const { metrics, upstreamLog } = services
  metrics.attempt(attempt.claim.candidate.channel.name, outcome)
  const isWell = outcome === 'ok' || (outcome === 'ignored' && attempt.error === null)
  if (!isWell) upstreamLog.failed(x.id, x.attempts, attempt, outcome)
}

/** Reports an answer whose status is not 2xx, by that status alone. */
export function reportStatus(x: Exchange, services: Services, attempt: Attempt): void {
  const { status } = attempt
  if (refusesKey(status)) report(x, services, attempt, 'auth')
  else if (saysBusy(status)) report(x, services, attempt, 'busy', namedRetryS(attempt.headers, services.clock.now()))
  // names that the client sent may be all that the next gateway refuses
  else if (saysLoop(status) && x.req.headers[HOPS] !== undefined) report(x, services, attempt, 'ignored')
  else report(x, services, attempt, status >= 500 || status === 408 ? 'failed' : 'ok')
}
