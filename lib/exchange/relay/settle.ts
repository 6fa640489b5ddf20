/**
 * The charging policy, in one place: what an exchange that reached an upstream is charged, by the way in which it ended. The
 * result is one row for the books.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { type Micro, ZERO } from '../../base/money.ts'
import type { CommitGroup, Hold } from '../../ledger/ledger.ts'
import type { Tariff } from '../../pricing/tariff.ts'
import type { Facts } from '../../protocols/facts.ts'
import type { Pass } from '../../protocols/reports.ts'
import { protocolRow } from '../../protocols/table.ts'
import { outputOf, withOutput } from '../../protocols/usage.ts'
import { ERRORS, type ErrorName } from '../../terms/errors.ts'
import {
  type Basis,
  type End,
  NOT_RECORDED,
  noUsage,
  type Protocol,
  rowCounts,
  type Usage,
  type UsageRow,
} from '../../terms/records.ts'
import type { Exchange } from '../exchange.ts'
import { chargeOfPasses } from '../passes.ts'
import type { Services } from '../services.ts'
import type { Reading } from './reading.ts'

/**
 * `completed`: the upstream said all it had to. `broken`: it broke off, reported an error of its own, or was closed by us.
 * `left`: its client left, the upstream was asked, and we closed it before its end.
 * `stopped`: we ended it because the money had ended. `nothing`: no answer, or none that is charged.
 */
export type How = 'completed' | 'broken' | 'left' | 'stopped' | 'nothing'

export interface Outcome {
  how: How
  end: End
  /** The status that was sent to the client; 0 = that of the refusal. */
  status: number
  refusal: ErrorName | undefined
  channel: string
  /** The fingerprint of the upstream key. */
  upstreamKey: string
  reading: Reading | null
  /** What went on to the client, where the rest was held back; null = the client got all that was read. */
  delivered: { readonly delivered: number; readonly deliveredImages: number } | null
  firstByteMs: number | null
}

/** The highest number of tokens of one class that a row can hold. */
const MOST_TOKENS = 1e9

interface Bill {
  basis: Basis
  usage: Usage
  /** The parts that several models made. Absent or empty: the model that was asked for made all of it. */
  passes?: readonly Pass[]
}

const NOTHING: Bill = { basis: 'none', usage: noUsage() }

/** Writes the row and resolves the hold. The client may see the end of its answer when the group is kept. */
export function settle(x: Exchange, services: Services, o: Outcome): CommitGroup {
  const entry = x.entry as KeyEntry
  const billed = bill(x, o)
  const { basis, usage } = billed
  const answerId = o.how === 'nothing' ? null : (o.reading?.meter.answerId ?? null)
  if (answerId !== null)
    services.answers.remember(entry.account.id, answerId, { channel: o.channel, key: o.upstreamKey })
  const whole = (ms: number) => Math.max(0, Math.round(ms))
  const row: UsageRow = {
    requestId: x.id,
    accountId: entry.account.id,
    keyId: entry.key.id,
    group: entry.key.group,
    protocol: x.protocol as Protocol,
    model: x.model,
    channel: o.channel,
    status: o.status !== 0 ? o.status : o.refusal === undefined ? 0 : ERRORS[o.refusal].status,
    end: o.end,
    basis,
    ...rowCounts(usage),
    charge: charge(x, o.channel, billed),
    firstByteMs: o.firstByteMs === null ? null : whole(o.firstByteMs),
    durationMs: whole(services.clock.monotonic() - x.startedMs),
    answerId,
    upstreamKey: answerId === null ? null : o.upstreamKey,
    ...NOT_RECORDED,
  }
  const group = services.ledger.settle(x.hold as Hold, row)
  x.row = row // only now: when the ledger could not take the row, the hold is given back at the end
  return group
}

function charge(x: Exchange, channel: string, { basis, usage, passes = [] }: Bill): Micro {
  if (basis === 'none') return ZERO
  return passes.length > 0 ? chargeOfPasses(x, channel, passes) : (x.tariff as Tariff).charge(usage)
}

function bill(x: Exchange, o: Outcome): Bill {
  const { how, reading } = o
  if (how === 'nothing') return NOTHING
  // the upstream may take money for the question, however little of its answer was waited for
  const least = how === 'left' ? counted(estimate(x), 0) : NOTHING
  if (reading === null) return least
  const most = o.delivered?.delivered ?? MOST_TOKENS
  const { meter } = reading
  const images = Math.min(o.delivered?.deliveredImages ?? MOST_TOKENS, meter.images)
  if (reading.foreign) {
    // where pictures cannot be counted, those that were asked for are charged
    const asked = protocolRow(x.protocol as Protocol).price.pictures && o.delivered === null ? (x.facts as Facts).n : 0
    return counted({ ...estimate(x), images: Math.max(images, asked) }, Math.min(most, reading.tokensOfBytes))
  }
  const usage = meter.usage === null || o.delivered === null ? meter.usage : withImages(x, meter.usage, images)
  const concluded = how === 'completed' || (how !== 'stopped' && meter.concluded)
  if (concluded && usage !== null && meter.final) return { basis: 'reported', usage, passes: meter.passes }
  if ((how === 'broken' || how === 'left') && usage === null && meter.counted === 0) return least
  const output = Math.min(most, meter.produced)
  const told = how !== 'stopped' && usage !== null && meter.reportedOutput >= output
  if (usage === null) return counted({ ...estimate(x), images, searches: meter.searches }, output)
  const more = output - meter.reportedOutput
  const seen: Bill = { basis: told ? 'reported' : 'counted', usage: withOutput(usage, outputOf(usage) + more) }
  return how === 'stopped' ? seen : { ...seen, passes: withMore(meter.passes, more) }
}

/** Only some pictures went on to the client. Where pictures have a price, those that did not cost no tokens either. */
function withImages(x: Exchange, usage: Usage, images: number): Usage {
  const isFree = images === 0 && usage.images > 0 && (x.tariff as Tariff).pricesPictures
  return isFree ? { ...usage, images, output_image: 0 } : { ...usage, images }
}

/** The model that was asked for is charged for what was counted beyond the reports. */
function withMore(passes: readonly Pass[], output: number): readonly Pass[] {
  if (passes.length === 0 || output <= 0) return passes
  return [...passes, { model: null, usage: { ...noUsage(), output } }]
}

/** A bill of what was reported so far, with the output as it was counted. */
const counted = (usage: Usage, output: number): Bill => ({ basis: 'counted', usage: { ...usage, output } })

/** The input, as it was estimated for the hold. */
const estimate = (x: Exchange): Usage => ({
  ...noUsage(),
  input: (x.tariff as Tariff).estimatedInput((x.facts as Facts).prompt),
})
