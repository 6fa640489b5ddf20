/**
 * What a protocol says about itself. Every protocol is one row of this type, in a file of its own: on which paths clients
 * ask and where they put their key, how an upstream is asked, how a request's body is read, how its answer is counted, and
 * which prices cover it. Everything else in the gateway asks the row and never the protocol's name, so that a new protocol
 * is a new file, and a line in `rows.ts`.
 */

import type { LengthStopState, Meter, MeterOptions } from './answers/meter.ts'
import type { PictureMembers } from './pictures/encoded.ts'
import type { Fields } from './json/text.ts'
import type { BodyForm } from './requests/body.ts'
import type { BodyRule } from './requests/edits.ts'
import type { AnswersOf, KindName } from './words/kinds.ts'
import type { PriceLine } from './words/usage.ts'

export interface ProtocolRow extends AnswerForm {
  /** The place in the lists that people read: schemas, docs, messages. Equal places are ordered by name. */
  place: number
  /**
   * The protocol of which this is another form: catalogue, routes, prices and usage know it by that protocol's name, and
   * the channels of that protocol are asked in the form in which the client asked. Absent = it is a protocol by itself.
   */
  formOf?: string
  client: ClientForm
  upstream: UpstreamForm
  body: BodyForm
  /** Tells whether the path asks for an event stream. null: the member `stream` of the body says so. */
  streamsByPath: ((verb: string, query: string) => boolean) | null
  /** Tells whether the path asks for what would be events as the elements of one JSON array. Absent: none does. */
  arrayByPath?: (verb: string, query: string) => boolean
  /** A streaming request must be edited to ask the upstream for usage. */
  asksForUsage: boolean
  price: PriceForm
}

/** The places where a client may put its key: `x-api-key`, `authorization: Bearer`, `x-gamma-api-key` or `?key=`. */
export type Placement = 'x-api-key' | 'bearer' | 'gamma' | 'query'

interface ClientForm {
  paths: readonly ClientPath[]
  /** First steps of all paths. A client with a key may leave them out. */
  versions: readonly string[]
  /** A client that has `/v1` in its address already may send it twice. */
  repeatsVersion: boolean
  /** Read in this order; the first that is sent wins. */
  placements: readonly Placement[]
  /** Names and values of the query that go upstream: everything else could change what the answer looks like. */
  query: Readonly<Record<string, readonly string[]>>
  /** Errors carry a top-level `type: error`. */
  typesErrors: boolean
}

export interface ClientPath {
  /** Behind the version. `/models/{model}:VERB` names the model, and what is to be done with it. */
  path: string
  /**
   * `relay`: the request is answered by an upstream and charged. `count`: tokens are counted, free of charge. Both are asked by
   * POST. `upgrade`: a client asks by GET for a WebSocket, and is told that there is none.
   */
  action: 'relay' | 'count' | 'upgrade'
  /** Added behind the protocol's path at the upstream. */
  suffix: string
  /** Put in the place of the last step of the protocol's path; empty = that step itself. */
  lastStep: string
}

export const clientPath = (path: string, more: Partial<ClientPath> = {}): ClientPath => ({
  path,
  action: 'relay',
  suffix: '',
  lastStep: '',
  ...more,
})

/** The requests that go to an upstream. */
interface UpstreamForm {
  /** Behind the host, where a channel says nothing else. `{model}` and `{verb}` stand for those of the request. */
  path: string
  /** The end of an address that has this path already, so that it would stand in it twice. */
  ending: RegExp
  /** Header of the credential: `authorization` is sent as `Bearer KEY`, others bare. */
  authHeader: string
  /** The kinds of provider that speak the protocol, each with its path, or with all that is different there. */
  kinds: Partial<Readonly<Record<KindName, string | AtKind>>>
  /** The verbs, for a path that has one. */
  verbs?: Verbs
  /** The headers at a provider of a known kind. */
  atProvider: ProviderHeaders
  /** The form of its answers, where nobody answers it in JSON and events of JSON. */
  answers?: AnswersOf
}

/** A protocol that only upstreams speak: its channels serve the clients of others, by translation. */
export const NO_CLIENTS: ClientForm = {
  paths: [],
  versions: [],
  repeatsVersion: false,
  placements: [],
  query: {},
  typesErrors: false,
}

/** Clients of OpenAI-compatible protocols. */
export const bearerClient = (...paths: ClientPath[]): ClientForm => ({
  paths,
  versions: ['/v1'],
  repeatsVersion: false,
  placements: ['bearer'],
  query: {},
  typesErrors: false,
})

/** Clients of the native protocols whose paths name the model and what is to be done with it. */
export const gammaClient = (query: ClientForm['query'], ...paths: ClientPath[]): ClientForm => ({
  paths,
  versions: ['/v1beta', '/v1alpha', '/v1'],
  repeatsVersion: false,
  placements: ['gamma', 'query'],
  query,
  typesErrors: false,
})

/** Upstreams of OpenAI-compatible protocols. `path`: begins with `/v1`. */
export const openAiUpstream = (path: string, kinds: UpstreamForm['kinds']): UpstreamForm => ({
  path,
  ending: new RegExp(`${RegExp.escape(path.slice('/v1'.length))}$`),
  authHeader: 'authorization',
  kinds,
  atProvider: SAME_HEADERS,
})

const GAMMA_PATH = '/v1beta/models/{model}:{verb}'

