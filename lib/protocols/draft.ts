/**
 * What the scan of a request body has found so far. The readers of values write it down here, and at the end it becomes
 * the facts of the body (`factsOf`).
 */
import { type AskedEffort, type Maxima, NO_MAXIMA } from './words/maxima.ts'
import { type Prompt, textOnly } from './prompt.ts'
import type { SearchUnits } from './search-units.ts'
import type { AskedTool } from './words/server-tools.ts'
import { NO_TIERS, type PictureKind, type TierNames } from './words/usage.ts'

/** A half-open range of byte offsets in the whole body. */
export interface Span {
  start: number
  end: number
}

export interface StreamOptions {
  /** The value of the `stream_options` member. */
  span: Span
  isObject: boolean
  /** The span of the `include_usage` value; null = there is none. */
  includeUsage: Span | null
  empty: boolean
}

/** A member of the body that may be left out. */
export interface Removable {
  name: string
  /** How many members of the body stand before it. */
  index: number
  /** Of its key, and of its value. */
  start: number
  end: number
  /** Where the value of the member before it ends; -1 = it is the first. */
  before: number
  /** Where the key of the next one begins; -1 = it is the last. */
  next: number
}

export class Draft {
  model: string | null = null
  modelIsString = false
  modelSpan: Span | null = null
  /** The places in which the body names the model of the path again. */
  readonly repeatedModels: Span[] = []
  stream = false
  /** The largest of all maxima of output tokens, whatever their names; null = none is named. */
  maximum: number | null = null
  /** Under which names a maximum is named. */
  maxima: Maxima = NO_MAXIMA
  /** See `Facts`. */
  thinkingBudget = 0
  /** Bytes of text that the answer is expected to repeat. */
  predictedBytes = 0
  effort: AskedEffort = 'off'
  n = 1
  /** Whether pictures follow from one another, and how many there may be; null = the request does not say. */
  sequence = false
  sequenceLimit: number | null = null
  streamOptions: StreamOptions | null = null
  includeUsage = false
  background = false
  cacheTtl: '5m' | '1h' | null = null
  promptCacheKey: string | null = null
  userId: string | null = null
  previousAnswer: string | null = null
  /** How often all tools of the upstream together may be used; null = not limited. */
  maxToolCalls: number | null = null
  prompt: Prompt = textOnly(0)
  mediaBytes = 0
  /** Bytes of the query of a rerank request, how many documents it has, and what both come to; null = it is another request. */
  queryBytes = 0
  documents = 0
  units: SearchUnits | null = null
  /** See `Facts`; seconds in fractions. */
  characters = 0
  /** How fast text is spoken, where it is slower than usual: 0.25 to 1. */
  pace = 1
  uploadS = 0
  uploadBytes = 0
  soundBytesPerS: number | null = null
  /** How many samples a second of the answer has, as far as the body says so. */
  samplesPerS: number | null = null
  /** Bytes of text that upstreams count in addition, because they read a part of the body more than once. */
  repeatedBytes = 0
  /** The name of the first field because of which the request is refused. */
  invalid: string | null = null
  /** The names of tier, speed and place that are asked for. */
  tiers: TierNames = NO_TIERS
  /** The size and quality of pictures that are asked for; null = none are named. */
  picture: PictureKind | null = null
  /** Whether the answer is to have its pictures as base64. */
  encodedPictures = false
  /** Names of other models that the upstream may use for the request. */
  readonly otherModels: string[] = []
  readonly advisors: Advisor[] = []
  /** Whether a part of a message is of a kind that is not known. */
  hasUnknownPart = false
  /** Number of tools of the upstream that draw pictures. */
  drawingTools = 0
  /** All tools that are not free, and how many elements the lists of tools have. */
  readonly tools: AskedTool[] = []
  listedTools = 0
  /** In the list of the body itself stands one that is not left out. */
  keepsTools = false
  readonly removable: Removable[] = []
  /** What the request says has to be used: tools by type or name, any of them, or a search. */
  readonly chosen: string[] = []
  mustUse = false
  forcesSearch = false
  /** Whether the answer may hold sound, and pictures; null = nothing says so or otherwise. */
  sound: boolean | null = null
  pictures: boolean | null = null
}

/** A tool by which the upstream asks another model while it answers. */
export interface Advisor {
  /** How often it may be used; null = not limited. */
  uses: number | null
  /** Output tokens of each use; null = not limited. */
  maximum: number | null
}
