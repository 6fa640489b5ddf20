/**
 * The settlement of an exchange: what was used (`usage.ts`) is charged once, and becomes a row with the receipt of the charge. The
 * client may see the end of its answer when the charge is kept. The prices are those of the newest world at the moment when the body
 * was complete: `confirm` (`stages/key.ts`) puts the exchange into that world, and `price` (`stages/money.ts`) takes the tariff of it.
 *
 * Attempts whose answers do not count have rows of their own where their upstreams take money for them: an answer that was taken back
 * and another one given in its place, and an attempt that was closed because the one beside it was faster. They have a cost and nothing
 * else, so that margins are right.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { type ErrorName, ERRORS } from '../../base/errors.ts'
import { attemptId } from '../../base/ids.ts'
import { type Micro, micro, subtract, ZERO } from '../../base/money.ts'
import type { CommitGroup, Hold, Waiting } from '../../ledger/ledger.ts'
import type { Bill, BilledAnswer, Tariff } from '../../pricing/tariff.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { Pass } from '../../protocols/words/reports.ts'
import { withUnseen } from '../../protocols/words/server-tools.ts'
import type { Protocol } from '../../protocols/names.ts'
import { protocolRow } from '../../protocols/table.ts'
import { type CountedKind, inputOf, NO_TIERS, noUsage } from '../../protocols/words/usage.ts'
import { type End, type Line, rowCounts, type UsageRow } from '../../terms/usage-row.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { Candidate } from '../../world/table.ts'
import type { Exchange } from '../record/exchange.ts'
import { CLIENT_CLOSED, giveRightBack } from '../record/ending.ts'
import { boundsAt, isNamed, isOnline, modelsBehind, partsOf } from '../record/need.ts'
import { clientIdOf, upstreamIdOf } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import type { Asking, GivenUp } from './asking.ts'
import type { Reading } from './reading.ts'
import type { ResponseWriter } from './response.ts'
import { causedOf, type Ended, type Hidden, type How, type Used, usedOf } from './usage.ts'

/** What is charged: the parts of an end from which usage, price and cost follow. */
interface Charged extends Ended {
  channel: string
  candidate: Candidate
  /** The protocol in which the upstream was asked; null = the client's own. */
  via: Protocol | null
}

const NO_KINDS: readonly CountedKind[] = []
const NO_LINES: readonly Line[] = []
const NO_ROWS: readonly UsageRow[] = []
/** What the row of an attempt has in common with the row of its request. The compiler wants every other field here or in `rowsOf`. */
type Shared = 'accountId' | 'keyId' | 'group' | 'protocol' | 'model' | 'priceVersion' | 'multiplier' | 'clientRequestId'
/** The columns of an attempt that nobody is charged for. */
const UNCHARGED = {
  ...rowCounts(noUsage()),
  basis: 'none',
  charge: ZERO,
  lines: NO_LINES,
  held: null,
  disputed: ZERO,
  firstByteMs: null,
  answerId: null,
  upstreamKey: null,
  hiddenRatio: null,
} as const

export class ExchangeCharge {
  readonly #x: Exchange
  readonly #services: Services
  readonly #asking: Asking
  readonly #response: ResponseWriter
  /** Until the charge is kept the client may not see the end; null = nothing was charged. */
  #group: CommitGroup | null = null
  /** Content tokens that the meter had when the answer was charged. */
  #chargedTokens = 0

  constructor(x: Exchange, services: Services, asking: Asking, response: ResponseWriter) {
    this.#x = x
    this.#services = services
    this.#asking = asking
    this.#response = response
  }

  /** The charge is kept, or there is none yet. */
  get mayEnd(): boolean {
    return this.#group?.kept ?? true
  }

