/**
 * What an exchange may cost at most when a candidate is asked, which is held before it is: how much its answer may write, by the maxima
 * that the upstream reads and by what may be thought where nobody sees it (a maximum that is not read never lowers anything, and raises
 * what it is larger than), at the prices of all models that may have a part in it.
 */
import { type Micro, micro, ZERO } from '../../base/money.ts'
import type { Candidates } from '../../channels/pick.ts'
import type { Candidate } from '../../world/table.ts'
import { type Hold, MONEY_WAIT_MS } from '../../ledger/ledger.ts'
import { type HeldRequest, Tariff, type BilledPart } from '../../pricing/tariff.ts'
import type { Facts, Prompt } from '../../protocols/requests/facts.ts'
import { type OutputBounds, asksToThink } from '../../protocols/words/maxima.ts'
import { SEARCH_SUFFIX } from '../../protocols/words/server-tools.ts'
import { NO_TIERS, UNSAID } from '../../protocols/words/usage.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { Model } from '../../terms/records.ts'
import type { TranslatedRequest } from '../../translate/ask.ts'
import type { Exchange } from './exchange.ts'
import { translatedFor } from './translated-request.ts'
import type { Services } from './services.ts'
import { ceilingOf } from '../../pricing/bound.ts'
import type { KeyEntry } from '../../access/keys.ts'
import type { CompiledChannel } from '../../world/compiled-channel.ts'
import type { Pass } from '../../protocols/words/reports.ts'
import type { World } from '../../world/world.ts'

/**
 * `worst`: what the answer has nearly always at most, also where no maximum bounds it or its thoughts. `named`: what the
 * request names, and without a maximum the model's `default_output`.
 */
export type Case = 'worst' | 'named'

/** What the exchange may cost at the candidate. Where the hold grows with the answer, it is also noted what it has for that. */
export function needOf(x: Exchange, services: Services, candidate: Candidate, of: Case): Micro {
  const translated = translatedFor(x, services, candidate)
  const facts = translated?.facts ?? (x.facts as Facts)
  const bounds = translated === null ? boundsOfAll(x, candidate) : [boundsAt(x, candidate)]
  const open = of === 'named' ? 0 : openOutput(x, services)
  const thoughts = open > 0 && canThink(x, services, facts) ? open : 0
  const request = requestOf(x, facts, translated, { bounds, open, thoughts })
  const tariff = tariffOfAll(x, candidate.channel, facts.otherModels)
  if (x.coveredOutput > 0) x.answerHold = tariff.answerHold(request)
  return tariff.estimate(request)
}

/** What must be held for a further candidate above what is held. Only where some candidate translates can one need more than another. */
export function moreFor(x: Exchange, services: Services, candidate: Candidate): Micro {
  if (x.translations === null || x.attempts === 1) return ZERO
  const of = x.uncovered || x.coveredOutput > 0 ? 'named' : 'worst'
  return micro(Math.max(0, needOf(x, services, candidate, of) - (x.hold as Hold).amount))
}

/** The bounds of all who may be asked in the client's protocol: whoever of them answers, its reading of the request is held. */
function boundsOfAll(x: Exchange, candidate: Candidate): readonly OutputBounds[] {
  const { bounds } = x.candidates as Candidates
  return bounds.length > 0 ? bounds : [boundsAt(x, candidate)]
}

/** How much an answer may have that no maximum bounds, and how much may be thought beside one that is bounded. */
interface Unbounded {
  bounds: readonly OutputBounds[]
  open: number
  thoughts: number
}

/** The most that any of the upstreams thinks beside the maximum of an answer. */
function besideOf({ thinkingBudget: budget }: Facts, { bounds, thoughts }: Unbounded): number {
  let most = 0
  for (const { within, readsBudget } of bounds) {
    if (within) continue
    most = Math.max(most, readsBudget && budget > 0 ? budget : thoughts === 0 ? 0 : Math.max(budget, thoughts))
  }
  return most
}

