/**
 * Asks again what was true when the request's head came, because its body may have taken ten minutes. From here on the exchange
 * lives in the newest world, with its prices and channels, and with the key and the account as they are now in memory.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { Exchange } from '../record/exchange.ts'
import { stage } from '../plan.ts'
import type { Services } from '../record/services.ts'
import { storeFailed, DONE, NEXT, type Verdict } from '../record/ending.ts'
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
  // what the exchange has taken so far is counted for its account, so a key that belongs to another account now is refused
  if (judgeKey(x, services, entry?.account.id === before ? entry : null) === NEXT) return admit(x, services) as Verdict
  return DONE
}
