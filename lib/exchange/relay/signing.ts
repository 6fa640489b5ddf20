/** Signs the requests of attempts whose channels have no plain key, and notices when what they were signed with has ended. */
import type { Dispatcher } from 'undici'
import type { Attempt } from '../../upstream/attempt.ts'
import type { Exchange } from '../record/exchange.ts'
import { guard } from '../record/ending.ts'
import type { Services } from '../record/services.ts'
import { report } from './attempt-report.ts'

/** Calls `ask` with the signed request: at once, unless a token must be waited for. What cannot be signed is an attempt that failed. */
export function sign(
  x: Exchange,
  services: Services,
  attempt: Attempt,
  request: Dispatcher.DispatchOptions,
  ask: (signed: Dispatcher.DispatchOptions) => void,
): void {
  const go = (signature: readonly string[]): void => {
    if (attempt.over) return // it was closed while the token was waited for
    attempt.signature = signature
    ask({ ...request, headers: [...(request.headers as string[]), ...signature] })
  }
  const signature = services.signers.of(attempt.claim.key).sign(request)
  if (!(signature instanceof Promise)) go(signature)
  else signature.then(go).catch(error => guard(x, services, () => attempt.onResponseError(null, error as Error)))
}

/**
 * Whether the upstream refused a token that ended before its time. The channel is then asked once more with a newer one, and nothing is
 * held against it.
 */
export function signsAnew(x: Exchange, services: Services, attempt: Attempt): boolean {
  const { status, claim, signature } = attempt
  if (status !== 401 || signature === null || !services.signers.of(claim.key).refused(signature)) return false
  x.candidates?.againWith(claim)
  report(x, services, attempt, 'ignored')
  return true
}
