/**
 * The end of an exchange for the books: what was used (`used.ts`) is charged at the tariff of the hold, and becomes one row with
 * the receipt of the charge.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { type Micro, micro, subtract, ZERO } from '../../base/money.ts'
import type { Candidate } from '../../world/table.ts'
import type { CommitGroup, Hold } from '../../ledger/ledger.ts'
import type { BilledAnswer as Answer, Bill, Tariff } from '../../pricing/tariff.ts'
import type { Facts } from '../../protocols/facts.ts'
import { type UsedTool, withUnseen } from '../../protocols/words/server-tools.ts'
import { protocolRow } from '../../protocols/table.ts'
import { type CountedKind, inputOf, NO_TIERS } from '../../protocols/words/usage.ts'
import { ERRORS, type ErrorName } from '../../base/errors.ts'
import {
  type AttemptNote,
  type Basis,
  type End,
  type Line,
  type Protocol,
  rowCounts,
  type UsageRow,
} from '../../terms/records.ts'
import type { Exchange } from '../record/exchange.ts'
import { isOnline, boundsAt, isNamed, partsOf } from '../record/need.ts'
import { clientIdOf } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import { causedOf } from './bounds.ts'
import type { Reading } from './reading.ts'
import { type Ended, type Used, usedOf } from './used.ts'

export interface Outcome extends Ended {
  end: End
  /** The status that was sent to the client; 0 = that of the refusal. */
  status: number
  refusal: ErrorName | undefined
  channel: string
  candidate: Candidate
  /** The fingerprint of the upstream key. */
  upstreamKey: string
  firstByteMs: number | null
  /** Every attempt, in the order in which they were made. */
  attempts: readonly AttemptNote[]
  /** The id that the upstream gave its answer in a header. */
  upstreamId: string | null
  /** Rows of attempts that cost something and are not charged. */
  besides: readonly UsageRow[]
  /** The protocol in which the upstream was asked; null = the client's own. */
  via: Protocol | null
}

const NO_KINDS: readonly CountedKind[] = []
const NO_LINES: readonly Line[] = []

/** Writes the row and resolves the hold. The client may see the end of its answer when the group is kept. */
export function settle(x: Exchange, services: Services, o: Outcome): CommitGroup {
  const entry = x.entry as KeyEntry
  const tariff = x.tariff as Tariff
  // an error that came alone is free, whatever it reports
  const used = withUnseenSearch(x, o, usedOf(x, o.reading?.meter.failedAlone ? { ...o, how: 'nothing' } : o))
  const answer = answerOf(x, o, used)
  const told = used.basis === 'none' ? null : tariff.bill(answer)
  const bill = told === null ? null : billOf(x, services, o, used, answer, told)
  const disputed = bill === null || told === null ? ZERO : subtract(told.charge, bill.charge)
  const answerId = o.how === 'nothing' ? null : (o.reading?.meter.answerId ?? null)
  // a translated answer has an id of ours, which nobody can continue
  const maker =
    answerId !== null && o.via === null && protocolRow(x.protocol as Protocol).continuable ? o.upstreamKey : null
  if (answerId !== null && maker !== null)
    services.answers.remember(entry.account.id, answerId, { channel: o.channel, key: maker })
  const hold = x.hold as Hold
  const counts = rowCounts(used.usage)
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
    basis: basisOf(o, used, tariff),
    // one by one, and not `...counts`: an object that grows behind a spread is copied several times
    input: counts.input,
    cache_read: counts.cache_read,
    cache_write_5m: counts.cache_write_5m,
    cache_write_1h: counts.cache_write_1h,
    output: counts.output,
    images: counts.images,
    charge: bill?.charge ?? ZERO,
    firstByteMs: o.firstByteMs === null ? null : whole(o.firstByteMs),
    durationMs: whole(services.clock.monotonic() - x.startedMs),
    answerId,
    upstreamKey: maker,
    priceVersion: tariff.priceVersion,
    multiplier: tariff.multiplier,
    lines: bill?.lines ?? NO_LINES,
    held: micro(hold.amount),
    disputed,
    cost: costOf(x, o, told, answer),
    askedMs: whole(x.dispatchedMs - x.startedMs),
    attempts: o.attempts,
    upstreamId: o.upstreamId,
    clientRequestId: clientIdOf(x),
    via: o.via,
    hiddenRatio: used.hiddenRatio,
  }
  const group = services.ledger.settle(hold, row, o.besides)
  x.usage = used.usage
  x.row = row // only now: when the ledger could not take the row, the hold is given back at the end
  if (bill !== null) countUnpriced(x, services, bill)
  countUnread(services, o, row)
  learn(x, services, o, used)
  watch(x, services, o, used, row)
  return group
}

