/**
 * One request and its answer. Pre-shaped: every field a stage may set stands in the constructor, in one order.
 * It ends in `finish`, exactly once, whatever happened.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientAddress } from '../access/ip.ts'
import type { KeyEntry } from '../access/keys.ts'
import type { Claim } from '../channels/claim.ts'
import type { Candidates } from '../channels/pick.ts'
import type { Hold } from '../ledger/ledger.ts'
import type { Tariff } from '../pricing/tariff.ts'
import type { Facts } from '../protocols/facts.ts'
import type { AnswerMaker } from '../store/store.ts'
import type { ErrorName } from '../terms/errors.ts'
import type { Protocol, UsageRow } from '../terms/records.ts'
import { finish } from './finish.ts'
import { NO_PAGE } from './fixed-headers.ts'
import { originForm, type Placement, passedQuery, queryKey, type Target } from './paths.ts'
import { refuse } from './refuse.ts'
import type { Relay } from './relay.ts'
import { Reply } from './reply.ts'
import type { Services } from './services.ts'
import type { World } from './world.ts'

export type Listener = 'main' | 'direct'

export class Exchange {
  readonly services: Services
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
  readonly #remote: string | undefined
  #address = ''
  /** The world whose proxies the address stands behind; null = it was not asked for yet. */
  #addressIn: World | null = null

  target: Target | null = null
  secret: string | null = null
  entry: KeyEntry | null = null
  /** A place among the account's open requests is taken. */
  entered = false
  body: Buffer[] = []
  bodyBytes = 0
  /** Bytes that the body takes of `limits.buffered`. */
  #buffered = 0
  facts: Facts | null = null
  model = ''
  /** Of the earlier answer that the request continues: nobody else may be asked. */
  maker: AnswerMaker | null = null
  candidates: Candidates | null = null
  /** The place at the first channel to ask; given back here when it never was. */
  claim: Claim | null = null
  tariff: Tariff | null = null
  hold: Hold | null = null
  /** Output tokens the hold covers at first; 0 = all that the request allows. */
  coveredOutput = 0
  /** The same with pictures, as the tariff measures what grows. */
  coveredUnits = 0

  relay: Relay | null = null
  attempts = 0
  /** Monotonic ms; 0 = never asked an upstream. */
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

  constructor(services: Services, listener: Listener, req: IncomingMessage, res: ServerResponse) {
    this.services = services
    services.openCount++
    this.world = services.world
    this.listener = listener
    this.id = services.nextId()
    this.req = req
    this.reply = new Reply(req, res, NO_PAGE)
    this.method = req.method ?? ''
    const url = originForm(req.url ?? '')
    const at = url.indexOf('?')
    this.path = at < 0 ? url : url.slice(0, at)
    this.query = at < 0 ? '' : url.slice(at + 1)
    this.startedMs = services.clock.monotonic()
    this.#remote = req.socket.remoteAddress
  }

  get protocol(): Protocol | null {
    return this.target === null ? null : this.target.endpoint.protocol
  }

  /** Forwarded without charge (token counting). */
  get free(): boolean {
    return this.target !== null && this.target.endpoint.action === 'count'
  }

  /** The answer will be an event stream, as far as the request can tell. */
  get streams(): boolean {
    if (this.free) return false
    if (this.protocol !== 'generate') return this.facts?.stream === true
    return this.target?.verb === 'streamGenerateContent' && passedQuery(this.query, 'generate') === '?alt=sse'
  }

  /** Of the client, behind the proxies that are trusted. */
  get address(): string {
    const { world } = this
    if (this.#addressIn !== world) {
      const forwardedFor = this.req.headers['x-forwarded-for'] as string | undefined
      this.#address = clientAddress(this.#remote, forwardedFor, world.trusted)
      this.#addressIn = world
    }
    return this.#address
  }

  /** The header under its own name or one of its aliases. */
  header(name: string): string | undefined {
    const value = this.req.headers[name]
    if (value !== undefined) return value as string
    for (const alias of this.world.config.wire[name] ?? []) {
      const other = this.req.headers[alias]
      if (other !== undefined) return other as string
    }
    return undefined
  }

  /** The credential in one of the places, or null. An empty one counts as sent. */
  credential(places: readonly Placement[]): string | null {
    for (const place of places) {
      const found = credentialAt(this, place)
      if (found !== null) return found
    }
    return null
  }

  /** Before `bytes` of the body are kept. False: there is no room. */
  buffer(bytes: number, limit: number): boolean {
    const { id } = (this.entry as KeyEntry).account
    if (!this.services.buffered.take(id, this.#buffered, bytes, limit)) return false
    this.#buffered += bytes
    return true
  }

  /** Gives the body's memory back: no attempt needs it any more. */
  dropBody(): void {
    if (this.#buffered === 0) return
    this.services.buffered.give((this.entry as KeyEntry).account.id, this.#buffered)
    this.#buffered = 0
    this.body = []
  }

  refuse(name: ErrorName, args: string[] = [], retryAfterS = 0): void {
    refuse(this, name, args, retryAfterS)
  }

  /** Something of ours broke. */
  fail(error: unknown): void {
    this.services.log.error({ id: this.id, err: error }, 'exchange failed')
    try {
      if (this.relay !== null) this.relay.fail()
      else if (!this.ended && !this.left) this.refuse('internal')
    } catch (another) {
      this.services.log.error({ id: this.id, err: another }, 'exchange failed to fail')
      this.reply.destroy()
      this.finish()
    }
  }

  /** Does what an event asks for: what is thrown on the way ends this exchange and reaches nobody else. */
  guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.fail(error)
    }
  }

  /** The response's connection is done: the answer was delivered, or the client left. */
  onClose(): void {
    this.closed = true
    this.left = !this.ended
    if (this.relay === null || this.relay.closed) this.finish()
    else if (this.left) this.guard(() => this.relay?.leave())
  }

  finish(): void {
    if (this.finished) return
    this.finished = true
    try {
      finish(this)
    } catch (error) {
      this.services.log.error({ id: this.id, err: error }, 'exchange failed to finish')
    }
  }
}

function credentialAt(x: Exchange, place: Placement): string | null {
  if (place === 'x-api-key') return (x.req.headers['x-api-key'] as string | undefined) ?? null
  if (place === 'gamma') return x.header('x-gamma-api-key') ?? null
  if (place === 'query') return queryKey(x.query)
  const value = x.req.headers.authorization
  if (value === undefined || value.length < 7 || value.slice(0, 7).toLowerCase() !== 'bearer ') return null
  return value.slice(7)
}
