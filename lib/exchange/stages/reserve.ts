/** Sets aside what the exchange can cost at most. From here on it owes the ledger a settle or a void. */
import type { KeyEntry } from '../../access/keys.ts'
import { formatMicro, type Micro, micro } from '../../base/money.ts'
import type { Claim } from '../../channels/claim.ts'
import { Hold, type Refusal } from '../../ledger/ledger.ts'
import type { Exchange } from '../exchange.ts'
import { countMoneyWait, moneyLeftMs } from '../money-wait.ts'
import { needOf } from '../need.ts'
import { stage } from '../plan.ts'
import { refuse } from '../refuse.ts'
import { wantsEvents } from '../request.ts'
import type { Services } from '../services.ts'
import { storeFailed } from '../store-failed.ts'
import { DONE, NEXT, type Verdict } from '../verdict.ts'

export const reserve = stage<'tariff', 'hold'>((x, services) => {
  const { key, account } = x.entry as KeyEntry
  if (!services.ledger.accepting) return refuse(x, services, 'unavailable')
  // a request that costs nothing also needs an account that is not empty
  const need = micro(Math.max(1, estimate(x, services)))
  const held = services.ledger.reserve(account, key, need, moneyLeftMs(x))
  if (!(held instanceof Promise)) return judge(x, services, held)
  return countMoneyWait(x, services, held).then(
    answer => judge(x, services, answer),
    error => storeFailed(x, services, error),
  )
})

/**
 * What is set aside. A stream can be stopped when the money ends, so where the config says so only its first part is held; a
 * document cannot.
 */
function estimate(x: Exchange, services: Services): Micro {
  const cap = x.world.config.hold.outputTokens
  x.coveredOutput = cap > 0 && wantsEvents(x) ? cap : 0
  return needOf(x, services, (x.claim as Claim).candidate)
}

function judge(x: Exchange, services: Services, answer: Hold | Refusal): Verdict {
  if (answer instanceof Hold) {
    x.hold = answer
    if (!x.left) return NEXT
    services.ledger.void(answer)
    x.hold = null
    return DONE
  }
  if (answer.refused === 'unavailable') return refuse(x, services, 'unavailable')
  if (answer.refused === 'cap_used') return refuse(x, services, 'key')
  if (answer.refused === 'quota') return refuse(x, services, 'quota', [formatMicro(answer.available)])
  return refuse(x, services, 'estimate', [formatMicro(answer.available), formatMicro(answer.need)])
}
