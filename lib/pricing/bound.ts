/**
 * The most that a request can have caused. What an upstream reports is a number from somebody else, and money is computed
 * from it; so whatever is above the bound is not charged. A bound is loose: no honest report exceeds it, and a false one can
 * cost no more than what the request itself could have cost.
 *
 * Each model that took part has bounds of its own, one for all tokens of input together and one for all of output. Tokens
 * above a bound are taken off the dearest class first. The price list is the one that what remains reaches.
 */
import type { Prompt, ToolUses } from '../protocols/requests/facts.ts'
import type { Protocol } from '../protocols/names.ts'
import { protocolRow } from '../protocols/table.ts'
import {
  INPUT_CLASSES,
  inputOf,
  MOST_TOKENS,
  noUsage,
  OUTPUT_CLASSES,
  outputOf,
  type TokenClass,
  type Usage,
} from '../protocols/words/usage.ts'
import type { Model } from '../terms/records.ts'
import { type BilledAnswer, costOfClasses, type BilledPart, type Priced } from './bill.ts'
import { estimatedInput } from './worst-case.ts'

/** The facts of a request that say how much it can cause. The facts of its body have it. */
export interface Cause {
  readonly prompt: Prompt
  /** The number of answers that are wanted. */
  readonly n: number
  readonly searches: ToolUses
  readonly drawingTools: number
  readonly maxToolCalls: number | null
}

/** Output tokens of a model of which nothing is known. */
const MOST_WRITTEN = 128_000
/** Searches of a request that does not limit them, and pictures that are only reported. */
const MOST_SEARCHES = 1000
const MOST_PICTURES = 100
/** Passes of an answer, unless the request allows more uses of its tools. */
const MOST_PASSES = 16
/** Products of a request's numbers stay whole numbers. */
const MOST = Number.MAX_SAFE_INTEGER

/**
 * All tokens of input together, of one pass. `calls`: uses of tools that were seen in the answer. `written`: output of the
 * passes before, which this one may have read.
 */
export function mostInputCaused(model: Model, prompt: Prompt, calls: number, written: number): number {
  const { context, overheadInput, pictureInputMax, maxSearches } = model
  const unasked = model.searches === 'always' ? maxSearches : 0
  const uses = Math.max(calls, unasked, prompt.toolUses + prompt.unlimitedTools * maxSearches)
  if (uses > 0) return Math.max(Math.min(MOST, (1 + uses) * context), estimatedInput(model, prompt))
  const pictures = (prompt.pictures + prompt.remotePictures) * pictureInputMax
  const unmeasured = (prompt.documents + prompt.sounds + prompt.remoteDocuments) * context
  // a token has at least a byte
  const stands = prompt.textBytes + prompt.tokens + overheadInput + pictures + unmeasured + written
  return Math.max(Math.min(context, stands), estimatedInput(model, prompt))
}

/**
 * All tokens of output together. `maximum`: the largest that the request names, whatever the name; null = none. `isRead`: its
 * upstream reads one of the names; otherwise the maximum raises the bound and does not lower it. `thinksBeside`: thoughts may
 * come that the maximum does not bound.
 */
export function mostOutputCaused(
  model: Model,
  cause: Cause,
  maximum: number | null,
  isRead: boolean,
  thinksBeside: boolean,
): number {
  const whole = ceilingOf(model)
  const said = maximum === null || maximum >= MOST_TOKENS ? null : maximum
  const named = isRead && said !== null ? said : Math.max(whole, said ?? 0)
  const each = named + (thinksBeside ? whole : 0)
  // the maximum is none of what tools draw
  return Math.min(MOST, each * cause.n + drawings(model, cause) * whole)
}

/** The most output tokens of one answer, as far as is known. */
export const ceilingOf = ({ maxOutput }: Pick<Model, 'maxOutput'>): number => maxOutput ?? MOST_WRITTEN

const drawings = ({ maxSearches }: Model, { drawingTools, maxToolCalls }: Cause): number =>
  drawingTools === 0 ? 0 : (maxToolCalls ?? drawingTools * maxSearches)

/** Searches that may be charged because they are reported. */
export const mostSearchesCaused = ({ searches: { uses, unlimited } }: Cause): number =>
  unlimited === 0 && uses > 0 ? uses : MOST_SEARCHES

/** Pictures that may be charged because they are reported. */
export const mostPicturesCaused = ({ n }: Cause, protocol: Protocol): number =>
  protocolRow(protocol).price.pictures ? n : MOST_PICTURES

/**
 * Passes that the answer may consist of: one before each use of a tool, one by the tool, and the last. `calls`: uses of tools that
 * were seen in the answer.
 */