/** A whole answer tells how much its model writes, and how much of that is not seen. Those with pictures or sound tell nothing. */
function learn(x: Exchange, services: Services, { how, reading, candidate }: Outcome, { basis, usage }: Used): void {
  if (how !== 'completed' || basis !== 'reported' || reading === null) return
  const { meter, sent } = reading
  const beside = usage.output_image + usage.output_audio + meter.images
  if (usage.output === 0 || beside > 0) return
  const facts = sent ?? (x.facts as Facts)
  services.stats.note({
    account: (x.entry as KeyEntry).account.id,
    model: x.model,
    effort: facts.effort,
    output: Math.min(usage.output, reading.mostOutput),
    counted: meter.counted,
    thinks: meter.thinks,
    unbounded: isNamed(facts, boundsAt(x, candidate)) ? null : facts.n,
  })
}

/** A channel that reports more than can be is told of, and rests where another one can take its place. */
function watch(x: Exchange, services: Services, { candidate }: Outcome, used: Used, row: UsageRow): void {
  const { disputeRests, upstreamLog } = services
  if (row.basis === 'none') return
  if (used.isReport && used.passes.length === 0) compare(x, services, candidate, used)
  disputeRests.answered(candidate)
  if (row.disputed === 0) return
  upstreamLog.disputed(x.id, row.channel, x.model, row.disputed)
  const { routes } = x.world
  const became = disputeRests.disputed({
    account: row.accountId,
    candidate,
    // an earlier answer can only be continued where it was made
    route: x.maker === null ? (routes.find(row.group, x.model, row.protocol) ?? null) : null,
    routes: () => routes.through(candidate.channel.name, candidate.upstreamModel),
  })
  if (became === 'kept') upstreamLog.onlyOne(row.channel, x.model)
}

/** The input as it is reported, beside what is estimated of it. */
function compare(x: Exchange, { skew }: Services, { channel }: Candidate, { usage }: Used): void {
  const { prompt } = x.facts as Facts
  skew.note(channel.name, x.model, inputOf(usage), (x.tariff as Tariff).estimatedInput(prompt))
}

/** What an operator may have to look at, because an upstream speaks in words that are not known. */
function countUnread({ metrics }: Services, { channel, how, reading }: Outcome, { basis }: UsageRow): void {
  if (reading === null) return
  const { meter } = reading
  const isRead = meter.usage !== null && meter.final
  if (how === 'completed' && basis === 'counted' && !isRead) metrics.usageCounted(channel)
  if (meter.unknownFinish) metrics.finishUnknown(channel)
}

/** What the customer is charged: what the request can have caused of what was reported. */
function billOf(
  x: Exchange,
  services: Services,
  { reading }: Outcome,
  used: Used,
  answer: Answer<Tariff>,
  told: Bill,
): Bill {
  if (reading === null || !(used.isReport || used.usage.seconds > 0 || answer.units !== undefined)) return told
  const caused = causedOf(x, services, reading, answer)
  if (caused === answer) return told
  const bill = (x.tariff as Tariff).bill(caused)
  // a price list for large prompts may be the cheaper one
  return bill.charge < told.charge ? bill : told
}

