/**
 * Caps of keys and budgets of accounts: the most that may be spent, in all or in each period. When somebody changes
 * the length of the periods, the period that is running ends first; until then it goes on with the new amount.
 */
import { formatMicro, type Micro } from '../base/money.ts'
import { type Every, type Period, periodAt } from '../base/periods.ts'

/** What people set. */
export interface SetLimit {
  amount: Micro
  /** null = the amount is for ever. */
  every: Every | null
}

export interface Limit extends SetLimit {
  /** Until `untilMs` the limit still renews as it did before somebody changed `every`; null = it was not changed. */
  before: { every: Every; untilMs: number } | null
}

/** How the limit renews at a moment; null = it does not. */
export const everyAt = ({ every, before }: Limit, atMs: number): Every | null =>
  before !== null && atMs < before.untilMs ? before.every : every

/** The period of the limit at a moment; null when its amount is for ever. */
export function periodOf(limit: Limit, atMs: number, zone: string): Period | null {
  const every = everyAt(limit, atMs)
  return every === null ? null : periodAt(every, atMs, zone)
}

/** The limit that replaces `old`. An amount for ever knows no period, so a change from or to one takes effect at once. */
export function changedLimit(old: Limit | null, next: SetLimit | null, atMs: number, zone: string): Limit | null {
  if (next === null) return null
  const every = old === null ? null : everyAt(old, atMs)
  const stays = every === null || next.every === null || every === next.every
  return { ...next, before: stays ? null : { every, untilMs: periodAt(every, atMs, zone).endMs } }
}

export const sameLimit = (a: SetLimit | null, b: SetLimit | null): boolean =>
  a?.amount === b?.amount && a?.every === b?.every

/** A limit as somebody set it. */
export function showLimit(limit: SetLimit | null): string | { amount: string; every: string } | null {
  if (limit === null) return null
  const amount = formatMicro(limit.amount)
  return limit.every === null ? amount : { amount, every: limit.every }
}