const ONE_SEARCH = { uses: 1, unlimited: 0 }
const SEARCHES = { uses: 0, unlimited: 1 }

/** Whether the upstream's name of the model says that every request searches. */
export const isOnline = ({ claim }: Pick<Exchange, 'claim'>): boolean =>
  claim?.candidate.upstreamModel.endsWith(SEARCH_SUFFIX) === true

/** Most requests say nothing of tiers and pictures, and are held at prices that are ready for them. */
function requestOf(x: Exchange, facts: Facts, translated: TranslatedRequest | null, unbounded: Unbounded): HeldRequest {
  const named = isNamedAtAll(facts, unbounded.bounds)
  const isWorst = unbounded.open > 0
  const request: HeldRequest = {
    prompt: translated === null ? facts.prompt : largerOf(facts.prompt, (x.facts as Facts).prompt),
    maxOutput: named ? facts.maxOutput : null,
    besideOutput: named ? besideOf(facts, unbounded) : 0,
    n: facts.n,
    drawingTools: facts.drawingTools,
    maxToolCalls: facts.maxToolCalls,
    searches: isOnline(x) && facts.tools.length === 0 ? (isWorst ? SEARCHES : ONE_SEARCH) : facts.searches,
    searchesMost: isWorst,
    advisors: facts.advisors,
    cacheTtl: facts.cacheTtl,
    protocol: translated?.via ?? (x.protocol as Protocol),
  }
  if (!named) request.leastOutput = Math.max(unbounded.open, facts.maxOutput ?? 0)
  if (x.coveredOutput > 0) request.outputCap = x.coveredOutput
  if (facts.uploadS + facts.spokenS > 0) request.seconds = facts.uploadS + facts.spokenS
  if (facts.characters > 0) request.characters = facts.characters
  if (facts.tiers !== NO_TIERS) request.tiers = facts.tiers
  if (facts.picture !== UNSAID) request.picture = facts.picture
  if (facts.units > 1) request.units = facts.units
  if (facts.tools.length > 0) request.tools = facts.tools
  if (!facts.answersSound) request.answersSound = false
  if (!facts.answersPictures) request.answersPictures = false
  return request
}

const largerOf = (sent: Prompt, asked: Prompt): Prompt =>
  sent.textBytes >= asked.textBytes ? sent : { ...sent, textBytes: asked.textBytes }

// --- how much an answer may write

/** Whether the model may think: the request asks for it, the model's row says so, or it did in one of its last answers. */
export function canThink(x: Exchange, { stats }: Services, { effort }: Facts): boolean {
  if (asksToThink(effort)) return true
  const model = x.world.model(x.model)
  return (model !== undefined && thinksByRow(model)) || stats.thinks(x.model)
}

/** What an answer has nearly always at most, where nothing bounds it: as learned, else what the model can write. */
export function openOutput(x: Exchange, { stats }: Services): number {
  const ceiling = ceilingOf(x.world.model(x.model) ?? { maxOutput: null })
  return Math.min(ceiling, stats.openOutput(x.model) ?? ceiling)
}

const thinksByRow = ({ thinking }: Model): boolean => thinking !== null && thinking !== 'none'

/** The hidden ratio of an answer of which everything is seen, in thousandths. */
export const SEEN_WHOLLY = 1000

/** Whether a request names a maximum that an upstream with these bounds reads. */
export const isNamed = ({ maxima }: Facts, { reads }: OutputBounds): boolean => (maxima & reads) !== 0

function isNamedAtAll(facts: Facts, bounds: readonly OutputBounds[]): boolean {
  for (const one of bounds) if (!isNamed(facts, one)) return false
  return true
}

/** How a candidate bounds the answer to this exchange, in the protocol in which it is asked. */
export const boundsAt = (x: Exchange, { channel, translation }: Candidate): OutputBounds =>
  channel.bounds[translation?.via ?? (x.form as Protocol)]

