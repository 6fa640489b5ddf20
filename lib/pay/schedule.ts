/**
 * When a provider is asked about an order without having said anything: often at first, because callbacks get lost; at the
 * order's end, to close it; and twice after that, because some providers take money for an order that has ended.
 */
import type { Order, Refund } from '../terms/pay.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

const AFTER_START_MS = [15 * SECOND_MS, 30 * SECOND_MS, ...[1, 2, 4, 8, 16].map(minutes => minutes * MINUTE_MS)]
/** A QR code of Alipay lives two hours, and its trade may not exist before it is scanned. */
const AFTER_END_MS = [2 * HOUR_MS + 10 * MINUTE_MS, 25 * HOUR_MS]

/** When the provider is asked next about an order that is not paid; null = no more. */
export function nextCheck(order: Pick<Order, 'createdAtMs' | 'expiresAtMs'>, nowMs: number): number | null {
  const { createdAtMs, expiresAtMs } = order
  const times = [
    ...AFTER_START_MS.map(ms => createdAtMs + ms).filter(at => at < expiresAtMs),
    expiresAtMs,
    ...AFTER_END_MS.map(ms => expiresAtMs + ms),
  ]
  return times.find(at => at > nowMs) ?? null
}

/** Later and later, at most once an hour: a bank may take days. */
export const nextRefundCheck = ({ checks }: Pick<Refund, 'checks'>, nowMs: number): number =>
  nowMs + Math.min(HOUR_MS, 15 * SECOND_MS * 2 ** Math.min(checks, 20))

/** When a provider did not answer. */
export const retryAt = (nowMs: number): number => nowMs + MINUTE_MS
