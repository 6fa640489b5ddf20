/** What a request body has said so far: plain data that the readers of its values fill in. */
import { type Prompt, textOnly } from './prompt.ts'

/** A half-open range of byte offsets in the whole body. */
export interface Span {
  start: number
  end: number
}

export interface StreamOptions {
  /** The value of the `stream_options` member. */
  span: Span
  isObject: boolean
  /** Of its `include_usage` value, when it is an object that has one. */
  includeUsage: Span | null
  empty: boolean
}

export class Draft {
  model: string | null = null
  modelIsString = false
  modelSpan: Span | null = null
  stream = false
  /** Of all maxima that the protocol reads; null = none is named. */
  maximum: number | null = null
  /** Output tokens beyond the maximum; and whether there are some, be it that nobody says how many. */
  beside = 0
  thinks = false
  n = 1
  /** Pictures that follow from one another, and how many there may be; null = not said. */
  sequence = false
  sequenceLimit: number | null = null
  streamOptions: StreamOptions | null = null
  includeUsage = false
  background = false
  cacheTtl: '5m' | '1h' | null = null
  promptCacheKey: string | null = null
  userId: string | null = null
  previousAnswer: string | null = null
  /** All uses of the upstream's tools together. */
  maxToolCalls: number | null = null
  prompt: Prompt = textOnly(0)
  mediaBytes = 0
  /** The first field that makes the request one that we refuse. */
  invalid: string | null = null
  /** The first field that asks for a dearer tier. */
  dearTier: string | null = null
  /** Models that the request names beside its own: of passes that the upstream makes for it. */
  readonly otherModels: string[] = []
  readonly advisors: Advisor[] = []
  /** Tools of the upstream that make pictures. */
  drawingTools = 0
}

/** A tool by which another model is asked in the course of the answer. */
export interface Advisor {
  /** null = not limited. */
  uses: number | null
  /** Output tokens of each use; null = not limited. */
  maximum: number | null
}
