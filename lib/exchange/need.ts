/** What an exchange may cost at most when a candidate is asked, which is held before it is. */
import { type Micro, micro, ZERO } from '../base/money.ts'
import type { Candidates } from '../channels/pick.ts'
import type { Candidate } from '../channels/route.ts'
import type { Hold } from '../ledger/ledger.ts'
import type { Request, Tariff } from '../pricing/tariff.ts'
import { asksToThink } from '../protocols/effort.ts'
import type { Facts } from '../protocols/facts.ts'
import type { OutputBounds } from '../protocols/maxima.ts'
import type { Prompt } from '../protocols/prompt.ts'
import { NO_TIERS, UNSAID } from '../protocols/usage.ts'
import type { Protocol } from '../terms/records.ts'
import type { Lane } from '../translate/lane.ts'
import type { Exchange } from './exchange.ts'
import { laneOf } from './lanes.ts'
import { boundsAt, isNamed } from './output.ts'
import { tariffOfAll } from './passes.ts'
import type { Services } from './services.ts'

/** The most that the exchange can cost at the candidate. Where the hold grows with the answer, it is also noted what it has for that. */
export function needOf(x: Exchange, services: Services, candidate: Candidate): Micro {
  const lane = laneOf(x, services, candidate)
  const facts = lane?.facts ?? (x.facts as Facts)
  const tariff = tariffOfAll(x, candidate.channel, facts.otherModels)
  const request = requestOf(
    x,
    facts,
    lane,
    tariff,
    lane === null ? boundsOfAll(x, candidate) : [boundsAt(x, candidate)],
  )
  if (x.coveredOutput > 0) x.answerHold = tariff.answerHold(request)
  return tariff.estimate(request)
}

/** What must be held for a further candidate above what is held. Only where some candidate translates can one need more than another. */
export function moreFor(x: Exchange, services: Services, candidate: Candidate): Micro {
  if (x.lanes === null || x.attempts === 1) return ZERO
  return micro(Math.max(0, needOf(x, services, candidate) - (x.hold as Hold).amount))
}

/** Of all who may be asked in the client's protocol: whoever of them answers, its reading of the request is held. */
function boundsOfAll(x: Exchange, candidate: Candidate): readonly OutputBounds[] {
  const { bounds } = x.candidates as Candidates
  return bounds.length > 0 ? bounds : [boundsAt(x, candidate)]
}

/** The most that any of them thinks beside the maximum of an answer. */
function besideOf(facts: Facts, bounds: readonly OutputBounds[], thoughts: number): number {
  let most = 0
  for (const { within, readsBudget } of bounds) {
    if (within) continue
    const budget = facts.thinkingBudget
    most = Math.max(most, readsBudget && budget > 0 ? budget : Math.max(budget, thoughts))
  }
  return most
}

/** Most requests say nothing of tiers and pictures, and are held at prices that are ready for them. */
function requestOf(
  x: Exchange,
  facts: Facts,
  lane: Lane | null,
  tariff: Tariff,
  bounds: readonly OutputBounds[],
): Request {
  const named = bounds.every(one => isNamed(facts, one))
  const request: Request = {
    prompt: lane === null ? facts.prompt : largerOf(facts.prompt, (x.facts as Facts).prompt),
    maxOutput: named ? facts.maxOutput : null,
    besideOutput: besideOf(facts, bounds, asksToThink(facts.effort) ? tariff.defaultOutput : 0),
    n: facts.n,
    drawingTools: facts.drawingTools,
    maxToolCalls: facts.maxToolCalls,
    searches: facts.searches,
    advisors: facts.advisors,
    cacheTtl: facts.cacheTtl,
    protocol: lane?.via ?? (x.protocol as Protocol),
  }
  if (!named && facts.maxOutput !== null) request.leastOutput = facts.maxOutput
  if (x.coveredOutput > 0) request.outputCap = x.coveredOutput
  if (facts.uploadS + facts.spokenS > 0) request.seconds = facts.uploadS + facts.spokenS
  if (facts.characters > 0) request.characters = facts.characters
  if (facts.tiers !== NO_TIERS) request.tiers = facts.tiers
  if (facts.picture !== UNSAID) request.picture = facts.picture
  if (facts.tools.length > 0) request.tools = facts.tools
  if (!facts.answersSound) request.answersSound = false
  if (!facts.answersPictures) request.answersPictures = false
  return request
}

const largerOf = (sent: Prompt, asked: Prompt): Prompt =>
  sent.textBytes >= asked.textBytes ? sent : { ...sent, textBytes: asked.textBytes }