/**
 * The most output tokens that an upstream with these bounds can write for this request (all answers together): the largest maximum
 * that it reads, without one what the model can write; and as much again beside it where the model can think and the maximum
 * does not bound that. More is not charged, whatever is reported. `tariff`: of the models that may write it. `facts`: of the
 * request as the upstream got it.
 */
export function mostOutputOf(
  x: Exchange,
  services: Services,
  tariff: Tariff,
  facts: Facts,
  bounds: OutputBounds,
  maximum = facts.maxOutput,
) {
  const thinks = asksToThink(facts.effort) || tariff.models.some(thinksByRow) || services.stats.thinksForAll(x.model)
  const thinksBeside = thinks && !bounds.within
  return tariff.mostOutput(facts, maximum, isNamed(facts, bounds), thinksBeside)
}

// --- passes

/**
 * What is known of the request whose answer has the passes. An upstream may make a part of its answer, a pass, with another model than the
 * one that was asked for: with an advisor, or with a fallback. Each pass costs what its own model costs.
 */
interface Asking {
  readonly world: World
  readonly entry: KeyEntry | null
  readonly protocol: Protocol | null
  readonly model: string
  readonly tariff: Tariff | null
}

/** The price of every model that may have a part in the answer, where the request names others beside its own. */
export function tariffOfAll(x: Asking, channel: CompiledChannel | undefined, others: readonly string[]): Tariff {
  if (others.length === 0) return x.tariff as Tariff
  return Tariff.dearest([x.tariff as Tariff, ...others.map(name => tariffOfPass(x, channel, name))])
}

/** The models of ours that a channel's upstream may mean by this name. The one that was asked for is preferred. */
export function modelsBehind(channel: CompiledChannel | undefined, name: string, asked: string): readonly string[] {
  const mapped = channel?.modelsOf.get(name) ?? [name]
  return mapped.includes(asked) ? [asked] : mapped
}

/** The price of a pass. `name` is the upstream's name of the model; null = the model that was asked for. */
function tariffOfPass(x: Asking, channel: CompiledChannel | undefined, name: string | null): Tariff {
  const asked = x.tariff as Tariff
  if (name === null) return asked
  const could = modelsBehind(channel, name, x.model)
  if (could.includes(x.model)) return asked
  const priced = could.map(model => priceOf(x, model)).filter(tariff => tariff !== null)
  if (could.length === 1 && priced[0] !== undefined) return priced[0]
  // it is not known which model this was, so each class of tokens has the highest price of all models that it could be
  return Tariff.dearest([asked, ...priced])
}

function priceOf(x: Asking, model: string): Tariff | null {
  const tariff = x.world.tariff((x.entry as KeyEntry).key.group, model)
  return tariff?.covers(x.protocol as Protocol) ? tariff : null
}

/** What each pass used, with its price. `channel` is the name of the channel that made them. */
export function partsOf(x: Asking, channel: string, passes: readonly Pass[]): BilledPart<Tariff>[] {
  const at = x.world.routes.channels.find(({ name }) => name === channel)
  return passes.map(({ model, usage }) => ({ tariff: tariffOfPass(x, at, model), usage }))
}

// --- waiting for money

/** How long the exchange may still wait for money: all its waits together take at most MONEY_WAIT_MS, whatever the store does. */
export const moneyLeftMs = (x: Exchange): number => Math.max(0, MONEY_WAIT_MS - x.moneyWaitMs)

/** Counts a wait of the exchange for money, and passes its end on. */
export function countMoneyWait<T>(x: Exchange, { clock, metrics }: Services, wait: Promise<T>): Promise<T> {
  const sinceMs = clock.monotonic()
  return wait.finally(() => {
    const waitedMs = clock.monotonic() - sinceMs
    x.moneyWaitMs += waitedMs
    metrics.moneyWait(waitedMs / 1000)
  })
}
