/** How long an exchange waits for money: all its waits together at most MONEY_WAIT_MS, whatever the store does. */
import { MONEY_WAIT_MS } from '../ledger/ledger.ts'
import type { Exchange } from './exchange.ts'
import type { Services } from './services.ts'

/** How long the exchange may still wait. */
export const moneyLeftMs = (x: Exchange): number => Math.max(0, MONEY_WAIT_MS - x.moneyWaitMs)

/** Counts a wait of the exchange for money, and passes its end on. */
export function countMoneyWait<T>(x: Exchange, { clock, metrics }: Services, wait: Promise<T>): Promise<T> {
  const sinceMs = clock.monotonic()
  return wait.finally(() => {
    const waitedMs = clock.monotonic() - sinceMs
    x.moneyWaitMs += waitedMs
    metrics.moneyWait(waitedMs / 1000)
  })
}
