/**
 * A call by a person, in the session of a browser or with a personal token. Other sites must not make it with the caller's
 * browser (`checkOrigin` of `site.ts`), its caller must be known and may do what the row says, and nobody asks for more than their share.
 * Sessions are opened and ended in `lib/operations/people/sign-in.ts`; what protects their cookie is in `lib/base/cookies.ts`.
 */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { OperationError } from '../operations/error.ts'
import { networkOf } from '../base/network.ts'
import { read } from '../operations/read.ts'
import type { Language, Words } from '../base/people.ts'
import { admitCaller, type Standing, whileAllowed } from './admit.ts'
import { type StreamEnd, sendResult, setApiHeaders } from './answer.ts'
import { readObject } from '../base/request-body.ts'
import { type CallRates, inTurn, type Seats, type Shares } from './bounds.ts'
import { ApiError, type ApiErrorCode, envelope, refusalOf } from './errors.ts'
import type { Call, Caller, HandOver, Identities, Identity, Operation, Streamed } from './operation.ts'
import { checkOrigin, cookie, cookiesOf, hasBody, languageOf, type Site, sessionCookie } from './site.ts'
import { type RefusalAnswer, Visit, type VisitParts } from './visit.ts'

/** The status under which a call is counted whose caller left before the answer. */
const LEFT = 499
const LONGEST_AGENT = 300
/** A personal token; anything else behind `Bearer`, such as a key of the relayed API, is none. */
const TOKEN = /^bearer +(gwp_[\w-]{1,200})$/i
const MOST_BODY_BYTES = 64 * 1024
const MOST_BODY_SHOWN = '64KiB'
const BODY_MS = 10_000
/** Longer ids are nobody's. */
const LONGEST_ID = 100
const NOTHING = z.strictObject({})

export interface PersonVisitParts<D> extends VisitParts<D> {
  identities: Identities
  clock: Clock
  /** A function, because a reload may change the address. */
  site: () => Site
  ipOf: (req: IncomingMessage) => string
  /** Counts an answer. `operation`: the id, or `none` where no row fits. */
  count: (operation: string, status: number) => void
  rates: CallRates
  reports: Seats
  changes: Seats
  /** The seats of exports that are open. */
  exports: Seats
  /** The seats of exports that make a piece. */
  turns: Seats
  /** The places of event streams. */
  streams: Shares
  /** The bytes of answers that are under way. */
  unread: Shares
}

/** Refusals by which somebody is told what they may not do. Who is not signed in yet, or must prove it again, is no such case. */
const FORBIDDEN: ReadonlySet<ApiErrorCode> = new Set([
  'cross_origin',
  'token_refused',
  'session_only',
  'scope',
  'role',
  'view_as',
  'operators_only',
  'second_factor',
])

export class PersonVisit<D> extends Visit<D, PersonVisitParts<D>> {
  readonly #site: Site
  readonly #language: Language
  #identity: Identity | null = null
  /** What has answered in our place; null = nothing has. */
  #taken: ReturnType<HandOver['begin']> | null = null

  constructor(parts: PersonVisitParts<D>, req: IncomingMessage, res: ServerResponse) {
    super(parts, req, res)
    this.#site = parts.site()
    this.#language = languageOf(req, this.#site)
  }

