/**
 * What an exchange that reached an upstream is charged for, by the way in which it ended: what the upstream reported, what was
 * counted in the answer, what was estimated for the hold, or nothing. Of a report no more is charged than what the request can have
 * caused at this channel (`lib/pricing/bound.ts`), and never less than what was counted or seen in what came from the upstream.
 */
import {
  type AnswerBounds,
  bounded,
  mostPassesCaused,
  mostPicturesCaused,
  mostSearchesCaused,
} from '../../pricing/bound.ts'
import type { Tariff } from '../../pricing/tariff.ts'
import type { BilledAnswer } from '../../pricing/tariff.ts'
import type { Facts, Prompt } from '../../protocols/requests/facts.ts'
import type { Meter } from '../../protocols/answers/meter.ts'
import { type Pass, saysTokens } from '../../protocols/words/reports.ts'
import type { Protocol } from '../../protocols/names.ts'
import { protocolRow } from '../../protocols/table.ts'
import { inputOf, noUsage, outputOf, type Usage, withOutput } from '../../protocols/words/usage.ts'
import type { Basis } from '../../terms/usage-row.ts'
import type { Exchange } from '../record/exchange.ts'
import { mostOutputOf } from '../record/need.ts'
import type { Services } from '../record/services.ts'
import type { Growth } from './growth.ts'
import type { Reading } from './reading.ts'

/**
 * `completed`: the upstream said all it had to. `broken`: it broke off, reported an error of its own, or was closed by us.
 * `left`: its client left, the upstream was asked, and we closed it before its end.
 * `stopped`: we ended it because the money had ended. `nothing`: no answer, or none that is charged.
 */
export type How = 'completed' | 'broken' | 'left' | 'stopped' | 'nothing'

export interface Ended {
  how: How
  reading: Reading | null
  /** The part that went on to the client, where the rest was held back; null = the client got all that was read. */
  delivered: Pick<Growth, 'delivered' | 'deliveredImages' | 'deliveredSearches' | 'deliveredTools'> | null
  /** The unseen output of an answer that was given up because nobody waited for it; null = it was not given up so. */
  hidden: Hidden | null
}

export interface Hidden {
  /** By how much more output is reported than seen, in thousandths. */
  ratio: number
  /** The most output tokens that the upstream can have written. */
  most: number
}

export interface Used {
  basis: Basis
  usage: Usage
  /** The parts that several models made. Empty: the model that was asked for made all of it. */
  passes: readonly Pass[]
  /** The upstream reported it, or a part of it. */
  isReport: boolean
  /** The ratio that raised the output, in thousandths; null = none did. */
  hiddenRatio: number | null
}

/** The highest number of tokens of one class that a row can hold. */
const MOST_TOKENS = 1e9
const NO_PASSES: readonly Pass[] = []
const NOTHING: Used = { basis: 'none', usage: noUsage(), passes: NO_PASSES, isReport: false, hiddenRatio: null }

export function usedOf(x: Exchange, o: Ended): Used {
  const used = withoutSeconds(x, o)
  const bySecond = protocolRow(x.protocol as Protocol).price.cover.some(set => set.includes('second'))
  return bySecond && used.basis !== 'none' ? withSeconds(x, o, used) : used
}

/** Adds the seconds of sound. It matters how they and the tokens were found only where these have a price. */
function withSeconds(x: Exchange, { reading }: Ended, used: Used): Used {
  const tariff = x.tariff as Tariff
  const seconds = reading?.meter.seconds ?? (x.facts as Facts).uploadS
  const isReported = seconds === 0 || reading?.meter.secondsReported === true
  const isCounted = (used.basis === 'counted' && tariff.has('input')) || (!isReported && tariff.has('second'))
  return { ...used, basis: isCounted ? 'counted' : 'reported', usage: { ...used.usage, seconds } }
}

