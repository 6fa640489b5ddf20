/** One call, from the request to its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { networkOf } from '../operations/people/throttle.ts'
import type { Language } from '../base/people.ts'
import { admit, type Standing } from './admit.ts'
import { sendResult, sendText } from './answer.ts'
import { cookie, cookiesOf, languageOf, sessionCookie } from './cookies.ts'
import { envelope } from './envelope.ts'
import { ApiError, type ApiErrorCode } from './errors.ts'
import { setApiHeaders } from './headers.ts'
import type { Identity } from './identity.ts'
import { inTurn } from './in-turn.ts'
import { type Noted, noteChange, noteEnd, noteForbidden } from './notes.ts'
import type { Call, Caller, Operation, Streamed } from './operation.ts'
import { checkOrigin, hasBody } from './origin.ts'
import type { Shared } from './parts.ts'
import { refusalOf } from './refusal.ts'
import type { Found } from './routes.ts'
import { LONGEST_ID, MOST_BODY_SHOWN, readSent, type Sent } from './sent.ts'
import type { Site } from './site.ts'
import { whileAllowed } from './while-allowed.ts'

/** The status under which a call is counted whose caller left before the answer. */
const LEFT = 499
const LONGEST_AGENT = 300
/** A personal token; anything else behind `Bearer`, such as a key of the relayed API, is none. */
const TOKEN = /^bearer +(gwp_[\w-]{1,200})$/i

export class Visit<D> {
  readonly #shared: Shared<D>
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  readonly #id: string
  readonly #site: Site
  readonly #language: Language
  readonly #path: string
  readonly #query: string
  #row: Operation<D> | null = null
  #identity: Identity | null = null

  constructor(shared: Shared<D>, req: IncomingMessage, res: ServerResponse) {
    this.#shared = shared
    this.#req = req
    this.#res = res
    this.#id = shared.ids()
    this.#site = shared.site()
    this.#language = languageOf(req)
    const [path, ...query] = (req.url as string).split('?')
    this.#path = path as string
    this.#query = query.join('?')
  }

