/**
 * The record of one request and its answer. It is data: the stages write what they find into it, the relay reads it, and it
 * calls nobody. What acts on an exchange stands beside it: `refuse`, `fail` and `finish`, the stages, and the relay.
 *
 * Every field that anybody may set is set in the constructor, in one order, so that V8 keeps one shape for all exchanges.
 *
 * The imported types of other rooms are those of what the stages find: a key, a price, a hold, the places at a channel. The
 * rooms that make these things are below this one and do not know the record; none of their code is imported here.
 */
import type { IncomingMessage } from 'node:http'
import type { KeyEntry } from '../access/keys.ts'
import type { Claim } from '../channels/claim.ts'
import type { Candidates } from '../channels/pick.ts'
import type { Hold } from '../ledger/ledger.ts'
import type { AnswerHold, Tariff } from '../pricing/tariff.ts'
import type { Facts } from '../protocols/facts.ts'
import type { Reply } from '../reply/reply.ts'
import type { AnswerMaker } from '../store/store.ts'
import type { ErrorName } from '../terms/errors.ts'
import type { Protocol, UsageRow } from '../terms/records.ts'
import type { Action, Target } from '../terms/target.ts'
import type { World } from '../world/world.ts'

export type Listener = 'main' | 'direct'

/** What takes an exchange over when an upstream is asked for it: the relay. */
export interface Dispatched {
  /** The upstream's part is over, and the books of the exchange are closed. */
  readonly closed: boolean
  /** The client's connection closed before the answer was whole. */
  leave(): void
  /** Something of ours broke in the middle of it. */
  fail(): void
  /** The exchange is over: nothing waits any more. */
  release(): void
}

/** What is known of a request when its head has come. */
export interface Arrival {
  id: string
  listener: Listener
  world: World
  req: IncomingMessage
  reply: Reply
  /** As requested, without the query. */
  path: string
  /** Without its `?`. */
  query: string
  /** Monotonic ms. */
  startedMs: number
}

/** What costs nothing, and is answered to a key whose cap is used up. */
const FREE = new Set<Action>(['count', 'funds', 'funds-limit', 'funds-used'])

export class Exchange {
  /** The newest at the request's head, and again when its body is whole. */
  world: World
  readonly listener: Listener
  readonly id: string
  readonly req: IncomingMessage
  readonly reply: Reply
  readonly method: string
  /** As requested, without the query. */
  readonly path: string
  /** Without its `?`. */
  readonly query: string
  /** Monotonic ms. */
  readonly startedMs: number
  /** Address of the connection's other end, kept because a closed connection does not tell it any more. */
  readonly remote: string | undefined
  /** The client's address behind the proxies of `addressIn`; `addressOf` says it. */
  address = ''
  /** The world whose proxies the address stands behind; null = it was not asked for yet. */
  addressIn: World | null = null

  target: Target | null = null
  secret: string | null = null
  entry: KeyEntry | null = null
  /** A place among the account's open requests is taken. */
  entered = false
  body: Buffer[] = []
  bodyBytes = 0
  /** Bytes that the body takes of `limits.buffered`. */
  bufferedBytes = 0
  facts: Facts | null = null
  model = ''
  /** Of the earlier answer that the request continues: nobody else may be asked. */
  maker: AnswerMaker | null = null
  candidates: Candidates | null = null
  /** The place at the first channel to ask; given back at the end when it never was asked. */
  claim: Claim | null = null
  tariff: Tariff | null = null
  hold: Hold | null = null
  /** Output tokens the hold covers at first; 0 = all that the request allows. */
  coveredOutput = 0
  /** Where the hold covers only a part: what it has for the answer, and what the answer costs as it grows. */
  answerHold: AnswerHold | null = null

  relay: Dispatched | null = null
  attempts = 0
  /** Monotonic ms; 0 = no upstream was asked. */
  dispatchedMs = 0
  /** Of the time since dispatch, ms spent waiting for the upstream. */
  upstreamMs = 0

  /** Sent to the client; 0 = none yet. */
  status = 0
  refusal: ErrorName | null = null
  /** The whole answer was handed to the connection. */
  ended = false
  /** The client's connection closed before the answer was whole. */
  left = false
  /** The response's connection is done with this exchange. */
  closed = false
  finished = false
  row: UsageRow | null = null

  constructor({ id, listener, world, req, reply, path, query, startedMs }: Arrival) {
    this.world = world
    this.listener = listener
    this.id = id
    this.req = req
    this.reply = reply
    this.method = req.method ?? ''
    this.path = path
    this.query = query
    this.startedMs = startedMs
    this.remote = req.socket.remoteAddress
  }

  get protocol(): Protocol | null {
    return this.target === null ? null : this.target.endpoint.protocol
  }

  /** The row of the protocol's form in which the client asks. */
  get form(): Protocol | null {
    return this.target === null ? null : this.target.endpoint.form
  }

  /** Answered without charge (token counting, a key's money). */
  get free(): boolean {
    return this.target !== null && FREE.has(this.target.endpoint.action)
  }
}
