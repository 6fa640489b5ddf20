/** The usage row: one request that reached an upstream, as it is billed, with its receipt. */
import { isAttemptId } from '../base/ids.ts'
import { JsonBytes } from '../base/json-bytes.ts'
import type { Micro } from '../base/money.ts'
import type { Protocol } from '../protocols/names.ts'
import type { Fee, TokenClass, ToolFee, Usage } from '../protocols/words/usage.ts'

/**
 * The columns of a usage row that count tokens. Each is a sum over text, sound and pictures, which `lines` tells apart.
 */
export const ROW_CLASSES = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output'] as const
interface RowCounts extends Record<(typeof ROW_CLASSES)[number], number> {
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
  /** The name of the price that applied to a picture, where there are several by size and quality. */
  priceRow?: string
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
  /** Version of the model's price when the body of the request was complete; null = not recorded. */
  priceVersion: number | null
  /** Multiplier of the group, in millionths, at the same moment; null = not recorded. */
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

/**
 * How a request ended, in one word, for statistics: `ok`, `client` (the client left, or sent a request that the upstream refused),
 * `upstream` (the upstream failed). `attempt` is said of a row that is no request of a client, but an attempt of one: it was not
 * charged, and has what the upstream takes for it. The word follows from the usage row alone.
 */
export const OUTCOMES = ['ok', 'client', 'upstream', 'attempt'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Refusals of an upstream that a better request would not have avoided: it was slow, or had too much to do. */
const NOT_THE_CLIENTS = new Set([408, 429])

export function outcomeOf({ requestId, end, status }: Pick<UsageRow, 'requestId' | 'end' | 'status'>): Outcome {
  if (isAttemptId(requestId)) return 'attempt'
  if (end === 'client_gone') return 'client'
  if (status >= 400 && status < 500 && !NOT_THE_CLIENTS.has(status)) return 'client'
  return end === 'completed' && status < 400 ? 'ok' : 'upstream'
}

// The lines and attempts of a row are kept as one short text, in the journal and in the store. There is one for each request, so what
// nearly every line and attempt has in common with its row is left out, and the text is put together by hand: two lines and an attempt
// are 50 bytes, of about 350 that JSON with all names would have.
//
// It is the JSON of `[lines, attempts]`. A line is `[class, count, price]`, where it is of the row's model and price version, of the
// list `base`, and without a tier; else `[class, count, price, model, priceVersion, list, tier, tierName]`, and `priceRow` where it has one. An attempt is `[ms]`, where
// it is of the row's channel and status and did not fail; else `[ms, channel, status, error]`.

type Detailed = Pick<UsageRow, 'lines' | 'attempts' | 'model' | 'priceVersion' | 'channel' | 'status'>
export type Detail = Pick<UsageRow, 'lines' | 'attempts'>

/** In millionths. */
const NO_TIER = 1_000_000
const DETAIL_BYTES = 4 * 1024

/** null: the row has neither lines nor attempts. */
export function detailText(row: Detailed): string | null {
  const bytes = new JsonBytes(DETAIL_BYTES)
  return writeDetail(row, bytes) ? bytes.bytes.toString('utf8', 0, bytes.length) : null
}

/** False: the row has neither lines nor attempts, and nothing was written. */
export function writeDetail(row: Detailed, into: JsonBytes): boolean {
  const { lines, attempts } = row
  if (lines.length === 0 && attempts.length === 0) return false
  into.raw('[[')
  for (let i = 0; i < lines.length; i++) writeLine(row, lines[i] as Line, i === 0 ? '[' : ',[', into)
  into.raw('],[')
  for (let i = 0; i < attempts.length; i++) writeAttempt(row, attempts[i] as AttemptNote, i === 0 ? '[' : ',[', into)
  into.raw(']]')
  return true
}

function writeLine(row: Detailed, line: Line, begin: string, into: JsonBytes): void {
  const { model, priceVersion, list, tier, tierName, priceRow } = line
  into.raw(begin)
  into.item(line.class)
  into.item(line.count)
  into.value(line.price)
  const isUsual = model === row.model && priceVersion === row.priceVersion
  if (!isUsual || list !== 'base' || tier !== NO_TIER || tierName !== null || priceRow !== undefined) {
    const more = [model, priceVersion, list, tier, tierName]
    if (priceRow !== undefined) more.push(priceRow)
    for (const value of more) {
      into.raw(',')
      into.value(value)
    }
  }
  into.raw(']')
}

function writeAttempt(
  row: Detailed,
  { channel, status, error, ms }: AttemptNote,
  begin: string,
  into: JsonBytes,
): void {
  into.raw(begin)
  if (channel !== row.channel || status !== row.status || error !== null) {
    into.item(ms)
    into.item(channel)
    into.item(status)
    into.value(error)
  } else into.value(ms)
  into.raw(']')
}

type ShortLine = [
  Line['class'],
  number,
  number,
  string?,
  (number | null)?,
  Line['list']?,
  number?,
  (string | null)?,
  string?,
]
type ShortAttempt = [number, string?, number?, (string | null)?]

export function readDetail(row: Omit<Detailed, keyof Detail>, text: string | null): Detail {
  if (text === null) return { lines: [], attempts: [] }
  const [lines, attempts] = JSON.parse(text) as [ShortLine[], ShortAttempt[]]
  return {
    lines: lines.map(([name, count, price, ...rest]): Line => {
      const [model = row.model, priceVersion = row.priceVersion, list = 'base', tier = NO_TIER, tierName = null] = rest
      const priceRow = rest[5]
      return {
        model,
        priceVersion,
        list,
        tier,
        tierName,
        class: name,
        count,
        price,
        ...(priceRow !== undefined && { priceRow }),
      }
    }),
    attempts: attempts.map(([ms, channel = row.channel, status = row.status, error = null]) => ({
      channel,
      status,
      error,
      ms,
    })),
  }
}
