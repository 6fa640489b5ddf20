/** A model of the catalogue: what it costs, how its requests are estimated, and how it is asked when they are translated. */
import type { Price } from './price.ts'

export interface Model {
  name: string
  price: Price | null
  /** The most output tokens that the model can produce; null = not known. */
  maxOutput: number | null
  /** Output tokens held for a request that names no maximum. */
  defaultOutput: number
  /** In millionths: the input tokens of a text are estimated as its bytes / 4 × this factor. */
  inputFactor: number
  /**
   * Tokens held for each document by URL and for a continued answer; also the most that one document is estimated at.
   */
  maxInput: number
  /** Tokens estimated for a picture and for each page of a document. */
  mediaInput: number
  /** Tokens that each use of a tool which the upstream runs may add to the input. */
  toolInput: number
  /** How many uses of such a tool are held when the request does not limit them. */
  maxSearches: number
  /** The most tokens of one prompt; what an upstream reports above it is not charged. */
  context: number
  /** Tokens that an upstream may add to a prompt, for a system prompt of its own or for how tools are described. */
  overheadInput: number
  /** The most tokens that a picture in the prompt can be. */
  pictureInputMax: number
  /** `always`: it searches the web also when nobody asks it to. */
  searches: 'always' | null
  /** The family under which the catalogue lists it; null = none. */
  family: string | null
  offline: Offline
  /** The form in which the upstream of an image model gives its pictures; null = not known. */
  imageForm: ImageForm | null
  /** What follows is asked only when a request is translated for the model. null = as its protocol is usually asked. */
  thinking: ThinkingForm | null
  /** The efforts that it knows; empty = all. `none`: thinking can be switched off. */
  efforts: ModelEffort[]
  sampling: SamplingForm
  /** Messages: system turns may stand in the middle of a conversation. */
  systemTurns: boolean
}

/** How a model takes it that it shall think: `effort` a word, `adaptive` when it likes, `budget` a number of tokens. */
export const THINKING_FORMS = ['none', 'effort', 'adaptive', 'budget'] as const
export type ThinkingForm = (typeof THINKING_FORMS)[number]
export const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]
export const MODEL_EFFORTS = ['none', ...EFFORTS] as const
export type ModelEffort = (typeof MODEL_EFFORTS)[number]

/** Whether temperature and top-p may be set: both, one of them, or none. */
export const SAMPLING_FORMS = ['all', 'one', 'none'] as const
export type SamplingForm = (typeof SAMPLING_FORMS)[number]

/** Where a model is temporarily offline: everywhere, or in these groups. */
export type Offline = true | string[]

export const isOffline = ({ offline }: Pick<Model, 'offline'>, group: string): boolean =>
  offline === true || offline.includes(group)

/** `url`: links, unless base64 is asked for; `base64`: base64 only. */
export const IMAGE_FORMS = ['url', 'base64'] as const
export type ImageForm = (typeof IMAGE_FORMS)[number]
