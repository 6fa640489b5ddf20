/** Usage as callers see it: rows of the log, receipts, totals, refusals. Money is CNY as a decimal with six places. */

import { timeOfId } from '../../base/ids.ts'
import { formatMicro, type Micro, subtract, decimal } from '../../base/money.ts'
import { hourInZone } from '../../base/zone.ts'
import type { RefusedRequest, SummaryBy, SummaryRow } from '../../store/usage/queries.ts'
import type { BookedRow } from '../../store/usage/rows.ts'
import type { Line } from '../../terms/records.ts'
import { shownRatio } from './shown-ratio.ts'

const iso = (ms: number): string => new Date(ms).toISOString()
const moneyOrNull = (value: Micro | null): string | null => (value === null ? null : formatMicro(value))

/** A row of the log, with the name of its account. */
export const shownRow = (row: BookedRow, account: string | undefined) => ({
  request_id: row.requestId,
  at: iso(timeOfId(row.requestId)),
  booked_at: iso(row.bookedAtMs),
  account,
  key: row.keyId,
  group: row.group,
  protocol: row.protocol,
  via: row.via,
  model: row.model,
  channel: row.channel,
  status: row.status,
  end: row.end,
  outcome: row.outcome,
  basis: row.basis,
  input: row.input,
  cache_read: row.cache_read,
  cache_write_5m: row.cache_write_5m,
  cache_write_1h: row.cache_write_1h,
  output: row.output,
  pieces: row.images,
  images: row.images,
  charge: formatMicro(row.charge),
  disputed: formatMicro(row.disputed),
  cost: moneyOrNull(row.cost),
  margin: row.cost === null ? null : formatMicro(subtract(row.charge, row.cost)),
  held: moneyOrNull(row.held),
  hidden_ratio: shownRatio(row),
  asked_ms: row.askedMs,
  first_byte_ms: row.firstByteMs,
  duration_ms: row.durationMs,
  attempts: row.attempts,
  upstream_id: row.upstreamId,
  answer_id: row.answerId,
  client_request_id: row.clientRequestId,
})

const shownLine = ({ priceVersion, tier, tierName, price, ...line }: Line) => ({
  model: line.model,
  price_version: priceVersion,
  list: line.list,
  tier: String(decimal(tier)),
  tier_name: tierName,
  class: line.class,
  count: line.count,
  price: formatMicro(price as Micro),
})

/** A row with what its charge is made of. */
export const shownReceipt = (row: BookedRow, account: string | undefined) => ({
  ...shownRow(row, account),
  price_version: row.priceVersion,
  multiplier: row.multiplier === null ? null : decimal(row.multiplier),
  lines: row.lines.map(shownLine),
})

/** An attempt with a row of its own, on the receipt of its request. */
export const shownAttempt = (row: BookedRow) => ({
  request_id: row.requestId,
  ...row.attempts[0],
  cost: moneyOrNull(row.cost),
  upstream_id: row.upstreamId,
})

export const shownRefusal = (refusal: RefusedRequest, account: string | undefined) => ({
  refused: {
    request_id: refusal.requestId,
    at: iso(refusal.atMs),
    account,
    key: refusal.keyId,
    model: refusal.model,
    reason: refusal.reason,
    status: refusal.status,
    address: refusal.address,
  },
})

/** `by` names the values of `row.by`; `accounts` are the names of accounts by their ids. */
export function shownTotals(by: readonly SummaryBy[], row: SummaryRow, accounts: ReadonlyMap<number, string>) {
  const named = by.map((name, i): [string, unknown] => {
    const value = row.by[i] as string | number
    if (name === 'hour') return [name, hourInZone(value as number, row.offset)]
    return [name, name === 'account' ? accounts.get(value as number) : value]
  })
  const {
    by: _,
    offset: __,
    requests,
    errors,
    images,
    searches,
    seconds,
    characters,
    tool_calls,
    charge,
    cost,
    ...tokens
  } = row
  return {
    ...Object.fromEntries(named),
    requests,
    errors,
    ...tokens,
    pieces: images,
    images,
    searches,
    seconds,
    characters,
    tool_calls,
    charge: formatMicro(charge as Micro),
    cost: formatMicro(cost as Micro),
  }
}
