/** What operations on keys and accounts have in common where they set and show caps and budgets. */
import { iso } from '../../base/clock.ts'
import { storeNow } from '../deps.ts'
import type { Clock } from '../../base/clock.ts'
import { formatMicro, ZERO } from '../../base/money.ts'
import { periodName } from '../../base/periods.ts'
import type { Store } from '../../store/store.ts'
import type { LimitChange } from '../../store/accounts/accounts.ts'
import { limitPurse } from '../../store/books/purses.ts'
import { changedLimit, type Limit, periodOf, type SetLimit } from '../../terms/records.ts'

interface Deps {
  store: Store
  clock: Clock
}

export const firstLimit = (next: SetLimit | null | undefined): Limit | null => (next ? { ...next, before: null } : null)

export async function limitChange(deps: Deps, old: Limit | null, next: SetLimit | null): Promise<LimitChange> {
  const atMs = await storeNow(deps)
  return { limit: changedLimit(old, next, atMs, deps.store.zone), atMs }
}

export interface Renewal {
  /** What was spent in the running period; null for a limit that does not renew. */
  used_period: string | null
  renews_at: string | null
}

const NEVER: Renewal = { used_period: null, renews_at: null }

/** For each owner of a limit that renews, by id, what its running period shows. */
export async function renewals(
  deps: Deps,
  kind: 'k' | 'b',
  owners: readonly { id: number; limit: Limit | null }[],
): Promise<(id: number) => Renewal> {
  const renewing = owners.flatMap(({ id, limit }) => (limit === null || limit.every === null ? [] : [{ id, limit }]))
  if (renewing.length === 0) return () => NEVER
  const now = await storeNow(deps)
  const periods = renewing.map(({ id, limit }) => {
    const period = periodOf(limit, now, deps.store.zone)!
    return { id, endMs: period.endMs, purse: limitPurse(kind, id, periodName(period)) }
  })
  const purses = await deps.store.books.purses(periods.map(({ purse }) => purse))
  const spent = new Map(purses.map(purse => [purse.id, purse.spent]))
  const shown = new Map(
    periods.map(({ id, endMs, purse }) => [
      id,
      { used_period: formatMicro(spent.get(purse) ?? ZERO), renews_at: iso(endMs) },
    ]),
  )
  return id => shown.get(id) ?? NEVER
}
