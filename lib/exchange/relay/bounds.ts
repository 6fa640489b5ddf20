/**
 * What may be charged of an upstream's report: no more than what the request can have caused at this channel
 * (`lib/pricing/bound.ts`), and never less than what was counted or seen in what came from the upstream.
 */
import {
  type AnswerBounds,
  bounded,
  mostPassesCaused,
  mostPicturesCaused,
  mostSearchesCaused,
} from '../../pricing/bound.ts'
import type { BilledAnswer as Answer, Tariff } from '../../pricing/tariff.ts'
import type { Facts } from '../../protocols/facts.ts'
import type { Meter } from '../../protocols/meter.ts'
import type { Prompt } from '../../protocols/prompt.ts'
import { inputOf, outputOf } from '../../protocols/words/usage.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Exchange } from '../record/exchange.ts'
import { mostOutputOf } from '../record/need.ts'
import type { Services } from '../record/services.ts'
import type { Reading } from './reading.ts'

/** The answer as far as its request can have caused it; the very same where it is all of it. */
export function causedOf(x: Exchange, services: Services, reading: Reading, answer: Answer<Tariff>): Answer<Tariff> {
  const { meter, mostOutput } = reading
  const asked = x.tariff as Tariff
  const sent = reading.sent ?? (x.facts as Facts)
  const prompt = promptOf(x, reading)
  const { usage, parts } = answer
  const calls = callsIn(meter)
  const images = mostPicturesCaused(sent, x.protocol as Protocol)
  const searches = mostSearchesCaused(sent)
  const seconds = sent.mostUploadS > 0 ? sent.mostUploadS : usage.seconds
  const hasParts = parts !== undefined && parts.length > 0
  // nearly every report is within its bounds
  if (
    !hasParts &&
    inputOf(usage) <= asked.mostInput(prompt, calls) &&
    outputOf(usage) <= mostOutput &&
    usage.images <= images &&
    usage.searches <= searches &&
    usage.seconds <= seconds &&
    (answer.units ?? 1) <= sent.units
  )
    return answer
  const reported = meter.passes.length
  const most = mostPassesCaused(sent, calls)
  const bounds: AnswerBounds<Tariff> = {
    whole: hasParts ? null : { input: asked.mostInput(prompt, calls), output: mostOutput },
    ofPart({ tariff, usage: part }, index, written) {
      // what was counted beyond the reports stands behind them
      if (index >= reported) return { input: inputOf(part), output: outputOf(part) }
      if (index >= most) return null
      const output =
        tariff === asked ? mostOutput : mostOutputOf(x, services, tariff, sent, reading.bounds, maximumOfOthers(sent))
      return { input: tariff.mostInput(prompt, calls, written), output }
    },
    counted: meter.counted,
    images: Math.max(images, meter.seenImages),
    searches: Math.max(searches, meter.seenSearches),
    seconds,
  }
  const caused = bounded(answer, bounds, asked)
  return answer.units === undefined ? caused : { ...caused, units: Math.min(answer.units, sent.units) }
}

/** Uses of tools of the upstream that were seen in the answer. */
function callsIn({ seenSearches, tools }: Meter): number {
  let calls = seenSearches
  for (const tool of tools) calls += tool.calls
  return calls
}

/** A request that was translated has two bodies, and either may be the longer one. */
function promptOf(x: Exchange, { sent }: Reading): Prompt {
  const asked = (x.facts as Facts).prompt
  if (sent === null || sent.prompt.textBytes >= asked.textBytes) return sent?.prompt ?? asked
  return { ...sent.prompt, textBytes: asked.textBytes }
}

/** A model that is asked as a tool may have a maximum of its own; null = none is named for one of them. */
function maximumOfOthers({ maxOutput, advisors }: Facts): number | null {
  let most = maxOutput
  for (const { maximum } of advisors) most = most === null || maximum === null ? null : Math.max(most, maximum)
  return most
}
