/**
 * A call by whoever has the token of operators: programs and scripts, which are trusted, so nothing bounds how often they
 * call. The token is asked for before anything else, and who sends wrong ones is slowed down (`token-guard.ts`); no browser sends
 * it by itself. Errors have the rows of the API of models (`lib/base/errors.ts`).
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { ConfigError } from '../config/yaml.ts'
import { OperationError } from '../operations/error.ts'
import { byActor } from '../operations/people/deps.ts'
import { read } from '../operations/read.ts'
import { StoreConflict, StoreUnavailable } from '../store/base/errors.ts'
import { ERRORS, type ErrorName, type ErrorRow, renderError } from '../base/errors.ts'
import { prefersEnglish } from '../base/language.ts'
import { adminToken } from '../base/people.ts'
import type { Account } from '../terms/records.ts'
import { sendResult, setTokenHeaders } from './answer.ts'
import { BodyFault, readObject } from '../base/request-body.ts'
import { envelope, STATUS_OF_FAULT } from './errors.ts'
import type { Call, Operation } from './operation.ts'
import type { TokenGuard } from './token-guard.ts'
import { type RefusalAnswer, Visit, type VisitParts } from './visit.ts'

const REQUEST_MS = 30_000
const MIB = 2 ** 20
const RETRY_AFTER_S = 2
/** The most characters of a path that are logged of a caller whose token was not checked yet. */
const MOST_PATH = 200

export interface TokenVisitParts<D> extends VisitParts<D> {
  /** All calls stand below this path, and what does not is answered without a token. */
  root: string
  clock: Clock
  /** The token. A function, because a reload may change it. */
  token: () => string
  guard: TokenGuard
}

/** Refuses with a row of the table of errors; `args` fill the row's text. */
class TokenRefusal extends Error {
  override name = 'TokenRefusal'
  readonly row: ErrorName
  readonly args: string[]

  constructor(row: ErrorName, args: string[] = []) {
    super(row)
    this.row = row
    this.args = args
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest()

/** Cookies are nothing for programs. */
const NO_COOKIES: Call['cookies'] = { get: () => null, set: () => {} }

export class TokenVisit<D> extends Visit<D, TokenVisitParts<D>> {
  #mostBodyMib = 1

  protected begin(): void {
    setTokenHeaders(this.res, this.id)
  }

  protected enter(): void {
    if (!this.path.startsWith(`${this.parts.root}/`)) return
    const given = /^bearer +(\S+)$/i.exec(this.req.headers.authorization ?? '')?.[1] ?? ''
    const { id, method, path } = this
    const about = { id, method, path: path.slice(0, MOST_PATH) }
    this.parts.guard.enter(this.#address() ?? '', about)
    if (timingSafeEqual(digest(given), digest(this.parts.token()))) return
    this.parts.guard.wrong(this.#address() ?? '', about)
    throw new TokenRefusal('key')
  }

  protected noSuchCall(): Error {
    return new TokenRefusal('url', [this.method, this.path])
  }

  protected async call(row: Operation<D>, names: Record<string, string>): Promise<void> {
    const { deps, clock } = this.parts
    const call = { ...(await this.#sent(row, names)), ...this.#caller(), cookies: NO_COOKIES }
    await sendResult(this.res, row, await row.run(deps, call), clock)
  }

  /** What was sent, read by the forms of the row; without a form it is left out. An empty parameter counts as absent. */
  async #sent({ query, body, reads, mostBodyMib = 1 }: Operation<D>, names: Record<string, string>) {
    this.#mostBodyMib = mostBodyMib
    const { clock } = this.parts
    const parameters = Object.fromEntries([...new URLSearchParams(this.query)].filter(([, value]) => value !== ''))
    const object = await readObject(this.req, { clock, mostBytes: mostBodyMib * MIB, withinMs: REQUEST_MS })
    if (reads === 'itself') return { path: names, query: parameters, body: object }
    return {
      path: names,
      query: query === undefined ? {} : read(query, parameters),
      body: body === undefined ? undefined : read(body, object),
    }
  }

  #caller(): Pick<Call, 'caller' | 'account'> {
    const by = byActor(adminToken(this.#address()))
    const caller = { ...by, role: null, tokenId: null, provenAtMs: null }
    return { caller, account: null as unknown as Account } // rows name accounts themselves here
  }

  #address(): string | null {
    return this.req.socket.remoteAddress?.replace(/^::ffff:/, '') ?? null
  }

  protected noteChange(): void {
    const { id, method, path, res } = this
    this.parts.log.info({ id, method, path, status: res.statusCode }, 'admin request')
  }

  protected refuse(error: unknown): RefusalAnswer | null {
    const answer = this.#answerTo(error)
    return this.res.headersSent ? null : answer
  }

  #answerTo(error: unknown): RefusalAnswer {
    if (error instanceof OperationError) return this.#words(STATUS_OF_FAULT[error.fault], error.message, error.details)
    if (error instanceof ConfigError) return this.#words(400, error.message, { problems: 'file' })
    if (error instanceof StoreConflict) return this.#words(409, error.message)
    if (error instanceof BodyFault) {
      const refusal =
        error.what === 'too_large'
          ? new TokenRefusal('too_large', [`${this.#mostBodyMib}MiB`])
          : new TokenRefusal('not_json')
      return { ...this.#row(refusal), closes: !this.req.complete }
    }
    if (error instanceof TokenRefusal) return this.#row(error)
    if (error instanceof StoreUnavailable) return this.#row(new TokenRefusal('unavailable'))
    const { id, method, path } = this
    this.parts.log.error({ err: error, id, method, path }, 'an ops request failed')
    return this.#row(new TokenRefusal('internal'))
  }

  #words(status: number, message: string, details: Record<string, string> = {}): RefusalAnswer {
    const retryAfterS = details['retry_after'] === undefined ? null : Number(details['retry_after'])
    return { status, text: envelope({ code: '', message, details }, this.id), retryAfterS, closes: false }
  }

  #row({ row, args }: TokenRefusal): RefusalAnswer {
    const { status, retry }: ErrorRow = ERRORS[row]
    const english = prefersEnglish(this.req.headers['accept-language'])
    const text = renderError(row, args, this.id, english, false)
    return { status, text, retryAfterS: retry === 'later' ? RETRY_AFTER_S : null, closes: false }
  }
}