  /** In the order of the calls, when the charge is surely kept; at once when there is none. */
  whenKept(act: () => void, waiting: Waiting): void {
    if (this.#group === null) waiting.ifOpen(act)
    else this.#group.whenKept(act, waiting)
  }

  /** More of the answer has come than was charged, so what comes is no part of it. */
  isBehindEnd({ meter }: Reading): boolean {
    return this.#x.row !== null && (!meter.terminal || meter.counted > this.#chargedTokens)
  }

  /**
   * Charges the exchange, unless it is charged already or free: writes its rows and resolves the hold. `refusal`: the row of the error
   * table that the client is told; absent = it is told none.
   */
  settle(how: How, refusal?: ErrorName): void {
    const x = this.#x
    const services = this.#services
    if (x.row !== null || x.free || x.hold === null) return
    const { isMuted } = this.#response
    const nowMs = services.clock.monotonic()
    const { answer, current, givenUp } = this.#asking
    const { reading } = answer
    this.#chargedTokens = reading?.meter.counted ?? 0
    const charged = this.#chargedBy(how, reading)
    // an error that came alone is free, whatever it reports
    const of: Ended = reading?.meter.failedAlone ? { ...charged, how: 'nothing' } : charged
    const used = withUnseenSearch(x, charged, usedOf(x, of))
    const tariff = x.tariff as Tariff
    const told = answerOf(x, charged, used)
    const reported = used.basis === 'none' ? null : tariff.bill(told)
    const bill = reported === null ? null : billOf(x, services, charged, used, told, reported)
    const disputed = bill === null || reported === null ? ZERO : subtract(reported.charge, bill.charge)
    const answerId = how === 'nothing' ? null : (reading?.meter.answerId ?? null)
    const upstreamKey =
      answerId === null ? null : makerOf(x, services, charged, answerId, current.claim.key.fingerprint)
    const { account, key } = x.entry as KeyEntry
    const counts = rowCounts(used.usage)
    const row: UsageRow = {
      requestId: x.id,
      accountId: account.id,
      keyId: key.id,
      group: key.group,
      protocol: x.protocol as Protocol,
      model: x.model,
      channel: charged.channel,
      status: x.status || (isMuted ? CLIENT_CLOSED : refusal === undefined ? answer.status : ERRORS[refusal].status),
      end: isMuted || x.left ? 'client_gone' : endOf(how, reading),
      // where an answer costs nothing that had to be counted, its charge is as good as reported
      basis: used.basis === 'counted' && reading !== null && tariff.countsNothing ? 'reported' : used.basis,
      // one by one, and not `...counts`: an object that grows behind a spread is copied several times
      input: counts.input,
      cache_read: counts.cache_read,
      cache_write_5m: counts.cache_write_5m,
      cache_write_1h: counts.cache_write_1h,
      output: counts.output,
      images: counts.images,
      charge: bill?.charge ?? ZERO,
      firstByteMs: current.firstByteMs < 0 ? null : whole(current.firstByteMs - x.startedMs),
      durationMs: whole(nowMs - x.startedMs),
      answerId,
      upstreamKey,
      priceVersion: tariff.priceVersion,
      multiplier: tariff.multiplier,
      lines: bill?.lines ?? NO_LINES,
      held: micro(x.hold.amount),
      disputed,
      cost: costOf(x, charged, reported, told),
      askedMs: whole(x.dispatchedMs - x.startedMs),
      attempts: this.#asking.notes(how === 'completed' || how === 'stopped' || how === 'left', nowMs),
      upstreamId: upstreamIdOf(current),
      clientRequestId: clientIdOf(x),
      via: charged.via,
      hiddenRatio: used.hiddenRatio,
    }
    this.#group = services.ledger.settle(x.hold, row, givenUp === null ? NO_ROWS : rowsOf(x, row, givenUp))
    x.usage = used.usage
    x.row = row // only now: when the ledger could not take the row, the hold is given back at the end
    tellUnread(services, charged, row, bill)
    watch(x, services, charged, used, row, nowMs)
    noteUnpaid(x, services, charged, current, refusal, givenUp) // beside what is paid for the answer in its place
    learn(x, services, charged, used)
    giveRightBack(x, services)
    if (how !== 'completed') services.ledger.write() // the client is told at once
  }

  #chargedBy(how: How, reading: Reading | null): Charged {
    const { candidate } = this.#asking
    const growth = reading?.growth ?? null
    return {
      how,
      reading,
      delivered: growth !== null && (how === 'stopped' || growth.holdsBack) ? growth : null,
      hidden: how === 'left' ? hiddenIn(this.#x, this.#services, reading) : null,
      channel: candidate.channel.name,
      candidate,
      via: candidate.translation?.via ?? null,
    }
  }
}

/** The unseen output of an answer that is given up because nobody waits for it. */
function hiddenIn(x: Exchange, services: Services, reading: Reading | null): Hidden | null {
  if (reading === null) return null
  return {
    ratio: services.stats.hiddenRatio(x.model, (reading.sent ?? (x.facts as Facts)).effort),
    most: reading.mostOutput,
  }
}

function endOf(how: How, reading: Reading | null): End {
  if (how === 'completed' || how === 'stopped') return 'completed'
  return how === 'broken' && !reading?.meter.failed ? 'upstream_cut' : 'upstream_error'
}

/** The key with which an answer can be continued, which is remembered; null = it cannot: a translated answer has an id of ours. */
function makerOf(
  x: Exchange,
  { answers }: Services,
  { via, channel }: Charged,
  id: string,
  key: string,
): string | null {
  if (via !== null || !protocolRow(x.protocol as Protocol).continuable) return null
  answers.remember((x.entry as KeyEntry).account.id, id, { channel, key })
  return key
}

/** The rows of attempts whose answers do not count beside that of the answer that does, without those that cost nothing, or nobody knows how much. */
function rowsOf(x: Exchange, row: UsageRow, givenUp: readonly GivenUp[]): readonly UsageRow[] {
  const rows: UsageRow[] = []
  for (const { attempt, note, takenBack } of givenUp) {
    // the upstream of one that lost may take money for the question, unless it has not got or has refused it
    const isAsked = attempt.status === 0 ? attempt.sent : attempt.status < 300
    const { candidate } = attempt.claim
    const channel = candidate.channel.name
    const how = takenBack === null ? 'left' : 'broken'
    const cost = isAsked
      ? costOfUncharged(x, { how, reading: takenBack, delivered: null, hidden: null, channel })
      : null
    if (cost === null || cost === ZERO) continue
    const own: Omit<UsageRow, Shared | keyof typeof UNCHARGED> = {
      requestId: attemptId(x.id, rows.length + 1),
      status: attempt.status,
      end: takenBack === null ? 'upstream_cut' : 'upstream_error',
      channel,
      via: candidate.translation?.via ?? null,
      cost,
      durationMs: note.ms,
      askedMs: whole(attempt.startedMs - x.startedMs),
      attempts: [note],
      upstreamId: upstreamIdOf(attempt),
    }
    rows.push({ ...row, ...UNCHARGED, ...own })
  }
  return rows
}

/**
 * Notes what the account has caused and is not charged: answers that cannot be told, at their price, and at what was held those for which
 * the account itself left no memory, and an upstream that may have written until its first byte was waited for no longer.
 */
function noteUnpaid(
  x: Exchange,
  services: Services,
  charged: Charged,
  current: Attempt,
  refusal: ErrorName | undefined,
  givenUp: readonly GivenUp[] | null,
): void {
  const { id } = (x.entry as KeyEntry).account
  const { how, candidate, reading } = charged
  const { unpaidRests } = services
  const held = micro((x.hold as Hold).amount)
  if (refusal === 'timeout' && current.sent) unpaidRests.timedOut(id, candidate, held)
  if (how === 'nothing' && reading?.translation?.isCrowdedByOwn) unpaidRests.unpaid(id, candidate, held, false)
  if (how === 'nothing') noteUntold(x, services, reading, candidate)
  for (const { attempt, takenBack } of givenUp ?? []) noteUntold(x, services, takenBack, attempt.claim.candidate)
}

function noteUntold(x: Exchange, services: Services, of: Reading | null, candidate: Candidate): void {
  if (of?.translation?.failure?.isCaused !== true) return
  const { name: channel } = candidate.channel
  const untold: Ended & { channel: string } = { how: 'broken', reading: of, delivered: null, hidden: null, channel }
  const answer = answerOf(x, untold, usedOf(x, untold))
  const { charge } = (x.tariff as Tariff).bill(causedOf(x, services, of, answer))
  services.unpaidRests.unpaid((x.entry as KeyEntry).account.id, candidate, charge, true)
}

/**
 * A whole answer tells how much its model writes, and how much of that is not seen. Those tell nothing that have pictures or sound, or
 * passes by other models, or for which the upstream bills text that the model did not think either.
 */
function learn(x: Exchange, services: Services, { how, reading, candidate }: Charged, used: Used): void {
  const { basis, usage, passes } = used
  if (how !== 'completed' || basis !== 'reported' || reading === null) return
  if (passes.length > 0 && hasOthers(x, candidate, passes)) return
  const { meter, sent } = reading
  const beside = usage.output_image + usage.output_audio + meter.images
  const facts = sent ?? (x.facts as Facts)
  if (usage.output === 0 || beside > 0 || facts.writesUnseen) return
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

/** Other models than the one that was asked for made a part of the answer. */
const hasOthers = (x: Exchange, { channel }: Candidate, passes: readonly Pass[]): boolean =>
  passes.some(({ model }) => model !== null && !modelsBehind(channel, model, x.model).includes(x.model))

/** A channel that reports more than can be is told of, and rests where another one can take its place. `nowMs`: monotonic. */
function watch(
  x: Exchange,
  services: Services,
  { candidate, reading }: Charged,
  used: Used,
  row: UsageRow,
  nowMs: number,
): void {
  const { disputeRests, unpaidRests } = services
  if (row.charge > 0) unpaidRests.paid(row.accountId, row.charge, nowMs)
  if (row.basis === 'none') return
  if (used.isReport && reading?.meter.namesInput && used.passes.length === 0) {
    const estimated = (x.tariff as Tariff).estimatedInput((x.facts as Facts).prompt)
    services.skew.note(candidate.channel.name, x.model, inputOf(used.usage), estimated)
  }
  disputeRests.answered(candidate, nowMs)
  if (row.disputed > 0) dispute(x, services, candidate, row)
}

function dispute(x: Exchange, { disputeRests, upstreamLog }: Services, candidate: Candidate, row: UsageRow): void {
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

/**
 * Tells of what an operator may have to look at: what was charged although the price has no entry for it, and words of an upstream that
 * are not known.
 */
function tellUnread(
  services: Services,
  { channel, candidate, how, reading }: Charged,
  row: UsageRow,
  bill: Bill | null,
): void {
  const { metrics, upstreamLog } = services
  if (bill !== null && bill.unlistedTier !== null) metrics.tierUnlisted(row.model)
  if (bill?.unmatchedPicture) metrics.pictureUnmatched(row.model)
  if (reading === null) return
  const { meter } = reading
  const isRead = meter.usage !== null && meter.namesInput && meter.final
  if (how === 'completed' && row.basis === 'counted' && !isRead) metrics.usageCounted(channel)
  const word = meter.unknownFinish
  if (word === null) return
  metrics.finishUnknown(channel)
  upstreamLog.strangeFinish(row.requestId, candidate.channel, word)
}

/** The customer is charged what the request can have caused of what was reported. */
function billOf(
  x: Exchange,
  services: Services,
  { reading }: Charged,
  used: Used,
  answer: BilledAnswer<Tariff>,
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
function withUnseenSearch(x: Exchange, { channel, reading }: Charged, used: Used): Used {
  if (used.basis === 'none' || reading === null || used.usage.searches > 0 || !mustSearch(x, reading)) return used
  const compiled = x.world.routes.channels.find(({ name }) => name === channel)
  return compiled?.hidesSearches ? { ...used, usage: { ...used.usage, searches: 1 } } : used
}

const mustSearch = (x: Exchange, { sent }: Reading): boolean =>
  (sent ?? (x.facts as Facts)).tools.some(({ cost, forced }) => cost === 'web_search' && forced) ||
  isOnline(x) ||
  x.world.model(x.model)?.searches === 'always'

const whole = (ms: number): number => Math.max(0, Math.round(ms))

/** The usage in the words of the tariff: beside what was asked for, what the answer says of itself. */
function answerOf(
  x: Exchange,
  { channel, reading, delivered }: Pick<Charged, 'channel' | 'reading' | 'delivered'>,
  { usage, passes }: Used,
): BilledAnswer<Tariff> {
  const { tiers, picture, tools: asked } = reading?.sent ?? (x.facts as Facts)
  const answer: BilledAnswer<Tariff> = { usage }
  if (reading === null) answer.unanswered = true
  if (passes.length > 0) answer.parts = partsOf(x, channel, passes)
  const reported = reading?.meter.tiers ?? NO_TIERS
  if (tiers !== NO_TIERS || reported !== NO_TIERS) answer.tiers = { asked: tiers, reported }
  if (usage.images > 0) answer.pictures = { asked: picture, reported: reading?.meter.pictureKinds ?? NO_KINDS }
  const units = reading?.meter.units ?? 0
  if (units > 1) answer.units = units
  if (reading !== null && asked.length > 0) {
    // only tools that the request names are charged: others belong to what those do
    const seen = delivered?.deliveredTools ?? reading.meter.tools
    const { hidesCalls = false } = protocolRow(x.protocol as Protocol).price
    answer.tools = { asked, used: withUnseen(asked, seen, hidesCalls) }
  }
  return answer
}

/** The cost that the upstream takes, for all that it reports; null = not known. It takes money also for an answer that was taken back from the client. */
const costOf = (x: Exchange, o: Charged, bill: Bill | null, answer: BilledAnswer<Tariff>): Micro | null =>
  bill === null
    ? costOfUncharged(x, { ...o, how: 'broken' })
    : (x.world.cost(o.channel)?.of(bill.lines, answer, x.tariff as Tariff) ?? null)

/** The cost that an upstream takes for an answer that nobody is charged for; null = not known. */
function costOfUncharged(x: Exchange, o: Ended & Pick<Charged, 'channel'>): Micro | null {
  const cost = x.world.cost(o.channel)
  if (cost === null) return null
  const used = usedOf(x, o)
  if (used.basis === 'none') return ZERO
  const tariff = x.tariff as Tariff
  const answer = answerOf(x, o, used)
  return cost.of(tariff.bill(answer).lines, answer, tariff)
}