/**
 * Where a search has to be made and the answers of the channel do not tell of searches, one is charged unseen. A tool that is
 * only offered, and not seen to be called, made none.
 */
function withUnseenSearch(x: Exchange, { channel, reading }: Outcome, used: Used): Used {
  if (used.basis === 'none' || reading === null || used.usage.searches > 0 || !mustSearch(x, reading)) return used
  const compiled = x.world.routes.channels.find(({ name }) => name === channel)
  return compiled?.hidesSearches ? { ...used, usage: { ...used.usage, searches: 1 } } : used
}

const mustSearch = (x: Exchange, { sent }: Reading): boolean =>
  (sent ?? (x.facts as Facts)).tools.some(({ cost, forced }) => cost === 'web_search' && forced) ||
  isOnline(x) ||
  x.world.model(x.model)?.searches === 'always'

/** Where an answer costs nothing that had to be counted, its charge is as good as reported. */
const basisOf = ({ reading }: Outcome, { basis }: Used, tariff: Tariff): Basis =>
  basis === 'counted' && reading !== null && tariff.countsNothing ? 'reported' : basis

const whole = (ms: number): number => Math.max(0, Math.round(ms))

/** What was charged although the price has no entry for it. */
function countUnpriced(x: Exchange, { metrics }: Services, { unlistedTier, unmatchedPicture }: Bill): void {
  if (unlistedTier !== null) metrics.tierUnlisted(x.model)
  if (unmatchedPicture) metrics.pictureUnmatched(x.model)
}

/** What was used, in the words of the tariff: beside what was asked for, what the answer says of itself. */
function answerOf(
  x: Exchange,
  { channel, reading, delivered }: Pick<Outcome, 'channel' | 'reading' | 'delivered'>,
  { usage, passes }: Used,
): Answer<Tariff> {
  const { tiers, picture } = reading?.sent ?? (x.facts as Facts)
  const answer: Answer<Tariff> = { usage }
  if (reading === null) answer.unanswered = true
  if (passes.length > 0) answer.parts = partsOf(x, channel, passes)
  const reported = reading?.meter.tiers ?? NO_TIERS
  if (tiers !== NO_TIERS || reported !== NO_TIERS) answer.tiers = { asked: tiers, reported }
  if (usage.images > 0) answer.pictures = { asked: picture, reported: reading?.meter.pictureKinds ?? NO_KINDS }
  const units = reading?.meter.units ?? 0
  if (units > 1) answer.units = units
  if (reading !== null) addTools(x, answer, reading, delivered?.deliveredTools ?? reading.meter.tools)
  return answer
}

/** Only tools that the request names are charged: others belong to what those do. */
function addTools(x: Exchange, answer: Answer<Tariff>, { sent }: Reading, seen: readonly UsedTool[]): void {
  const { tools: asked } = sent ?? (x.facts as Facts)
  if (asked.length === 0) return
  const { hidesCalls = false } = protocolRow(x.protocol as Protocol).price
  answer.tools = { asked, used: withUnseen(asked, seen, hidesCalls) }
}

/** What the upstream takes, for all that it reports; null = not known. It takes money also for an answer that was taken back from the client. */
const costOf = (x: Exchange, o: Outcome, bill: Bill | null, answer: Answer<Tariff>): Micro | null =>
  bill === null
    ? costOfUncharged(x, { ...o, how: 'broken' })
    : (x.world.cost(o.channel)?.of(bill.lines, answer, x.tariff as Tariff) ?? null)

/** What an upstream takes for an answer that nobody is charged for; null = not known. */
export function costOfUncharged(x: Exchange, o: Ended & Pick<Outcome, 'channel'>): Micro | null {
  const cost = x.world.cost(o.channel)
  if (cost === null) return null
  const used = usedOf(x, o)
  if (used.basis === 'none') return ZERO
  const tariff = x.tariff as Tariff
  const answer = answerOf(x, o, used)
  return cost.of(tariff.bill(answer).lines, answer, tariff)
}