function withoutSeconds(x: Exchange, o: Ended): Used {
  const { how, reading } = o
  if (how === 'nothing') return NOTHING
  // the upstream may take money for the question, however little of its answer was waited for
  const least = how === 'left' && (x.tariff as Tariff).pricesTokens ? counted(estimate(x), 0) : NOTHING
  if (reading === null) return least
  const most = o.delivered?.delivered ?? MOST_TOKENS
  const { meter } = reading
  const images = Math.min(o.delivered?.deliveredImages ?? MOST_TOKENS, meter.images)
  const searches = Math.min(o.delivered?.deliveredSearches ?? MOST_TOKENS, meter.searches)
  if (reading.foreign) {
    if (protocolRow(x.protocol as Protocol).price.tokensAsReported) return counted(estimate(x), 0)
    // where pictures cannot be counted, those that were asked for are charged
    const asked = protocolRow(x.protocol as Protocol).price.pictures && o.delivered === null ? (x.facts as Facts).n : 0
    return counted({ ...estimate(x), images: Math.max(images, asked), searches }, Math.min(most, reading.tokensOfBytes))
  }
  // an upstream that names neither input nor output for an answer with content reports nothing
  const report = meter.usage
  const isNone = report === null || (meter.produced > 0 && !saysTokens(report))
  const all = isNone ? null : withInput(x, report, meter)
  const usage = all === null || o.delivered === null ? all : { ...withImages(x, all, images), searches }
  const concluded = how === 'completed' || (how !== 'stopped' && meter.concluded)
  if (concluded && usage !== null && meter.final)
    return { basis: basisOfReport(meter), usage, passes: meter.passes, isReport: true, hiddenRatio: null }
  // where an answer is cut, the client got what was told of it
  const isCut = how === 'broken' || how === 'stopped'
  const { counted: seen, produced } = isCut ? reading : meter
  const isEmpty = usage === null && seen === 0 && searches === 0 && meter.tools.length === 0
  if ((how === 'broken' || how === 'left') && isEmpty) return least
  const shown = Math.min(most, produced)
  const output = withHidden(o.hidden, shown, seen)
  const hiddenRatio = output > shown ? (o.hidden as Hidden).ratio : null
  const told = how !== 'stopped' && usage !== null && meter.reportedOutput >= output
  if (usage === null) return { ...counted({ ...estimate(x), images, searches }, output), hiddenRatio }
  const more = output - meter.reportedOutput
  return {
    basis: told ? basisOfReport(meter) : 'counted',
    usage: withOutput(usage, outputOf(usage) + more),
    passes: how === 'stopped' ? NO_PASSES : withMore(meter.passes, more),
    isReport: true,
    hiddenRatio,
  }
}

/**
 * The input that is not reported is estimated, less what the upstream names of it, which is what was read from a cache or written to
 * one. Other input that it names came beside the prompt, such as what a tool found.
 */
function withInput(x: Exchange, usage: Usage, { namesInput }: Meter): Usage {
  if (namesInput) return usage
  const cached = inputOf(usage) - usage.input - usage.input_audio - usage.input_image
  return { ...usage, input: usage.input + Math.max(0, inputOf(estimate(x)) - cached) }
}

const basisOfReport = ({ namesInput }: Meter): Basis => (namesInput ? 'reported' : 'counted')

/** The output that was seen, and what its model mostly writes beside that without showing it. */
const withHidden = (hidden: Hidden | null, shown: number, seen: number): number =>
  hidden === null
    ? shown
    : Math.max(shown, Math.min(hidden.most, Math.ceil((Math.min(seen, shown) * hidden.ratio) / 1000)))

/** Only some pictures went on to the client. Where pictures have a price, those that did not cost no tokens either. */
function withImages(x: Exchange, usage: Usage, images: number): Usage {
  const isFree = images === 0 && usage.images > 0 && (x.tariff as Tariff).pricesPictures
  return isFree ? { ...usage, images, output_image: 0 } : { ...usage, images }
}

/** The model that was asked for is charged for what was counted beyond the reports. */
function withMore(passes: readonly Pass[], output: number): readonly Pass[] {
  if (passes.length === 0 || output <= 0) return passes
  return [...passes, { model: null, usage: { ...noUsage(), output } }]
}

/** The usage as it was reported so far, with the output as it was counted. */
const counted = (usage: Usage, output: number): Used => ({
  basis: 'counted',
  usage: { ...usage, output },
  passes: NO_PASSES,
  isReport: false,
  hiddenRatio: null,
})

/** The input, as it was estimated for the hold. */
const estimate = (x: Exchange): Usage =>
  protocolRow(x.protocol as Protocol).price.tokensAsReported
    ? noUsage()
    : { ...noUsage(), input: (x.tariff as Tariff).estimatedInput((x.facts as Facts).prompt) }

/** The answer as far as its request can have caused it; the very same where it is all of it. */
export function causedOf(
  x: Exchange,
  services: Services,
  reading: Reading,
  answer: BilledAnswer<Tariff>,
): BilledAnswer<Tariff> {
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
  return withinBounds(x, services, reading, answer, { images, searches, seconds })
}

function withinBounds(
  x: Exchange,
  services: Services,
  reading: Reading,
  answer: BilledAnswer<Tariff>,
  { images, searches, seconds }: Pick<AnswerBounds<Tariff>, 'images' | 'searches' | 'seconds'>,
): BilledAnswer<Tariff> {
  const { meter, mostOutput } = reading
  const asked = x.tariff as Tariff
  const sent = reading.sent ?? (x.facts as Facts)
  const prompt = promptOf(x, reading)
  const calls = callsIn(meter)
  const reported = meter.passes.length
  const most = mostPassesCaused(sent, calls)
  const bounds: AnswerBounds<Tariff> = {
    whole:
      answer.parts !== undefined && answer.parts.length > 0
        ? null
        : { input: asked.mostInput(prompt, calls), output: mostOutput },
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
