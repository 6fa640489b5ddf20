/** What an exchange that reached an upstream is charged, by the way it ended: the charging policy, in one place. */
import type { KeyEntry } from '../access/keys.ts'
import { ZERO } from '../base/money.ts'
import type { CommitGroup, Hold } from '../ledger/ledger.ts'
import type { Tariff } from '../pricing/tariff.ts'
import type { Meter } from '../protocols/protocol.ts'
import { ERRORS, type ErrorName } from '../terms/errors.ts'
import { type Basis, type End, noUsage, type Protocol, type Usage } from '../terms/records.ts'
import type { Exchange } from './exchange.ts'

/**
 * `completed`: the upstream said all it had to. `broken`: it broke off, reported an error of its own, or was closed by us.
 * `left`: its client left, the upstream was asked, and we closed it before its end.
 * `stopped`: we ended it because the money had ended. `nothing`: no answer, or none that is charged.
 */
export type How = 'completed' | 'broken' | 'left' | 'stopped' | 'nothing'

export interface Outcome {
  how: How
  end: End
  /** Sent to the client so far; 0 = the refusal's. */
  status: number
  refusal: ErrorName | undefined
  channel: string
  /** Fingerprint of the upstream key. */
  upstreamKey: string
  meter: Meter | null
  /** Output tokens that went to the client; -1 = all that the meter counted. */
  delivered: number
  firstByteMs: number | null
}

interface Bill {
  basis: Basis
  usage: Usage
}

/** Writes the row and resolves the hold. The client may see the end of its answer when the group is kept. */
export function settle(x: Exchange, o: Outcome): CommitGroup {
  const { services } = x
  const entry = x.entry as KeyEntry
  const { basis, usage } = bill(x, o)
  const answerId = o.how === 'nothing' ? null : (o.meter?.answerId ?? null)
  if (answerId !== null)
    services.answers.remember(entry.account.id, answerId, { channel: o.channel, key: o.upstreamKey })
  const whole = (ms: number) => Math.max(0, Math.round(ms))
  x.row = {
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
    input: usage.input,
    cache_read: usage.cache_read,
    cache_write_5m: usage.cache_write_5m,
    cache_write_1h: usage.cache_write_1h,
    output: usage.output,
    images: usage.images,
    charge: basis === 'none' ? ZERO : (x.tariff as Tariff).charge(usage),
    firstByteMs: o.firstByteMs === null ? null : whole(o.firstByteMs),
    durationMs: whole(services.clock.monotonic() - x.startedMs),
    answerId,
    upstreamKey: answerId === null ? null : o.upstreamKey,
  }
  return services.ledger.settle(x.hold as Hold, x.row)
}

function bill(x: Exchange, o: Outcome): Bill {
  const seen = billSeen(x, o)
  // the upstream takes money for what it was asked, however little of its answer we waited for
  const owes = o.how === 'left' && seen.basis === 'none'
  return owes ? { basis: 'counted', usage: countedUsage(x, null, 0) } : seen
}

/** By what was seen of the answer. */
function billSeen(x: Exchange, o: Outcome): Bill {
  const { meter } = o
  if (o.how === 'nothing' || meter === null) return { basis: 'none', usage: noUsage() }
  const counted = o.delivered < 0 ? meter.counted : o.delivered
  if (o.how === 'stopped') return { basis: 'counted', usage: countedUsage(x, meter.usage, counted) }
  if (meter.usage !== null) return { basis: 'reported', usage: meter.usage }
  if (o.how === 'completed' || counted > 0) return { basis: 'counted', usage: countedUsage(x, null, counted) }
  return { basis: 'none', usage: noUsage() }
}

/** Input as reported early in the stream, else as estimated for the hold; output as counted from what was relayed. */
function countedUsage(x: Exchange, reported: Usage | null, counted: number): Usage {
  const usage =
    reported === null ? { ...noUsage(), input: (x.tariff as Tariff).estimatedInput(x.bodyBytes) } : { ...reported }
  usage.output = Math.max(usage.output, counted)
  return usage
}
