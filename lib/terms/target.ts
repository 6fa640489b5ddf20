/**
 * What a request asks for, as its path says: one of the endpoints that the gateway knows, and the model where the path
 * names one. These are the types only; `lib/exchange/paths.ts` holds the endpoints and finds the one that a path means.
 */
import type { ClientPath, Placement } from '../protocols/protocol.ts'
import type { Protocol } from '../protocols/table.ts'

export type Action = ClientPath['action'] | 'models' | 'model' | 'hello'

/** One endpoint of the API. It never changes, and all requests to it share the object. */
export interface Endpoint {
  action: Action
  protocol: Protocol | null
  /** Read in this order; the first that is sent wins. */
  placements: readonly Placement[]
  /** See `ClientPath`. */
  suffix: string
  lastStep: string
  /** Errors carry a top-level `type: error`. */
  typesErrors: boolean
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
  /** What is to be done with the model that the path names; empty = the path does not say. */
  verb: string
}
