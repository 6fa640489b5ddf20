/** The usage row: one request that reached an upstream, as it is billed, with its receipt. */
import type { Micro } from '../base/money.ts'
import type { Protocol } from '../protocols/table.ts'
import type { Fee, TokenClass, ToolFee, Usage } from '../protocols/usage.ts'

/**
 * The columns of a usage row that count tokens. Each is a sum over text, sound and pictures, which `lines` tells apart.
 */
export const ROW_CLASSES = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output'] as const
export interface RowCounts extends Record<(typeof ROW_CLASSES)[number], number> {
  images: number
}

export const rowCounts = (usage: Usage): RowCounts => ({
  input: usage.input + usage.input_audio + usage.input_image,
  cache_read: usage.cache_read + usage.cache_read_audio + usage.cache_read_image,
  cache_write_5m: usage.cache_write_5m,
  cache_write_1h: usage.cache_write_1h,
  output: usage.output + usage.output_audio + usage.output_image,
  images: usage.images,
})

/**
 * One line of a receipt. The charge is the sum of `count` × `price` × `tier` over all lines, times the multiplier of
 * the row, rounded up once.
 */
export interface Line {
  model: string
  /** Version of the model's price; null = the row is older than price versions. */
  priceVersion: number | null
  /** Which price list of the model applied: `base`, or the `tokens` of an entry of `over`. */
  list: 'base' | number
  /** Factor of the service tier, in millionths. */
  tier: number
  /** Name of the service tier; null = none was reported or asked for. */
  tierName: string | null
  class: TokenClass | Fee | ToolFee
  count: number
  /** In micro-CNY, without the tier: per million of tokens or characters, per piece of all others. */
  price: number
}

/** How a request ended; `docs/charging.md` says what each end costs. */
export const ENDS = ['completed', 'client_gone', 'upstream_error', 'upstream_cut'] as const
export type End = (typeof ENDS)[number]

/** What a charge is based on: usage that the upstream reported, our own counting, or nothing. */
export const BASES = ['reported', 'counted', 'none'] as const
export type Basis = (typeof BASES)[number]

/**
 * One request that reached an upstream, as billed. `requestId` is the primary key and contains the time (`timeOfId`).
 */
export interface UsageRow extends RowCounts {
  requestId: string
  accountId: number
  keyId: number
  group: string
  protocol: Protocol
  model: string
  channel: string
  status: number
  end: End
  basis: Basis
  charge: Micro
  /** Time to the first byte of the answer; null when none came. */
  firstByteMs: number | null
  durationMs: number
  /** The upstream's id of its answer, as it stands in the body; null = it has none. */
  answerId: string | null
  /** Fingerprint (`CompiledKey.fingerprint`) of the upstream key that made the answer; null = no later request can continue the answer by its id. */
  upstreamKey: string | null
  /** Version of the model's price when the money was held; null = not recorded. */
  priceVersion: number | null
  /** Multiplier of the group, in millionths, when the money was held; null = not recorded. */
  multiplier: number | null
  /** The receipt: the products that the charge is the sum of. */
  lines: readonly Line[]
  /** The money held when the request ended, growth included; null = not recorded. */
  held: Micro | null
  /** What the upstream reported above what the request can have caused, at the price of the charge. It is not charged. */
  disputed: Micro
  /** What the upstream charges for the request; null = not known. */
  cost: Micro | null
  /** Time from the arrival of the request until the first upstream was asked; null = not recorded. */
  askedMs: number | null
  attempts: readonly AttemptNote[]
  /** The id that the upstream gave its answer in a header; null = none. */
  upstreamId: string | null
  /** The id that the client gave its request; null = none. */
  clientRequestId: string | null
  /** The protocol in which the upstream was asked; null = the client's own. */
  via: Protocol | null
  /**
   * Of an answer that was given up after its client had left: by what its output was multiplied as it was counted, in
   * thousandths, for what the model writes and does not show; null = by nothing.
   */
  hiddenRatio: number | null
}

/** One attempt at one channel. */
export interface AttemptNote {
  channel: string
  /** HTTP status of the answer; 0 = there was none. */
  status: number
  /** Why the attempt failed, in a word; null = it did not. */
  error: string | null
  ms: number
}