  protected begin(): void {
    const { res, parts } = this
    res.once('close', () => parts.count(this.row?.id ?? 'none', this.#status() || LEFT))
    setApiHeaders(res, this.id, this.#site)
  }

  /** 0 = nothing was answered. */
  #status(): number {
    if (this.#taken !== null) return this.#taken.status
    return this.res.headersSent ? this.res.statusCode : 0
  }

  protected enter(): void {}

  protected noSuchCall(others: string[] | null): Error {
    if (others === null) return new ApiError('no_such_call')
    this.res.setHeader('allow', others.join(', '))
    return new ApiError('method_not_allowed')
  }

  protected async call(row: Operation<D>, names: Record<string, string>): Promise<void> {
    const { ipOf, rates } = this.parts
    checkOrigin(this.req, row, this.#site)
    const ip = ipOf(this.req)
    const limit = row.limit ?? (row.effect === 'read' ? 'light' : 'write')
    rates.take(limit, 'ip', networkOf(ip))
    const identity = await this.#identify(ip)
    this.#identity = identity
    // who has got hold of a token uses up nothing of what its user may do in sessions
    const user = identity === null ? '' : `${identity.user.id}${identity.tokenId === null ? '' : ' by token'}`
    if (identity !== null) rates.take(limit, 'user', user)
    const standing = await this.#admitCaller(row, names, identity)
    const sent = await this.#sent(row, names)
    const more = (row.counts as ((body: unknown) => number) | undefined)?.(sent.body) ?? 1
    if (identity !== null && more > 1) rates.take(limit, 'user', user, more - 1)
    const isChange = identity !== null && row.effect !== 'read' && row.answer.body !== 'handed over'
    const leave = isChange ? await this.#turn(row, user, identity.sessionId, more) : null
    try {
      // a body may be under way for seconds, as may be changes before this one; meanwhile its sender may have lost what it may do
      const isLater = identity !== null && (isChange || hasBody(this.req))
      const now = isLater ? await this.#identify(ip) : identity
      const again = isLater ? await this.#admitCaller(row, names, now) : standing
      await this.#answer(row, names, now, { ...sent, ...this.#asker(now, again, ip) })
    } finally {
      leave?.()
    }
  }

  /** Counts changes into the day, and waits until they may be made. Signing in goes as what protects a user, for whom somebody else may use up the rest. */
  #turn({ protects, who }: Operation<D>, user: string, sessionId: number | null, changes: number) {
    const isFirst = protects === true || who === 'anyone'
    const waitS = this.parts.rates.waitS('changes', 'user', user, changes)
    if (waitS !== null && !isFirst) throw new ApiError('too_many_calls', [], waitS)
    return this.parts.changes.take(isFirst ? `${user} in ${sessionId}` : user)
  }

  #asker(identity: Identity | null, standing: Standing, ip: string): Pick<Call, 'caller' | 'account' | 'cookies'> {
    const account = standing.account as NonNullable<Standing['account']> // rows without one in their path do not look at it
    return { caller: this.#caller(identity, standing, ip), account, cookies: cookiesOf(this.req, this.res) }
  }

  async #answer(row: Operation<D>, names: Record<string, string>, identity: Identity | null, call: Call) {
    if (row.answer.body === 'stream') await this.#stream(row, names, identity, call)
    else if (row.answer.body === 'handed over') await this.#handOver(row, names, identity, call)
    else await this.#run(row, call)
  }

  /** A token goes before a cookie: a program that sends one means it. Other schemes belong to proxies in front of us. */
  async #identify(ip: string): Promise<Identity | null> {
    const { identities } = this.parts
    const { authorization = '', cookie: header } = this.req.headers
    let identity: Identity | null = null
    if (/^bearer\b/i.test(authorization)) {
      const token = TOKEN.exec(authorization)?.[1]
      identity = token === undefined ? null : await identities.byToken(token, ip)
      if (identity === null && this.row?.who !== 'anyone') throw new ApiError('token_refused')
    } else {
      const secret = cookie(header, sessionCookie(this.#site))
      identity = secret === null ? null : await identities.bySession(secret, ip, this.#agent())
    }
    return identity?.user.status === 'active' ? identity : null
  }

  #admitCaller(row: Operation<D>, names: Record<string, string>, identity: Identity | null): Promise<Standing> {
    return admitCaller(row, identity, accountIn(names), { ...this.parts, site: this.#site })
  }

  #agent(): string {
    return (this.req.headers['user-agent'] ?? '').slice(0, LONGEST_AGENT)
  }

  #caller(identity: Identity | null, { role }: Standing, ip: string): Caller {
    const user = identity?.user ?? null
    const seat = { sessionId: identity?.sessionId ?? null, tokenId: identity?.tokenId ?? null }
    return {
      user,
      role,
      ...seat,
      provenAtMs: identity?.provenAtMs ?? null,
      ip,
      agent: this.#agent(),
      language: this.#language,
      actor: { kind: 'user', userId: user?.id ?? null, name: user?.email ?? '', ip, by: seat },
    }
  }

  async #sent(row: Operation<D>, names: Record<string, string>) {
    const { account: _, ...own } = names
    const path = (row.path ?? NOTHING).safeParse(own)
    if (!path.success) throw new ApiError('missing') // what has no such form is nobody's id
    const query = read(row.query ?? NOTHING, parameters(this.query))
    const isRead = row.answer.body !== 'handed over'
    return { path: path.data, query, body: isRead ? await this.#body(row.body ?? NOTHING) : undefined }
  }

  async #body(form: z.ZodType) {
    if (this.method === 'GET' || this.method === 'HEAD') return undefined
    if (this.req.headers.expect !== undefined) this.res.writeContinue()
    const { clock } = this.parts
    return read(form, await readObject(this.req, { clock, mostBytes: MOST_BODY_BYTES, withinMs: BODY_MS }))
  }

  async #run(row: Operation<D>, call: Call): Promise<void> {
    const { reports, clock, deps } = this.parts
    const leave = row.limit === 'heavy' ? await reports.take(callerName(call)) : null
    try {
      // What makes a secret is no GET: an answer that holds one is never compressed.
      const mayShrink = row.call.startsWith('GET ')
      const accepts = mayShrink ? this.req.headers['accept-encoding'] : undefined
      if (mayShrink) this.res.setHeader('vary', 'accept-encoding')
      // a change was made, and is told in any case; nor are its answers long
      const admit = mayShrink ? (bytes: number) => this.#countUnread(callerName(call), bytes) : undefined
      await sendResult(this.res, row, await row.run(deps, call), clock, accepts, admit)
    } finally {
      leave?.()
    }
  }

  /** Callers may read nothing of what they ask for, on any number of connections. */
  #countUnread(who: string, bytes: number): void {
    this.res.once('close', this.parts.unread.take(who, bytes))
  }

