/**
 * A body may take ten minutes: what was true at the request's head is asked again when it is whole. From here on the
 * newest world holds, with its prices and channels, and the key and the account as they are now, from memory.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { Exchange } from '../exchange.ts'
import { stage } from '../plan.ts'
import type { Services } from '../services.ts'
import { storeFailed } from '../store-failed.ts'
import { DONE, NEXT, type Verdict } from '../verdict.ts'
import { admit } from './admit.ts'
import { judgeKey } from './authenticate.ts'

export const confirm = stage<'key' | 'body', 'confirmed'>((x, services) => {
  x.world = services.world
  const found = services.keys.current(x.entry as KeyEntry)
  if (!(found instanceof Promise)) return judge(x, services, found)
  return found.then(
    entry => judge(x, services, entry),
    error => storeFailed(x, services, error),
  )
})

function judge(x: Exchange, services: Services, entry: KeyEntry | null): Verdict {
  const before = (x.entry as KeyEntry).account.id
  // what the exchange has taken meanwhile is its account's, so a secret that is another account's now begins anew
  if (judgeKey(x, services, entry?.account.id === before ? entry : null) === NEXT) return admit(x, services) as Verdict
  return DONE
}
