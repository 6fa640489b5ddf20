import { StoreUnavailable } from '../store/store.ts'
import type { Exchange } from './exchange.ts'
import { DONE, type Verdict } from './verdict.ts'

/** The store could not say: 503, never a refusal that blames the client. Other errors are ours. */
export function storeFailed(x: Exchange, error: unknown): Verdict {
  if (error instanceof StoreUnavailable) x.refuse('unavailable')
  else x.fail(error)
  return DONE
}
