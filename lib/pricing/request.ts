/** What the hold needs to know of a request. A field that may be absent says then what its comment says. */
import type { Prompt, ToolUses } from '../protocols/prompt.ts'
import type { AskedTool } from '../protocols/words/server-tools.ts'
import type { PictureKind, TierNames } from '../protocols/words/usage.ts'
import type { Protocol } from '../terms/records.ts'

export interface Request {
  prompt: Prompt
  /** The maximum of output tokens that the request names and its upstreams read; null = there is none. */
  maxOutput: number | null
  /** Without such a maximum an answer has the model's `defaultOutput`, and at least this. Absent = 0. */
  leastOutput?: number
  /** Output tokens of each answer that the maximum does not bound (some reasoning). */
  besideOutput: number
  /** How many answers are wanted. */
  n: number
  /** Number of tools of the upstream that draw pictures. */
  drawingTools: number
  /** How often all tools of the upstream together may be used; null = not limited. */
  maxToolCalls: number | null
  /** Tools of the upstream that are not free. Absent = none. */
  tools?: readonly AskedTool[]
  /** Searches of the web that the upstream may make. */
  searches: ToolUses
  /** A model that searches without being asked does so as often as it may, and not once. Absent = once. */
  searchesMost?: boolean
  /**
   * Tools by which another model is asked. `uses` null = the model's `maxSearches`; `maximum` (output tokens of each
   * use) null = the model's `maxOutput`.
   */
  advisors: readonly { uses: number | null; maximum: number | null }[]
  /** The longest life of a cache entry that the request asks for; null = it asks for none. */
  cacheTtl: '5m' | '1h' | null
  protocol: Protocol
  /** The most output tokens held at first, where the hold grows with the answer. */
  outputCap?: number
  /** The service tier, speed and place that are asked for. Absent = none. */
  tiers?: TierNames
  /** Size and quality of the pictures that are asked for. Absent = not said. */
  picture?: PictureKind
  /** The most seconds of sound or film that are charged. Absent = 0. */
  seconds?: number
  /** Units of search that the request comes to at most. Absent = 1. */
  units?: number
  /** Code points of text to be spoken. Absent = 0. */
  characters?: number
  /** The answer may hold sound, or pictures beside those of tools. Absent = it may. */
  answersSound?: boolean
  answersPictures?: boolean
}
