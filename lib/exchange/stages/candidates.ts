/** Finds the channels that may serve this exchange, and chooses the first one. The next ones are chosen as attempts fail. */
import type { KeyEntry } from '../../access/keys.ts'
import { Candidates } from '../../channels/pick.ts'
import type { Protocol } from '../../terms/records.ts'
import { affinityOf } from '../affinity.ts'
import type { Exchange } from '../exchange.ts'
import { stage } from '../plan.ts'
import { refuse } from '../refuse.ts'
import type { Services } from '../services.ts'
import { NEXT } from '../verdict.ts'

export const findCandidates = stage<'model' | 'maker', 'route'>((x, services) => {
  const { group } = (x.entry as KeyEntry).key
  if (!chooseCandidate(x, services)) return refuse(x, services, 'no_channel', [group, x.model])
  if (x.claim !== null) return NEXT
  const { whyNone, retryAfterS } = x.candidates as Candidates
  if (whyNone === 'saturated') return refuse(x, services, 'saturated', [], retryAfterS)
  return refuse(x, services, 'channels_resting', [group, x.model], retryAfterS)
})

/** False: no channel of the group has the model for the protocol. True and `x.claim` null: all such channels rest or are full. */
export function chooseCandidate(x: Exchange, { health }: Services): boolean {
  const { account, key } = x.entry as KeyEntry
  const route = x.world.routes.find(key.group, x.model, x.protocol as Protocol)
  if (route === undefined) return false
  const asker = { account: account.id, only: x.maker, free: x.free }
  x.candidates = new Candidates(route, health, affinityOf(x), Math.random, asker)
  x.claim = x.candidates.next()
  return true
}
