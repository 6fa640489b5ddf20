/**
 * Requests and refusals as the people of an account see them. Channels, what upstreams take and their ids are not in it:
 * `shownInternal` has them, for operators.
 */

import { timeOfId } from '../../base/ids.ts'
import { formatMicro, type Micro, subtract, decimal } from '../../base/money.ts'
import type { RefusedRequest } from '../../store/usage/queries.ts'
import type { BookedRow } from '../../store/usage/rows.ts'
import type { KeyLabel } from '../../store/accounts/keys.ts'
import { isByPiece, type Line } from '../../terms/records.ts'
import { shownRatio } from './shown-ratio.ts'
import { shownKey } from './whose.ts'
import { BOUNDED, ENDED, reasonOf, restsOn } from './words.ts'

type Labels = ReadonlyMap<number, KeyLabel>

export const iso = (ms: number): string => new Date(ms).toISOString()
const moneyOrNull = (value: Micro | null): string | null => (value === null ? null : formatMicro(value))

export const shownRequest = (row: BookedRow, labels: Labels) => ({
  request_id: row.requestId,
  at: iso(timeOfId(row.requestId)),
  key: shownKey(labels.get(row.keyId)),
  model: row.model,
  group: row.group,
  protocol: row.protocol,
  status: row.status,
  end: row.end,
  outcome: row.outcome,
  basis: row.basis,
  input: row.input,
  cache_read: row.cache_read,
  cache_write_5m: row.cache_write_5m,
  cache_write_1h: row.cache_write_1h,
  output: row.output,
  images: row.images,
  charge: formatMicro(row.charge),
  first_byte_ms: row.firstByteMs,
  duration_ms: row.durationMs,
  client_request_id: row.clientRequestId,
})

const AMOUNT_PLACES = 18

/** A product of millionths, as a decimal without trailing zeros; it has at most 18 places. */
function exact(value: bigint): string {
  const text = value.toString().padStart(AMOUNT_PLACES + 1, '0')
  const places = text.slice(-AMOUNT_PLACES).replace(/0+$/, '')
  return `${text.slice(0, -AMOUNT_PLACES)}${places === '' ? '' : `.${places}`}`
}

/** What a line comes to, before the multiplier and in CNY × 10^-18. */
const amountOf = ({ class: name, count, price, tier }: Line): bigint =>
  BigInt(count) * BigInt(price) * BigInt(tier) * (isByPiece(name) ? 1_000_000n : 1n)

/** `since`: when a version of a model's price came into force. */
const shownLine = (line: Line, since: (model: string, version: number) => number | undefined) => {
  const { priceVersion: version } = line
  const sinceMs = version === null ? undefined : since(line.model, version)
  return {
    model: line.model,
    price_version: version,
    price_since: sinceMs === undefined ? null : iso(sinceMs),
    list: line.list,
    tier: String(decimal(line.tier)),
    tier_name: line.tierName,
    class: line.class,
    count: line.count,
    price: formatMicro(line.price as Micro),
    /** How many pieces the price is for. */
    per: isByPiece(line.class) ? 1 : 1_000_000,
    amount: exact(amountOf(line)),
  }
}

export const shownReceipt = (
  row: BookedRow,
  labels: Labels,
  since: (model: string, version: number) => number | undefined,
) => ({
  ...shownRequest(row, labels),
  booked_at: iso(row.bookedAtMs),
  lines: row.lines.map(line => shownLine(line, since)),
  /** The sum of the lines, before the multiplier and the rounding. */
  sum: exact(row.lines.reduce((sum, line) => sum + amountOf(line), 0n)),
  multiplier: row.multiplier === null ? null : String(decimal(row.multiplier)),
  held: moneyOrNull(row.held),
  released: row.held === null ? null : formatMicro(subtract(row.held, row.charge)),
  hidden_ratio: shownRatio(row),
  asked_ms: row.askedMs,
  attempts: row.attempts.length,
  // of a translated answer the client knows an id of ours, and not its upstream's
  answer_id: row.via === null ? row.answerId : null,
  ended: ENDED[row.end],
  /** What the upstream reported above what the request can have caused, at the same prices; it is not charged. */
  disputed: formatMicro(row.disputed),
  rests_on: row.disputed > 0 ? BOUNDED : restsOn(row),
})

/** What only operators see of a request. `uncharged`: its attempts that have rows of their own. */
export const shownInternal = (row: BookedRow, uncharged: readonly BookedRow[]) => ({
  channel: row.channel,
  via: row.via,
  upstream_id: row.upstreamId,
  cost: moneyOrNull(row.cost),
  margin: row.cost === null ? null : formatMicro(subtract(row.charge, row.cost)),
  attempts: [...row.attempts],
  uncharged: uncharged.map(one => ({
    request_id: one.requestId,
    channel: one.channel,
    status: one.status,
    cost: moneyOrNull(one.cost),
    upstream_id: one.upstreamId,
  })),
})

export const shownRefusal = (refusal: RefusedRequest, labels: Labels) => ({
  request_id: refusal.requestId,
  at: iso(refusal.atMs),
  key: shownKey(labels.get(refusal.keyId)),
  model: refusal.model === '' ? null : refusal.model,
  reason: refusal.reason,
  status: refusal.status,
  address: refusal.address,
  ...reasonOf(refusal.reason),
})
