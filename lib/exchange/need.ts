/** What an exchange may cost at most when a candidate is asked, which is held before it is. */
import { type Micro, micro, ZERO } from '../base/money.ts'
import type { Candidates } from '../channels/pick.ts'
import type { Candidate } from '../channels/route.ts'
import type { Hold } from '../ledger/ledger.ts'
import type { Request } from '../pricing/tariff.ts'
import type { Facts } from '../protocols/facts.ts'
import type { OutputBounds } from '../protocols/maxima.ts'
import type { Prompt } from '../protocols/prompt.ts'
import { SEARCH_SUFFIX } from '../protocols/server-tools.ts'
import { NO_TIERS, UNSAID } from '../protocols/usage.ts'
import type { Protocol } from '../terms/records.ts'
import type { Lane } from '../translate/lane.ts'
import type { Exchange } from './exchange.ts'
import { laneOf } from './lanes.ts'
import { boundsAt, canThink, isNamed, openOutput } from './output.ts'
import { tariffOfAll } from './passes.ts'
import type { Services } from './services.ts'

/**
 * `worst`: what the answer has nearly always at most, also where no maximum bounds it or its thoughts. `named`: what the
 * request names, and without a maximum the model's `default_output`.
 */
export type Case = 'worst' | 'named'

/** What the exchange may cost at the candidate. Where the hold grows with the answer, it is also noted what it has for that. */
export function needOf(x: Exchange, services: Services, candidate: Candidate, of: Case): Micro {
  const lane = laneOf(x, services, candidate)
  const facts = lane?.facts ?? (x.facts as Facts)
  const bounds = lane === null ? boundsOfAll(x, candidate) : [boundsAt(x, candidate)]
  const open = of === 'named' ? 0 : openOutput(x, services)
  const thoughts = open > 0 && canThink(x, services, facts) ? open : 0
  const request = requestOf(x, facts, lane, { bounds, open, thoughts })
  const tariff = tariffOfAll(x, candidate.channel, facts.otherModels)
  if (x.coveredOutput > 0) x.answerHold = tariff.answerHold(request)
  return tariff.estimate(request)
}

/** What must be held for a further candidate above what is held. Only where some candidate translates can one need more than another. */
export function moreFor(x: Exchange, services: Services, candidate: Candidate): Micro {
  if (x.lanes === null || x.attempts === 1) return ZERO
  const of = x.uncovered || x.coveredOutput > 0 ? 'named' : 'worst'
  return micro(Math.max(0, needOf(x, services, candidate, of) - (x.hold as Hold).amount))
}

/** Of all who may be asked in the client's protocol: whoever of them answers, its reading of the request is held. */
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
function requestOf(x: Exchange, facts: Facts, lane: Lane | null, unbounded: Unbounded): Request {
  const named = unbounded.bounds.every(one => isNamed(facts, one))
  const isWorst = unbounded.open > 0
  const request: Request = {
    prompt: lane === null ? facts.prompt : largerOf(facts.prompt, (x.facts as Facts).prompt),
    maxOutput: named ? facts.maxOutput : null,
    besideOutput: named ? besideOf(facts, unbounded) : 0,
    n: facts.n,
    drawingTools: facts.drawingTools,
    maxToolCalls: facts.maxToolCalls,
    searches: isOnline(x) && facts.tools.length === 0 ? (isWorst ? SEARCHES : ONE_SEARCH) : facts.searches,
    searchesMost: isWorst,
    advisors: facts.advisors,
    cacheTtl: facts.cacheTtl,
    protocol: lane?.via ?? (x.protocol as Protocol),
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
