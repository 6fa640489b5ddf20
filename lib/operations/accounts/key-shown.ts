/** What is shown of keys beside what stands in their rows: what they have spent, when they were used, and in which state they are. */
import { formatMicro, type Micro, parseMicro, ZERO } from '../../base/money.ts'
import { type KeyUse, keyPurse } from '../../store/store.ts'
import type { Key } from '../../terms/records.ts'
import { type Renewal, renewals } from './limits.ts'
import type { OperationDeps } from '../deps.ts'

/** `used_up`: the cap is. A key has the first of these states that holds, from the left. */
export const KEY_STATES = ['disabled', 'expired', 'used_up', 'enabled'] as const
export type KeyState = (typeof KEY_STATES)[number]

/** What a key has spent and how it was used. */
export interface KeyStanding {
  state: KeyState
  used: string
  renewal: Renewal
  use: KeyUse | null
}

const iso = (ms: number): string => new Date(ms).toISOString()
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms))

type Deps = Pick<OperationDeps, 'store' | 'clock'>

/** What keys have spent, in all and in the running periods of their caps. */
async function spendings({ store, clock }: Deps, keys: readonly Key[]) {
  const [purses, renewal] = await Promise.all([
    store.purses(keys.map(key => keyPurse(key.id))),
    renewals(
      { store, clock },
      'k',
      keys.map(({ id, cap }) => ({ id, limit: cap })),
    ),
  ])
  const spent = new Map(purses.map(purse => [purse.id, purse.spent]))
  const now = clock.now()
  return (key: Key) => {
    const used = spent.get(keyPurse(key.id)) ?? ZERO
    const period = renewal(key.id)
    const counted = period.used_period === null ? used : (parseMicro(period.used_period) as Micro)
    return { used, period, state: stateOf(key, counted, now) }
  }
}

/** The states of many keys, of which nothing else is wanted. Only those with a cap have spent what matters. */
export async function keyStates(deps: Deps, keys: readonly Key[]): Promise<(key: Key) => KeyState> {
  const capped = keys.filter(({ cap }) => cap !== null)
  const spending = capped.length === 0 ? null : await spendings(deps, capped)
  const now = deps.clock.now()
  return key => (key.cap === null || spending === null ? stateOf(key, ZERO, now) : spending(key).state)
}

/** For each key, by its id. */
export async function keyStandings(deps: Deps, keys: readonly Key[]): Promise<(key: Key) => KeyStanding> {
  const [spending, uses] = await Promise.all([spendings(deps, keys), deps.store.keyUses(keys.map(key => key.id))])
  return key => {
    const { used, period, state } = spending(key)
    return { state, used: formatMicro(used), renewal: period, use: uses.get(key.id) ?? null }
  }
}

/** `used`: in the running period of the cap. */
function stateOf(key: Key, used: Micro, now: number): KeyState {
  if (key.status === 'disabled') return 'disabled'
  if (key.expiresAtMs !== null && key.expiresAtMs <= now) return 'expired'
  return key.cap !== null && used >= key.cap.amount ? 'used_up' : 'enabled'
}

export const showUse = (use: KeyUse | null) => ({
  last_used_at: isoOrNull(use?.atMs ?? null),
  last_used_from: use?.ip || null, // an address that is forgotten is empty
})
