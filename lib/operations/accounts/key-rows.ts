/**
 * Keys as callers see them: what stands in their rows, what they have spent, when they were used, and in which state they
 * are. Operators see the keys of everybody with the names of accounts, people those of their account with their makers.
 */
import { iso, isoOrNull } from '../../base/clock.ts'
import { formatMicro, type Micro, parseMicro, ZERO } from '../../base/money.ts'
import type { KeyUse } from '../../store/accounts/keys.ts'
import { keyPurse } from '../../store/books/purses.ts'
import { type Key, showLimit } from '../../terms/records.ts'
import { type OperationDeps, storeNow } from '../deps.ts'
import { namesOfAccounts } from '../lookups.ts'
import { type Renewal, renewals } from './limits.ts'

/** `used_up`: the cap is. A key has the first of these states that holds, from the left. */
export const KEY_STATES = ['disabled', 'expired', 'used_up', 'enabled'] as const
type KeyState = (typeof KEY_STATES)[number]

type RowDeps = Pick<OperationDeps, 'store' | 'clock'>

/** The keys as operators see them. */
export async function keyRows(deps: RowDeps, keys: readonly Key[]) {
  const accountIds = keys.map(key => key.accountId)
  const [standing, names] = await Promise.all([standings(deps, keys), namesOfAccounts(deps.store, accountIds)])
  return keys.map(key => ({
    id: key.id,
    account: names.get(key.accountId) ?? null,
    ...shared(key, standing(key)),
    cap: showLimit(key.cap),
    models: key.models,
  }))
}

/** The keys as the people of their account see them. A deleted user is nobody. */
export async function ownKeyRows(deps: RowDeps, keys: readonly Key[]) {
  const { people } = deps.store
  const makers = [...new Set(keys.flatMap(key => key.createdBy ?? []))]
  const [standing, ...found] = await Promise.all([standings(deps, keys), ...makers.map(id => people.users.byId(id))])
  const known = new Map(found.flatMap(person => (person === null ? [] : [[person.id, person] as const])))
  return keys.map(key => {
    const maker = key.createdBy === null ? undefined : known.get(key.createdBy)
    return {
      id: key.publicId,
      ...shared(key, standing(key)),
      state: standing(key).state,
      cap: key.cap === null ? null : { amount: formatMicro(key.cap.amount), every: key.cap.every },
      restricted: key.models !== null,
      models: key.models ?? key.modelsOff ?? [],
      created_at: iso(key.createdAtMs),
      created_by: maker === undefined ? null : { id: maker.publicId, name: maker.name },
    }
  })
}

/** What everybody sees who sees the key. */
const shared = (key: Key, { used, renewal, use }: Standing) => ({
  name: key.name,
  hint: key.hint,
  group: key.group,
  status: key.status,
  expires_at: isoOrNull(key.expiresAtMs),
  used: formatMicro(used),
  ...renewal,
  allow_ips: key.allowIps,
  last_used_at: isoOrNull(use?.atMs ?? null),
  last_used_from: use?.ip || null, // an address that is forgotten is empty
})

interface Spending {
  used: Micro
  renewal: Renewal
  state: KeyState
}

interface Standing extends Spending {
  use: KeyUse | null
}

/** The sums that keys have spent, in all and in the running periods of their caps. */
async function spendings({ store, clock }: RowDeps, keys: readonly Key[]): Promise<(key: Key) => Spending> {
  const caps = keys.map(({ id, cap }) => ({ id, limit: cap }))
  const [purses, renewal, now] = await Promise.all([
    store.books.purses(keys.map(key => keyPurse(key.id))),
    renewals({ store, clock }, 'k', caps),
    keys.some(key => key.expiresAtMs !== null) ? storeNow({ store, clock }) : 0,
  ])
  const spent = new Map(purses.map(purse => [purse.id, purse.spent]))
  return key => {
    const used = spent.get(keyPurse(key.id)) ?? ZERO
    const period = renewal(key.id)
    const counted = period.used_period === null ? used : (parseMicro(period.used_period) as Micro)
    return { used, renewal: period, state: stateOf(key, counted, now) }
  }
}

async function standings(deps: RowDeps, keys: readonly Key[]): Promise<(key: Key) => Standing> {
  const [spending, uses] = await Promise.all([spendings(deps, keys), deps.store.keys.uses(keys.map(key => key.id))])
  return key => ({ ...spending(key), use: uses.get(key.id) ?? null })
}

/** `used`: in the running period of the cap. */
function stateOf(key: Key, used: Micro, now: number): KeyState {
  if (key.status === 'disabled') return 'disabled'
  if (key.expiresAtMs !== null && key.expiresAtMs <= now) return 'expired'
  return key.cap !== null && used >= key.cap.amount ? 'used_up' : 'enabled'
}
