/** Purses: the sums that holds are made against. `store.ts` says what is in them. */
import type { Micro } from '../base/money.ts'

/** `a`: an account's balance. `k`: a key, whose cap is its credit. `b`: an account's budget. After `.`: a period. */
export type PurseId = `a${number}` | `${'k' | 'b'}${number}` | `${'k' | 'b'}${number}.${string}`
export const accountPurse = (id: number): PurseId => `a${id}`
export const keyPurse = (id: number): PurseId => `k${id}`
/** The purse of a cap (`k`) or a budget (`b`) in a period; `null` = its amount is for ever. */
export const limitPurse = (kind: 'k' | 'b', id: number, period: string | null): PurseId =>
  period === null ? `${kind}${id}` : `${kind}${id}.${period}`

export interface Purse {
  id: PurseId
  credit: Micro | null
  spent: Micro
  leased: Micro
}
