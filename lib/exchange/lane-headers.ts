/** What an answer says of its translation. All words are of a fixed list: nothing that a client wrote gets into a header. */

import type { Lane, Lanes } from '../translate/lane.ts'
import type { LossWord } from '../translate/loss.ts'
import type { Exchange } from './exchange.ts'

const LONGEST = 512

/** `[name, value, …]` of an answer that was translated. `ofAnswer`: what it loses itself. */
export function laneHeaders({ via, losses }: Lane, into: string[], ofAnswer?: ReadonlySet<LossWord>): void {
  into.push('x-gateway-via', via)
  dropped(ofAnswer === undefined ? losses : losses.union(ofAnswer), into)
}

/** In a head that goes out before any upstream has answered: what every lane loses that was looked at. */
export function nameLosses(lanes: Lanes, into: string[]): void {
  const losses = new Set<LossWord>()
  for (const lane of lanes.made.values())
    if (lane !== 'memory' && 'losses' in lane) for (const word of lane.losses) losses.add(word)
  lanes.named = losses
  dropped(losses, into)
}

/** In the head of an answer that is not translated: a search without a price was left out of the request. */
export function nameLeftOut({ facts }: Pick<Exchange, 'facts'>, into: string[]): void {
  if (facts !== null && facts.leftOut !== null) into.push('x-gateway-dropped', 'web_search')
}

function dropped(losses: ReadonlySet<LossWord>, into: string[]): void {
  if (losses.size > 0) into.push('x-gateway-dropped', [...losses].sort().join(',').slice(0, LONGEST))
}