export const mostPassesCaused = ({ prompt }: Cause, calls: number): number =>
  Math.max(MOST_PASSES, 1 + 2 * Math.max(prompt.toolUses, calls))

/** The limits of what may be charged of an answer; of one that has parts, what may be charged of each of them. */
export interface Bounds {
  input: number
  output: number
}
export interface AnswerBounds<T extends Priced = Priced> {
  /** The bounds of an answer without parts. */
  whole: Bounds | null
  /** In the order of the parts. `written`: charged output of the parts before. null = nothing of this part is charged. */
  ofPart(part: BilledPart<T>, index: number, written: number): Bounds | null
  /** Output tokens that were counted in the answer. They are charged as far as they were reported, whatever the bounds say. */
  counted: number
  images: number
  searches: number
  seconds: number
}

/** The answer without what is above its bounds; the very same where nothing is. */
export function bounded<T extends Priced>(answer: BilledAnswer<T>, bounds: AnswerBounds<T>, asked: T): BilledAnswer<T> {
  const { usage, parts } = answer
  if (parts !== undefined && parts.length > 0) return boundedParts(answer, parts, bounds)
  const { whole, counted } = bounds
  const tokens =
    whole === null
      ? usage
      : cutTo(usage, whole.input, Math.max(whole.output, Math.min(counted, outputOf(usage))), answer, asked)
  const left = withPieces(tokens, bounds)
  return left === usage ? answer : { ...answer, usage: left }
}

function boundedParts<T extends Priced>(
  answer: BilledAnswer<T>,
  parts: readonly BilledPart<T>[],
  bounds: AnswerBounds<T>,
): BilledAnswer<T> {
  const limits: Bounds[] = []
  let written = 0
  for (const [i, part] of parts.entries()) {
    const { input, output } = bounds.ofPart(part, i, written) ?? { input: 0, output: 0 }
    const limit = { input, output: Math.min(output, outputOf(part.usage)) }
    limits.push(limit)
    written += limit.output
  }
  raiseTo(bounds.counted, limits, parts, written)
  let isSame = true
  const left = parts.map((part, i) => {
    const { input, output } = limits[i] as Bounds
    const usage = cutTo(part.usage, input, output, answer, part.tariff)
    isSame &&= usage === part.usage
    return usage === part.usage ? part : { ...part, usage }
  })
  const pieces = withPieces(answer.usage, bounds)
  if (isSame) return pieces === answer.usage ? answer : { ...answer, usage: pieces }
  const { images, searches, seconds, characters } = pieces
  const sum = { ...noUsage(), images, searches, seconds, characters }
  for (const { usage } of left) for (const name of ALL_TOKENS) sum[name] += usage[name]
  return { ...answer, usage: sum, parts: left }
}

const ALL_TOKENS: readonly TokenClass[] = [...INPUT_CLASSES, ...OUTPUT_CLASSES]

/** Raises limits of output, in their order, until together they have what was counted. */
function raiseTo(counted: number, limits: Bounds[], parts: readonly BilledPart[], written: number): void {
  let short = counted - written
  for (const [i, limit] of limits.entries()) {
    if (short <= 0) return
    const more = Math.min(short, outputOf((parts[i] as BilledPart).usage) - limit.output)
    limit.output += more
    short -= more
  }
}

function withPieces(usage: Usage, { images, searches, seconds }: AnswerBounds): Usage {
  if (usage.images <= images && usage.searches <= searches && usage.seconds <= seconds) return usage
  return {
    ...usage,
    images: Math.min(usage.images, images),
    searches: Math.min(usage.searches, searches),
    seconds: Math.min(usage.seconds, seconds),
  }
}

function cutTo(usage: Usage, input: number, output: number, answer: BilledAnswer, priced: Priced): Usage {
  const above = inputOf(usage) - input
  const beyond = outputOf(usage) - output
  if (above <= 0 && beyond <= 0) return usage
  const costs = costOfClasses(answer, priced, Math.min(input, inputOf(usage)))
  const left = { ...usage }
  takeOff(left, INPUT_CLASSES, above, costs)
  takeOff(left, OUTPUT_CLASSES, beyond, costs)
  return left
}

/** The sort keeps the order of the price keys among equal prices. */
function takeOff(
  usage: Usage,
  classes: readonly TokenClass[],
  tokens: number,
  costs: (name: TokenClass) => bigint,
): void {
  if (tokens <= 0) return
  const dearestFirst = [...classes].sort((a, b) => (costs(a) > costs(b) ? -1 : costs(a) < costs(b) ? 1 : 0))
  let above = tokens
  for (const name of dearestFirst) {
    const taken = Math.min(usage[name], above)
    usage[name] -= taken
    above -= taken
  }
}
