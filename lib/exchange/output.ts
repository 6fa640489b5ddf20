/**
 * How much an answer may write: by the maxima that its upstream reads, and by what may be thought where nobody sees it. A
 * maximum that is not read never lowers anything, and raises what it is larger than.
 */
import type { Candidate } from '../channels/route.ts'
import { asksToThink } from '../protocols/effort.ts'
import type { Facts } from '../protocols/facts.ts'
import type { OutputBounds } from '../protocols/maxima.ts'
import { ceilingOf } from '../pricing/bound.ts'
import type { Tariff } from '../pricing/tariff.ts'
import type { Model, Protocol } from '../terms/records.ts'
import type { Exchange } from './exchange.ts'
import type { Services } from './services.ts'

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

/** In thousandths. */
export const SEEN_WHOLLY = 1000

/** By how much more output of an answer its upstream will report than is seen of it, in thousandths: 1,000 to 20,000. */
export const hiddenRatioOf = (x: Exchange, { stats }: Services, { effort }: Facts): number =>
  stats.hiddenRatio(x.model, effort)

/** Whether a request names a maximum that an upstream with these bounds reads. */
export const isNamed = ({ maxima }: Facts, { reads }: OutputBounds): boolean => (maxima & reads) !== 0

/** How a candidate bounds the answer to this exchange, in the protocol in which it is asked. */
export const boundsAt = (x: Exchange, { channel, lane }: Candidate): OutputBounds =>
  channel.bounds[lane?.via ?? (x.form as Protocol)]

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
