/**
 * What a request asks for, as its path says: one of the endpoints that the gateway knows, and the model where the path names
 * one. These are the types only; `lib/exchange/paths.ts` holds the endpoints and finds the one that a path means.
 */
import type { Protocol } from './records.ts'

/** Where a client may put its key. */
export type Placement = 'x-api-key' | 'bearer' | 'gamma' | 'query'

export type Action = 'relay' | 'count' | 'models' | 'model' | 'upgrade' | 'hello'

/** One endpoint. Immutable; a request refers to it. */
export interface Endpoint {
  action: Action
  protocol: Protocol | null
  /** Read in this order; the first that is sent wins. */
  placements: readonly Placement[]
  /** Behind the protocol's path, here and upstream. */
  suffix: string
  /** Errors carry the messages protocol's top-level type. */
  messagesErrors: boolean
  /** The model list in generate-content's own form. */
  native: boolean
}

/** An endpoint as one request named it. */
export interface Target {
  endpoint: Endpoint
  /** From the path, decoded: generate-content and single models. */
  model: string | null
  /** As it stood in the path, for passing on unchanged. */
  rawModel: string
  /** `generateContent`, `streamGenerateContent` or `countTokens`. */
  verb: string
}
