/**
 * What a request asks for, as its path says: one of the endpoints that the gateway knows, and the model where the path
 * names one. These are the types only; `lib/exchange/paths.ts` holds the endpoints and finds the one that a path means.
 */
import type { ClientPath, Placement } from '../protocols/protocol.ts'
import type { Protocol } from '../protocols/names.ts'

export type Action = ClientPath['action'] | 'models' | 'model' | 'hello' | 'generation' | 'estimate' | FundsAction

/** A key asks what it may spend in all, what it has spent, or both; or both in the words of OpenRouter, or all that is to be said of it. */
type FundsAction = 'funds-limit' | 'funds-used' | 'funds' | 'credits' | 'key'

/** One endpoint of the API. It never changes, and all requests to it share the object. */
export interface Endpoint {
  action: Action
  protocol: Protocol | null
  /** The row by which requests are read, sent upstream and their answers counted: a form of the protocol, or itself. */
  form: Protocol | null
  /** Where the key is looked for, in this order; the first place that has one counts. */
  placements: readonly Placement[]
  /** `ClientPath` describes these two. */
  suffix: string
  lastStep: string
  /** Errors have a top-level `type: error`. */
  typesErrors: boolean
  /** Lists of models have the form of the generate-content protocol. */
  native: boolean
}

/** What one request asks for: an endpoint, and what the path says beside it. */
export interface Target {
  endpoint: Endpoint
  /** The model in the path, decoded (generate-content, and the endpoint of one model); null = the path names none. */
  model: string | null
  /** The model as the path spells it, for passing it on unchanged. */
  rawModel: string
  /** What is to be done with the model that the path names; empty = the path does not say. */
  verb: string
}