  /** The order of the checks: whoever is refused by an early one learns nothing of what a later one would say. */
  async serve(): Promise<void> {
    const res = this.#res
    res.on('error', () => {}) // a caller that left needs no answer
    res.once('close', () => this.#shared.count(this.#row?.id ?? 'none', res.headersSent ? res.statusCode : LEFT))
    setApiHeaders(res, this.#id, this.#site)
    try {
      const { row, names } = this.#route()
      checkOrigin(this.#req, row, this.#site)
      const ip = this.#shared.ipOf(this.#req)
      const limit = row.limit ?? (row.effect === 'read' ? 'light' : 'write')
      this.#shared.rates.take(limit, 'ip', networkOf(ip))
      const identity = await this.#identify(ip)
      this.#identity = identity
      if (identity !== null) this.#shared.rates.take(limit, 'user', String(identity.user.id))
      const standing = await this.#admit(row, names, identity)
      const sent = await readSent(this.#req, res, row, { names, query: this.#query, clock: this.#shared.clock })
      // a body may be under way for seconds, in which its sender may have lost what it may do
      const isLater = identity !== null && hasBody(this.#req)
      const now = isLater ? await this.#identify(ip) : identity
      const call = this.#call(sent, now, isLater ? await this.#admit(row, names, now) : standing, ip)
      if (row.answer.body === 'stream') await this.#stream(row, names, now, call)
      else await this.#run(row, call)
      if (row.effect !== 'read') noteChange(this.#shared.log, this.#noted(), res.statusCode)
    } catch (error) {
      this.#fail(error)
    }
  }

  #route(): Found<Operation<D>> {
    const found = this.#shared.routes.find(this.#req.method as string, this.#path)
    if (found === null) throw new ApiError('no_such_call')
    if (Array.isArray(found)) {
      this.#res.setHeader('allow', found.join(', '))
      throw new ApiError('method_not_allowed')
    }
    this.#row = found.row
    return found
  }

  /** A token goes before a cookie: a program that sends one means it. Other schemes belong to proxies in front of us. */
  async #identify(ip: string): Promise<Identity | null> {
    const { identities } = this.#shared
    const { authorization = '', cookie: header } = this.#req.headers
    let identity: Identity | null = null
    if (/^bearer\b/i.test(authorization)) {
      const token = TOKEN.exec(authorization)?.[1]
      identity = token === undefined ? null : await identities.byToken(token, ip)
      if (identity === null && this.#row?.who !== 'anyone') throw new ApiError('token_refused')
    } else {
      const secret = cookie(header, sessionCookie(this.#site))
      identity = secret === null ? null : await identities.bySession(secret, ip, this.#agent())
    }
    return identity?.user.status === 'active' ? identity : null
  }

  #admit(row: Operation<D>, names: Record<string, string>, identity: Identity | null): Promise<Standing> {
    return admit(row, identity, accountIn(names), { ...this.#shared, site: this.#site })
  }

  #agent(): string {
    return (this.#req.headers['user-agent'] ?? '').slice(0, LONGEST_AGENT)
  }

  #caller(identity: Identity | null, { role }: Standing, ip: string): Caller {
    const user = identity?.user ?? null
    return {
      user,
      role,
      sessionId: identity?.sessionId ?? null,
      tokenId: identity?.tokenId ?? null,
      provenAtMs: identity?.provenAtMs ?? null,
      ip,
      agent: this.#agent(),
      language: this.#language,
      actor: { kind: 'user', userId: user?.id ?? null, name: user?.email ?? '', ip },
    }
  }

  #call(sent: Sent, identity: Identity | null, standing: Standing, ip: string): Call {
    const account = standing.account as NonNullable<Standing['account']> // rows without one in their path do not look at it
    const cookies = cookiesOf(this.#req, this.#res)
    return { ...sent, caller: this.#caller(identity, standing, ip), account, cookies }
  }

  async #run(row: Operation<D>, call: Call): Promise<void> {
    const { reports, clock, deps } = this.#shared
    const leave = row.limit === 'heavy' ? await reports.take(callerName(call)) : null
    try {
      await sendResult(this.#res, row, await row.run(deps, call), clock)
    } finally {
      leave?.()
    }
  }

  /** An answer of any length, which runs as long as the caller may have it. */
  async #stream(
    row: Operation<D>,
    names: Record<string, string>,
    identity: Identity | null,
    call: Call,
  ): Promise<void> {
    const { exports, turns, clock, deps, identities, log } = this.#shared
    const account = accountIn(names)
    const who = [callerName(call), ...(account === null ? [] : [`account ${account}`])]
    const check = async (): Promise<void> => {
      const now = identity === null ? null : await identities.again(identity, call.caller.ip)
      const { role } = await this.#admit(row, names, now)
      if (role !== call.caller.role) throw new ApiError('role') // another role may see other rows
    }
    const leave = await exports.take(...who)
    const ended: { by?: ApiErrorCode } = {}
    const endChecks = whileAllowed(clock, check, ({ code }) => {
      ended.by = code
      this.#res.destroy()
    })
    try {
      const streamed = (await row.run(deps, call)) as Streamed
      const pieces = inTurn(streamed.pieces, turns, this.#id)
      const end = await sendResult(this.#res, row, { ...streamed, pieces }, clock)
      noteEnd(log, this.#noted(), ended.by ?? end)
    } finally {
      endChecks()
      leave()
    }
  }

  #noted(): Noted {
    const { ipOf } = this.#shared
    return {
      id: this.#id,
      operation: this.#row?.id,
      user: this.#identity?.user.publicId,
      ip: ipOf(this.#req),
    }
  }

  #fail(error: unknown): void {
    const res = this.#res
    const { log } = this.#shared
    const { status, told, retryAfterS, isFault } = refusalOf(error, this.#language, MOST_BODY_SHOWN)
    const wasCut = res.headersSent
    if (wasCut && error instanceof ApiError) noteEnd(log, this.#noted(), error.code)
    else if (isFault || wasCut)
      log.error({ err: error, id: this.#id, operation: this.#row?.id }, 'a console request failed')
    noteForbidden(log, this.#noted(), error)
    if (wasCut) return
    if (retryAfterS !== null) res.setHeader('retry-after', retryAfterS)
    if (status === 401) res.setHeader('www-authenticate', 'Bearer')
    if (hasBody(this.#req) && !this.#req.complete) res.shouldKeepAlive = false // the rest of the body is not read
    sendText(res, status, envelope(told, this.#id))
  }
}

/** By whom seats are taken. */
const callerName = ({ caller: { user, ip } }: Call): string => (user === null ? `ip ${ip}` : `user ${user.id}`)

function accountIn({ account }: Record<string, string>): string | null {
  if (account === undefined) return null
  if (account.length > LONGEST_ID) throw new ApiError('missing')
  return account
}
