/** What an exchange is told when a question to the store has failed. */
import { StoreUnavailable } from '../store/store.ts'
import type { Exchange } from './exchange.ts'
import { fail } from './fail.ts'
import { refuse } from './refuse.ts'
import type { Services } from './services.ts'
import { DONE, type Verdict } from './verdict.ts'

/** A store that does not answer is a 503, never a refusal that blames the client. Any other error is a fault of ours. */
export function storeFailed(x: Exchange, services: Services, error: unknown): Verdict {
  if (error instanceof StoreUnavailable) return refuse(x, services, 'unavailable')
  fail(x, services, error)
  return DONE
}
