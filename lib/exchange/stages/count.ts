/** Token counting: forwarded when a channel can, else answered from our own estimate; never refused for money. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Facts } from '../../protocols/facts.ts'
import { protocolRow } from '../../protocols/table.ts'
import type { Protocol } from '../../terms/records.ts'
import { countsNot } from '../count-answers.ts'
import type { Exchange } from '../exchange.ts'
import { stage } from '../plan.ts'
import { answer, ownHeaders } from '../refuse.ts'
import { DONE, NEXT } from '../verdict.ts'
import { chooseCandidate } from './candidates.ts'

export const countLocally = stage<'model' | 'maker', 'route'>(x => {
  const isKept = x.body.length > 0
  if (isKept && chooseCandidate(x) && x.claim !== null && !countsNot(x.claim.candidate.channel, x.protocol as Protocol))
    return NEXT
  answerEstimate(x)
  return DONE
})

const BYTES_PER_TOKEN = 4

/** The protocol's own form of a count, estimated as the hold of such a request would be. */
export function answerEstimate(x: Exchange): void {
  const tariff = x.world.tariff((x.entry as KeyEntry).key.group, x.model)
  const { prompt } = x.facts as Facts
  const tokens = tariff === null ? Math.ceil(prompt.textBytes / BYTES_PER_TOKEN) : tariff.estimatedInput(prompt)
  const headers = ownHeaders(x)
  headers.push('content-type', 'application/json; charset=utf-8')
  answer(x, 200, headers, Buffer.from(JSON.stringify(protocolRow(x.protocol as Protocol).countAnswer?.(tokens))))
}