  /** An answer of any length, which runs as long as the caller may have it. */
  async #stream(
    row: Operation<D>,
    names: Record<string, string>,
    identity: Identity | null,
    call: Call,
  ): Promise<void> {
    const { exports, turns, streams, clock, deps } = this.parts
    const account = accountIn(names)
    const who = [callerName(call), ...(account === null ? [] : [`account ${account}`])]
    const isLive = row.answer.live === true
    const leave = isLive ? streams.take(callerName(call)) : await exports.take(...who)
    const ended: { by?: ApiErrorCode } = {}
    const endChecks = whileAllowed(clock, this.#again(row, names, identity, call), ({ code }) => {
      ended.by = code
      this.res.destroy()
    })
    try {
      const streamed = (await row.run(deps, call)) as Streamed
      const pieces = isLive ? streamed.pieces : inTurn(streamed.pieces, turns, this.id)
      const end = await sendResult(this.res, row, { ...streamed, pieces }, clock)
      this.#noteEnd(ended.by ?? end)
    } finally {
      endChecks()
      leave()
    }
  }

  /** Asks whether the caller may still have what is under way. */
  #again(row: Operation<D>, names: Record<string, string>, identity: Identity | null, { caller }: Call) {
    return async (): Promise<void> => {
      const now = identity === null ? null : await this.parts.identities.again(identity, caller.ip)
      const { role } = await this.#admitCaller(row, names, now)
      if (role !== caller.role) throw new ApiError('role') // another role may see other rows
    }
  }

  /** Somebody else answers over this connection, as long as the caller may ask. Its headers are not ours. */
  async #handOver(row: Operation<D>, names: Record<string, string>, identity: Identity | null, call: Call) {
    const { req, res, parts } = this
    const next = (await row.run(parts.deps, call)) as HandOver
    if (res.destroyed) return
    for (const name of res.getHeaderNames()) res.removeHeader(name)
    const closed = once(res, 'close')
    const endChecks = whileAllowed(parts.clock, this.#again(row, names, identity, call), () => res.destroy())
    try {
      this.#taken = next.begin(req, res)
      await closed
    } finally {
      endChecks()
    }
  }

  protected refuse(error: unknown): RefusalAnswer | null {
    const { res, req, parts } = this
    const { status, told, retryAfterS, isFault } = refusalOf(error, this.#language, MOST_BODY_SHOWN)
    const wasCut = res.headersSent || this.#taken !== null
    if (wasCut && error instanceof ApiError) this.#noteEnd(error.code)
    else if (isFault || wasCut)
      parts.log.error({ err: error, id: this.id, operation: this.row?.id }, 'a console request failed')
    this.#noteForbidden(error)
    if (wasCut) return null
    return { status, text: envelope(told, this.id), retryAfterS, closes: hasBody(req) && !req.complete }
  }

  /** The line of the log leads from the log of actions, which has what was changed, to the request. */
  protected noteChange(): void {
    this.parts.log.info({ ...this.#noted(), status: this.#status() }, 'console')
  }

  /** `missing` of somebody known is mostly an account that is not theirs. The bounds on calls bound these lines. */
  #noteForbidden(error: unknown): void {
    if (!(error instanceof ApiError)) return
    const { code } = error
    if (!FORBIDDEN.has(code) && (code !== 'missing' || this.#identity === null)) return
    const ip = this.parts.ipOf(this.req)
    this.parts.log.info({ ...this.#noted(), ip, code }, 'a console request is not allowed')
  }

  /** Logs an answer that was sent piece by piece and did not come to its end. */
  #noteEnd(end: StreamEnd | ApiErrorCode): void {
    if (end !== 'complete') this.parts.log.info({ ...this.#noted(), end }, 'a download ended early')
  }

  /** The call as lines of the log name it. */
  #noted() {
    return { id: this.id, operation: this.row?.id, user: this.#identity?.user.publicId }
  }
}

/** The name by which seats are taken. */
const callerName = ({ caller: { user, ip } }: Call): string => (user === null ? `ip ${ip}` : `user ${user.id}`)

function accountIn({ account }: Record<string, string>): string | null {
  if (account === undefined) return null
  if (account.length > LONGEST_ID) throw new ApiError('missing')
  return account
}

/** Empty parameters are dropped, so that `?key=&model=x` filters by the model only. */
function parameters(query: string): Record<string, string> {
  const given = [...new URLSearchParams(query)].filter(([, value]) => value !== '')
  const seen = new Set<string>()
  const twice = given.find(([name]) => seen.size === seen.add(name).size)
  if (twice === undefined) return Object.fromEntries(given)
  const expected: Words = { zh: '只出现一次', en: 'once' }
  const field = twice[0].slice(0, LONGEST_ID)
  throw new OperationError('invalid', { zh: `${field}: 只能出现一次`, en: `${field}: may stand here once` }, {}, [
    { field, expected },
  ])
}
