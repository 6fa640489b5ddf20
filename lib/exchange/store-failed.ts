import { StoreUnavailable } from '../store/store.ts'
import type { Exchange } from './exchange.ts'
import { fail } from './fail.ts'
import { refuse } from './refuse.ts'
import type { Services } from './services.ts'
import { DONE, type Verdict } from './verdict.ts'

/** The store could not say: 503, never a refusal that blames the client. Other errors are ours. */
export function storeFailed(x: Exchange, services: Services, error: unknown): Verdict {
  if (error instanceof StoreUnavailable) return refuse(x, services, 'unavailable')
  fail(x, services, error)
  return DONE
}
