/**
 * Finds out what a key has spent and may still spend, for clients that ask for it. A key may spend what its account has, and not
 * more than its cap and the account's budget leave. What open requests hold is not available.
 */
import { type Micro, micro, ZERO } from '../base/money.ts'
import { periodName } from '../base/periods.ts'
import type { Store } from '../store/store.ts'
import { accountPurse, keyPurse, limitPurse, type Purse, type PurseId } from '../store/books/purses.ts'
import { type Limit, periodOf, type Account, type Key } from '../terms/records.ts'
import type { Ledger } from './ledger.ts'

export interface Funds {
  /** All that the key has ever spent. */
  used: Micro
  available: Micro
  /** All that the account was ever credited, and all that it has ever been charged. */
  account: { credit: Micro; spent: Micro }
  /** What the key's cap has left, of which open requests hold a part; `spent` is of the period that runs. null = the key has no cap. */
  cap: { spent: Micro; left: Micro } | null
}

interface Bound {
  purse: PurseId
  /** The most that may be spent of the purse; null = the purse's own credit. */
  amount: Micro | null
}

function boundOf(kind: 'k' | 'b', id: number, limit: Limit | null, nowMs: number, zone: string): Bound[] {
  if (limit === null) return []
  const period = periodOf(limit, nowMs, zone)
  return [{ purse: limitPurse(kind, id, period === null ? null : periodName(period)), amount: limit.amount }]
}

/** Finds the funds of a key. It sends two short statements to the store, so the caller must limit how often it is called. */
export async function fundsOf(store: Store, ledger: Ledger, key: Key, account: Account): Promise<Funds> {
  const nowMs = ledger.wall.now()
  const held = ledger.held()
  const caps = boundOf('k', key.id, key.cap, nowMs, store.zone)
  const bounds: Bound[] = [
    { purse: accountPurse(account.id), amount: null },
    ...caps,
    ...boundOf('b', account.id, account.budget, nowMs, store.zone),
  ]
  const ids = [...new Set([keyPurse(key.id), ...bounds.map(({ purse }) => purse)])]
  const [purses, others] = await Promise.all([
    store.books.purses(ids),
    store.holders.heldByOthers(ids, [ledger.holder]),
  ])
  const known = new Map<PurseId, Purse>(purses.map(purse => [purse.id, purse]))
  const spentOf = (purse: PurseId): Micro => known.get(purse)?.spent ?? ZERO
  const leftOf = ({ purse, amount }: Bound): Micro => {
    const credit = amount ?? known.get(purse)?.credit ?? ZERO
    return micro(credit - spentOf(purse) - (held.get(purse) ?? ZERO) - (others.get(purse) ?? ZERO))
  }
  const [cap] = caps
  return {
    used: spentOf(keyPurse(key.id)),
    available: micro(Math.min(...bounds.map(leftOf))),
    account: {
      credit: known.get(accountPurse(account.id))?.credit ?? ZERO,
      spent: spentOf(accountPurse(account.id)),
    },
    cap: cap === undefined ? null : { spent: spentOf(cap.purse), left: leftOf(cap) },
  }
}
