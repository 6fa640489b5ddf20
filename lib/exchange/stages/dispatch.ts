/** The stages at the end of a plan: the relay asks the candidates and passes the answer on, or the tokens of a request are counted. */
import type { Protocol } from '../../terms/records.ts'
import { stage } from '../plan.ts'
import { DONE, NEXT } from '../record/ending.ts'
import type { Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import { answerEstimate, countsNot } from '../relay/counting.ts'
import { Relay } from '../relay/relay.ts'
import { chooseCandidate } from './candidates.ts'

export const dispatch = stage<'body' | 'model', never>((x, services) => {
  if (!x.left) new Relay(x, services).start()
  return DONE
})

/** Counts tokens: a channel is asked where one can count, else the answer is an estimate of ours. It is never refused for money. */
export const countLocally = stage<'model' | 'maker', 'route'>((x, services) => {
  if (x.body.length > 0 && someChannelCounts(x, services)) return NEXT // an empty body is one that was not kept
  answerEstimate(x, services)
  return DONE
})

function someChannelCounts(x: Exchange, services: Services): boolean {
  if (!chooseCandidate(x, services) || x.claim === null) return false
  return !countsNot(x.claim.candidate.channel, x.protocol as Protocol)
}