/** Upstreams of those native protocols. */
export const gammaUpstream = (kinds: UpstreamForm['kinds']): UpstreamForm => ({
  path: GAMMA_PATH,
  ending: /\/models(\/[^/]*)?$/,
  authHeader: 'x-gamma-api-key',
  kinds,
  atProvider: {
    authHeader: 'x-goog-api-key',
    renamed: { 'x-gamma-api-client': 'x-goog-api-client' },
    fallback: null,
  },
})

/** The verbs in a path that ask for a document and for a stream, and the query for a stream. */
interface Verbs {
  document: string
  stream: string
  streamQuery: string
}

/** A kind of provider at which more is different than the path. */
export interface AtKind {
  path: string
  /** Header of the key. */
  authHeader?: string
  /** The verbs for which `{verb}` in the path stands, where the client's path has none. */
  verbs?: Verbs
  /** The model's name is one step of the path, whatever slashes it has. */
  modelIsStep?: true
  /** The way to count tokens, where that is not the path with the endpoint's suffix. */
  count?: CountAtKind
  body?: BodyRule
  /** The form of answers and errors, where it is not that of the protocol. */
  answers?: AnswersOf
  /** Nothing of a client's query goes there. */
  takesNoQuery?: true
  /** The provider reads the member `usage` of a body, by which it is asked what an answer cost. */
  readsUsage?: true
  /** Sent in the place of the client's header `accept`. */
  accept?: string
  /** A header of clients whose values commas part, and the values that are passed on. */
  values?: { header: string; known: ReadonlySet<string> }
  /** The type of events that only this provider has, and that some clients stumble over: they are kept from clients. */
  withholds?: string
  /** Makes of an answer, or of the value of an event, what clients of the protocol know: the provider has another form. */
  rewrites?: (answer: Fields) => Fields
  /** The form of whole requests and answers in which a model is asked there; null = the protocol's. Absent: all are in that. */
  otherForm?: (upstreamModel: string) => OtherForm | null
}

/** A form of requests and answers that is none of the protocol. Both are read and written as a whole. */
export interface OtherForm {
  /** Stands in the place of `path` of the kind. */
  path: string
  /** The form of the protocol (`formOf`) that it says, too. */
  says: string
  /**
   * Writes what a request of the protocol says, in whichever `form` of it the client asked (`formOf`). Returns the name of the member that
   * cannot be said where there is one.
   */
  write(body: Fields, upstreamModel: string, form: string): InOtherForm | string
}

export interface InOtherForm {
  body: object
  /** One for each answer. */
  reader(): OtherFormReader
}

export interface OtherFormReader {
  feed(chunk: Buffer): void
  /** The end has come. Returns the answer in the client's form of the protocol; null = it cannot be read. */
  end(): string | null
}

export interface CountAtKind {
  path: string
  body: BodyRule
  /** The name under which a model's tokens are counted; null = its name does not say it. Absent: the name by which it is asked. */
  modelName?: (upstreamModel: string) => string | null
}

export interface ProviderHeaders {
  /** Header of the credential; null = `authHeader`. */
  authHeader: string | null
  /** Client header name → the provider's name. */
  renamed: Readonly<Record<string, string>>
  /** Sent when the client sends none. */
  fallback: readonly [name: string, value: string] | null
}

/** A provider that calls everything as we do. */
export const SAME_HEADERS: ProviderHeaders = { authHeader: null, renamed: {}, fallback: null }

/** The reading of answers, and the words of the gateway itself in them. */
export interface AnswerForm {
  meter(options: MeterOptions): Meter
  words: StreamWords
  /**
   * The usage of an event of a stream, where that may be the last one with usage: who asks for it is told there what the answer cost.
   * Absent: the protocol has no such place.
   */
  lastUsage?: (event: Fields) => unknown
  /** Nothing of interest follows a stream's terminal event. */
  terminalIsLast: boolean
  /** The place where documents have pictures as base64, for which links may stand. Absent: nowhere. */
  encodedPictures?: PictureMembers
  /** An answer is an event stream only where its content type says so. Absent: also where one was asked for. */
  eventsByType?: true
  /** A later request may continue an answer by its id, at the upstream that made it. Absent: answers are only told apart by it. */
  continuable?: true
  /** The answer of its token counting path; null = it has none. */
  countAnswer: ((tokens: number) => object) | null
}

/** The words of the gateway itself inside a stream that has begun. */
export interface StreamWords {
  /** The protocol's own error event, whole, with its final blank line. `message` carries the request id already. */
  error(status: number, message: string): string
  /** The protocol's own end "the maximum length was reached", terminal event included. */
  lengthStop(state: LengthStopState): string
  /** Keep-alive bytes that fit between events. */
  keepAlive: string
}

/** The words where answers are never event streams: nothing is said into one that an upstream sends nevertheless. */
export const NO_WORDS: StreamWords = { error: () => '', lengthStop: () => '', keepAlive: '\n' }

/** The parts of an answer that may cost something. */
export interface PriceForm {
  /** A price covers the answers when it has all lines of one of these sets; a model without such a price is not served. */
  cover: readonly (readonly PriceLine[])[]
  /** True: the answer is pictures, as many as the request asks for. */
  pictures: boolean
  /** Tokens are charged only where the answer reports them, and never by an estimate. Absent: by an estimate too. */
  tokensAsReported?: true
  /** Answers do not show which tools the upstream has called. Absent: they do. */
  hidesCalls?: true
  /** Upstreams write to a cache when the request asks for it; otherwise they do when they like. */
  cachesWhenAsked: boolean
}

/** Answers of text. */
export const TEXT_COVER: PriceForm['cover'] = [['request'], ['input', 'output']]
