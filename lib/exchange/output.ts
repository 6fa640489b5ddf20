/**
 * How much an answer may write: by the maxima that its upstream reads, and by what may be thought where nobody sees it. A
 * maximum that is not read never lowers anything, and raises what it is larger than.
 */
import type { Candidate } from '../channels/route.ts'
import { asksToThink } from '../protocols/effort.ts'
import type { Facts } from '../protocols/facts.ts'
import { MOST, type OutputBounds } from '../protocols/maxima.ts'
import type { Protocol } from '../terms/records.ts'
import type { Exchange } from './exchange.ts'
import { laneOf } from './lanes.ts'
import type { Services } from './services.ts'

/** What a model is taken to be able to write of which nobody says it. */
const UNKNOWN_CEILING = 128_000

/** The most output tokens that a model writes in one answer, as far as is known. */
export const ceilingOf = (x: Exchange): number => x.world.model(x.model)?.maxOutput ?? UNKNOWN_CEILING

/** Whether the model may think: the request asks for it, the model's row says so, or it did in one of its last answers. */
export function canThink(x: Exchange, { stats }: Services, { effort }: Facts): boolean {
  if (asksToThink(effort)) return true
  const form = x.world.model(x.model)?.thinking ?? null
  return (form !== null && form !== 'none') || stats.thinks(x.model)
}

/** What an answer has nearly always at most, where nothing bounds it: as learned, else what the model can write. */
export function openOutput(x: Exchange, { stats }: Services): number {
  const ceiling = ceilingOf(x)
  return Math.min(ceiling, stats.openOutput(x.model) ?? ceiling)
}

/** Whether a request names a maximum that an upstream with these bounds reads. */
export const isNamed = ({ maxima }: Facts, { reads }: OutputBounds): boolean => (maxima & reads) !== 0

/** How a candidate bounds the answer to this exchange, in the protocol in which it is asked. */
export const boundsAt = (x: Exchange, { channel, lane }: Candidate): OutputBounds =>
  channel.bounds[lane?.via ?? (x.form as Protocol)]

/**
 * The most output tokens that this channel can write for this request (`n` answers together): the largest maximum that it reads,
 * without one what the model can write; and as much again beside it where it can think and the maximum does not bound that.
 * Made for the bound of what a channel may report, and for what a client that left is charged.
 */
export function mostOutputAt(x: Exchange, services: Services, candidate: Candidate): number {
  const facts = laneOf(x, services, candidate)?.facts ?? (x.facts as Facts)
  const bounds = boundsAt(x, candidate)
  const ceiling = ceilingOf(x)
  const said = facts.maxOutput === null || facts.maxOutput >= MOST ? 0 : facts.maxOutput
  const isRead = isNamed(facts, bounds) && facts.maxOutput !== null && facts.maxOutput < MOST
  const answer = isRead ? said : Math.max(ceiling, said)
  const thoughts = !bounds.within && canThink(x, services, facts) ? ceiling : 0
  return (answer + thoughts) * facts.n
}
