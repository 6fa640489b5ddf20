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
import type { KeyEntry } from '../../access/keys.ts'
import type { Claim } from '../../channels/health.ts'
import type { Candidates } from '../../channels/pick.ts'
import type { Hold } from '../../ledger/ledger.ts'
import type { AnswerHold, Tariff } from '../../pricing/tariff.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { Reply } from '../../base/reply.ts'
import type { AnswerMaker } from '../../store/usage/queries.ts'
import type { ErrorName } from '../../base/errors.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { Usage } from '../../protocols/words/usage.ts'
import type { UsageRow } from '../../terms/usage-row.ts'
import type { Action, Target } from '../../terms/target.ts'
import type { World } from '../../world/world.ts'
import type { OtherFormReader } from '../../protocols/protocol.ts'
import type { FoundInBody, NotTranslated, RequestTranslations } from '../../translate/table.ts'

/** A request in the form of a provider that does not speak the client's protocol to the letter. */
export interface WrittenInForm {
  body: Buffer
  /** One for each answer. */
  reader(): OtherFormReader
}

export type ListenerName = 'main' | 'direct'

/** An entry of the list that the sweeper walks over. */
export interface Swept {
  previous: Swept | null
  next: Swept | null
  /** The sweeper asks whether something is due at this time. `nowMs` is monotonic. */
  check(nowMs: number): void
  /** The process ends, or a fault of ours has stopped the exchange in the middle: what is open is closed and settled. */
  stop(name: ErrorName): void
}

/** The relay, which takes an exchange over when an upstream is asked for it. */
export interface OpenRelay extends Swept {
  /** True when the upstream is done with and the books of the exchange are closed. */
  readonly state: { readonly isEnding: boolean }
  /** The client's connection closed before the answer was whole. */
  leave(): void
  /** The exchange is over: the relay waits for nothing any more. */
  release(): void
}

/** An upstream that is read on although its client has left, as `read-ons.ts` knows it. */
export interface CountedReadOn {
  readonly accountId: number
  /** The read-on has lost its place to others. */
  dropped(): void
}

/** The facts of a request when its head has come. */
interface Arrival {
  id: string
  listener: ListenerName
  world: World
  req: IncomingMessage
  reply: Reply
  /** The path as the client sent it, without the query. */
  path: string
  /** The query as the client sent it, without the `?`. */
  query: string
  /** The time at which the head had come, in monotonic ms. */
  startedMs: number
}

/** The actions that cost nothing. They are also answered to a key whose cap is used up. */
const FREE = new Set<Action>([
  'count',
  'funds',
  'funds-limit',
  'funds-used',
  'credits',
  'key',
  'generation',
  'estimate',
])

export class Exchange {
  /** The newest world when the head came. The stage `confirm` puts in its place the newest one when the body is complete. */
  world: World
  readonly listener: ListenerName
  readonly id: string
  readonly req: IncomingMessage
  readonly reply: Reply
  readonly method: string
  /** The path as the client sent it, without the query. */
  readonly path: string
  /** The query as the client sent it, without the `?`. */
  readonly query: string
  /** The time at which the head had come, in monotonic ms. */
  readonly startedMs: number
  /** The address of the connection's other end. It is kept here because a closed connection does not tell it any more. */
  readonly remote: string | undefined
  /** The client's address, as the trusted proxies of the world `addressIn` report it. `addressOf` works it out and reads it. */
  address = ''
  /** The world by whose trusted proxies `address` was worked out; null = nobody has asked for the address yet. */
  addressIn: World | null = null

  /** The endpoint that is asked for, with what its path names. `aimAt` sets it, and what follows from it; null = there is none. */
  target: Target | null = null
  protocol: Protocol | null = null
  /** The form of the protocol in which the client asks (`formOf` in `lib/protocols/protocol.ts`); mostly the protocol itself. */
  form: Protocol | null = null
  /** The request is answered without charge: it counts tokens, or asks for the money of its key. */
  free = false
  /** The request is only tried out, and sent to no upstream. */
  isTrial = false
  secret: string | null = null
  /** The SHA-256 of the secret of the key with which somebody asks who has not sent it; null = the secret was sent, or none. */
  keyHash: string | null = null
  entry: KeyEntry | null = null
  /** True when the request has taken a place among the open requests of its account. */
  entered = false
  /** What its answer says of the account's rate, as lines of a head, each behind its line end; empty where none applies. */
  rateLines = ''
  body: Buffer[] = []
  bodyBytes = 0
  /** The bytes of `limits.buffered` that the body takes. */
  bufferedBytes = 0
  facts: Facts | null = null
  model = ''
  /** The channel and key that made the earlier answer which this request continues; only they may be asked. null = any may. */
  maker: AnswerMaker | null = null
  candidates: Candidates | null = null
  /** The place at the channel that is asked first. `finish` gives it back when no upstream was asked. */
  claim: Claim | null = null
  tariff: Tariff | null = null
  hold: Hold | null = null
  /** The ms for which it has waited for money before its answer began. */
  moneyWaitMs = 0
  /** The hold is less than the worst case, and the exchange has its account's one right to that. */
  uncovered = false
  /** The output tokens that the hold covers at first; 0 = all that the request allows. */
  coveredOutput = 0
  /** The part of the hold that is for the answer, where the hold covers only a part, and what a growing answer costs. null = it covers all. */
  answerHold: AnswerHold | null = null
  /** The request as it is said to upstreams of other protocols; null = none was looked at. */
  translations: RequestTranslations | null = null
  /** The same in such forms, by form and model; null = none was looked at. */
  otherForms: Map<string, WrittenInForm | NotTranslated> | null = null

  /** The findings in a large body; null = nothing was looked for. */
  found: FoundInBody | null = null

  relay: OpenRelay | null = null
  attempts = 0
  /** The time at which the first upstream was asked, in monotonic ms; 0 = none was. */
  dispatchedMs = 0
  /** The ms since `dispatchedMs` for which the upstream was waited for. */
  upstreamMs = 0

  /** The HTTP status that was sent to the client; 0 = none yet. */
  status = 0
  refusal: ErrorName | null = null
  /** True when the whole answer was handed to the connection. */
  answered = false
  /** True when the client's connection closed before the answer was whole. */
  left = false
  /** True when the connection is done with this exchange. */
  closed = false
  finished = false
  row: UsageRow | null = null
  /** The usage that the row counts, in more detail, for clients that are told by us; null = there is no row. */
  usage: Usage | null = null

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

  aimAt(target: Target | null): void {
    if (target === null) return
    const { action, protocol, form } = target.endpoint
    this.target = target
    this.protocol = protocol
    this.form = form
    this.free = FREE.has(action)
  }

  /** The number of places that its account has for upstreams that are read on. */
  get readOnPlaces(): number {
    return this.world.group((this.entry as KeyEntry).key.group).readOns
  }
}
