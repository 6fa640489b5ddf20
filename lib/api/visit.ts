/** One call, from the request to its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { OperationError } from '../operations/error.ts'
import { networkOf } from '../operations/people/throttle.ts'
import { read } from '../operations/read.ts'
import type { Language, Words } from '../terms/people.ts'
import { admit, type Standing } from './admit.ts'
import { sendResult, sendText } from './answer.ts'
import { readObject } from './body.ts'
import { cookie, cookiesOf, languageOf, sessionCookie } from './cookies.ts'
import { envelope } from './envelope.ts'
import { ApiError } from './errors.ts'
import { setApiHeaders } from './headers.ts'
import type { Identity } from './identity.ts'
import type { Call, Caller, Operation } from './operation.ts'
import { checkOrigin, hasBody } from './origin.ts'
import type { Shared } from './parts.ts'
import { refusalOf } from './refusal.ts'
import type { Found } from './routes.ts'
import type { Site } from './site.ts'
import { whileAllowed } from './while-allowed.ts'

export const MOST_BODY_BYTES = 64 * 1024
const MOST_BODY_SHOWN = '64KiB'
const BODY_MS = 10_000
/** The status under which a call is counted whose caller left before the answer. */
const LEFT = 499
const LONGEST_AGENT = 300
/** Longer ids are nobody's. */
const LONGEST_ID = 100
const NOTHING = z.strictObject({})
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
      if (identity !== null) this.#shared.rates.take(limit, 'user', String(identity.user.id))
      const standing = await this.#admit(row, names, identity)
      const sent = await this.#sent(row, names)
      // a body may be under way for seconds, in which its sender may have lost what it may do
      const isLater = identity !== null && hasBody(this.#req)
      const now = isLater ? await this.#identify(ip) : identity
      const call = this.#call(sent, now, isLater ? await this.#admit(row, names, now) : standing, ip)
      await this.#run(row, call, () => this.#stillAdmitted(row, names, ip))
      this.#note(row, call.caller)
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

  async #sent(row: Operation<D>, names: Record<string, string>): Promise<Pick<Call, 'path' | 'query' | 'body'>> {
    const { account: _, ...own } = names
    const path = (row.path ?? NOTHING).safeParse(own)
    if (!path.success) throw new ApiError('missing') // what has no such form is nobody's id
    const query = read(row.query ?? NOTHING, this.#parameters())
    return { path: path.data, query, body: await this.#body(row) }
  }

  #call(sent: Pick<Call, 'path' | 'query' | 'body'>, identity: Identity | null, standing: Standing, ip: string): Call {
    const account = standing.account as NonNullable<Standing['account']> // rows without one in their path do not look at it
    const cookies = cookiesOf(this.#req, this.#res)
    return { ...sent, caller: this.#caller(identity, standing, ip), account, cookies }
  }

  /** Empty parameters are dropped, so that `?key=&model=x` filters by the model only. */
  #parameters(): Record<string, string> {
    const given = [...new URLSearchParams(this.#query)].filter(([, value]) => value !== '')
    const seen = new Set<string>()
    const twice = given.find(([name]) => seen.size === seen.add(name).size)
    if (twice === undefined) return Object.fromEntries(given)
    const expected: Words = { zh: '只出现一次', en: 'once' }
    const field = twice[0].slice(0, LONGEST_ID)
    throw new OperationError('invalid', { zh: `${field}: 只能出现一次`, en: `${field}: may stand here once` }, {}, [
      { field, expected },
    ])
  }

  async #body({ body = NOTHING }: Operation<D>): Promise<unknown> {
    const { method, headers } = this.#req
    if (method === 'GET' || method === 'HEAD') return undefined
    if (headers.expect !== undefined) this.#res.writeContinue()
    const { clock } = this.#shared
    return read(body, await readObject(this.#req, { clock, mostBytes: MOST_BODY_BYTES, withinMs: BODY_MS }))
  }

  async #stillAdmitted(row: Operation<D>, names: Record<string, string>, ip: string): Promise<void> {
    await this.#admit(row, names, await this.#identify(ip))
  }

  async #run(row: Operation<D>, call: Call, check: () => Promise<void>): Promise<void> {
    const { reports, exports, clock, deps } = this.#shared
    const isLong = row.answer.body === 'stream'
    const seats = isLong ? exports : row.limit === 'heavy' ? reports : null
    const leave = await seats?.take(call.caller.user === null ? call.caller.ip : String(call.caller.user.id))
    const endChecks = isLong ? whileAllowed(clock, check, () => this.#res.destroy()) : () => {}
    try {
      await sendResult(this.#res, row, await row.run(deps, call), clock)
    } finally {
      endChecks()
      leave?.()
    }
  }

  /** The log of actions has what was changed; this line leads from it to the request. */
  #note({ id, effect }: Operation<D>, { user }: Caller): void {
    if (effect === 'read') return
    this.#shared.log.info(
      { id: this.#id, operation: id, user: user?.publicId, status: this.#res.statusCode },
      'console',
    )
  }

  #fail(error: unknown): void {
    const res = this.#res
    const { status, told, retryAfterS, isFault } = refusalOf(error, this.#language, MOST_BODY_SHOWN)
    if (isFault || res.headersSent)
      this.#shared.log.error({ err: error, id: this.#id, operation: this.#row?.id }, 'a console request failed')
    if (res.headersSent) return // the answer was cut off in its middle
    if (retryAfterS !== null) res.setHeader('retry-after', retryAfterS)
    if (status === 401) res.setHeader('www-authenticate', 'Bearer')
    if (hasBody(this.#req) && !this.#req.complete) res.shouldKeepAlive = false // the rest of the body is not read
    sendText(res, status, envelope(told, this.#id))
  }
}

function accountIn({ account }: Record<string, string>): string | null {
  if (account === undefined) return null
  if (account.length > LONGEST_ID) throw new ApiError('missing')
  return account
}
