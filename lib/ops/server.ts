/**
 * The ops listener, for operators. `/metrics`, `/healthz` and `/readyz` answer whoever can reach the address;
 * `/admin/…` only who sends the admin token.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { JSON_TYPE, sendStream, sendText } from '../api/answer.ts'
import { BodyFault, readObject } from '../api/body.ts'
import { envelope } from '../api/envelope.ts'
import { STATUS_OF_FAULT } from '../api/errors.ts'
import { http } from '../base/http.ts'
import type { OperationDeps } from '../operations/deps.ts'
import { OperationError } from '../operations/error.ts'
import type { Mailer } from '../operations/people/mail.ts'
import { ReadyJson } from '../operations/usage/reports.ts'
import type { PaymentService } from '../pay/service.ts'
import { StoreConflict, StoreUnavailable } from '../store/store.ts'
import type { Config } from '../config/config.ts'
import { ERRORS, type ErrorRow } from '../base/errors.ts'
import { prefersEnglish } from '../base/language.ts'
import { type Actor, adminToken } from '../base/people.ts'
import type { Admin } from './admin.ts'
import { Refusal, renderRefusal, TextFile } from './answer.ts'
import type { Fleet, Readiness } from './fleet.ts'

export interface OpsDeps extends OperationDeps {
  /** The bearer token of the admin API. A function, because a reload may change the token. */
  token: () => string
  /** Makes request ids. */
  ids: () => string
  fleet: Fleet
  /** The config in force. */
  config: () => Config
  mail: Mailer
  /** Orders and the ways to pay. */
  pay: () => Promise<PaymentService>
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const REQUEST_MS = 30_000
const MOST_BODY_BYTES = 2 ** 20
const MOST_BODY_SHOWN = '1MiB'
/** A process that has not said within this time whether it is ready counts as not ready. */
const READY_MS = 2_000
const RETRY_AFTER_S = 2
const NO_ANSWER: Readiness = { ready: false, store: 'away', reason: 'no answer' }

export function createOpsServer(deps: OpsDeps): Server {
  let made: Promise<Admin> | null = null
  // loaded at the first admin request, so that the gateway starts faster
  const admin = () => (made ??= import('./admin.ts').then(({ Admin }) => new Admin(deps)))
  const server = http.createServer({ requestTimeout: REQUEST_MS })
  server.on('error', error => server.listening && deps.log.error({ err: error }, 'a connection was not accepted'))
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const visit = new Visit(deps, req, res)
    res.on('error', () => {}) // a caller that left needs no answer
    visit.serve(admin).catch(error => visit.fail(error))
  })
  return server
}

const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest()

/** One request to the ops listener, and its answer. */
class Visit {
  readonly #deps: OpsDeps
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  readonly #id: string
  readonly #method: string
  readonly #path: string
  readonly #query: string

  constructor(deps: OpsDeps, req: IncomingMessage, res: ServerResponse) {
    this.#deps = deps
    this.#req = req
    this.#res = res
    this.#id = deps.ids()
    this.#method = req.method as string
    const [path, ...query] = (req.url as string).split('?')
    this.#path = path as string
    this.#query = query.join('?')
  }

  async serve(admin: () => Promise<Admin>): Promise<void> {
    if (this.#path.startsWith('/admin/')) return this.#serveAdmin(admin)
    const page = this.#method === 'GET' || this.#method === 'HEAD' ? this.#path : ''
    if (page === '/metrics') this.#send(200, await this.#deps.fleet.metrics(), METRICS_TYPE)
    else if (page === '/healthz') this.#send(200, '{"alive":true}')
    else if (page === '/readyz') {
      const state = await this.#ready()
      this.#send(state.ready ? 200 : 503, JSON.stringify(state))
    } else throw this.#noSuchPage()
  }

  #ready(): Promise<Readiness> {
    const { clock, fleet } = this.#deps
    return new Promise(resolve => {
      const cancel = clock.after(READY_MS, () => resolve(NO_ANSWER))
      fleet
        .ready()
        .catch(() => NO_ANSWER)
        .then(state => {
          cancel()
          resolve(state)
        })
    })
  }

  async #serveAdmin(admin: () => Promise<Admin>): Promise<void> {
    const given = /^bearer +(\S+)$/i.exec(this.#req.headers.authorization ?? '')?.[1] ?? ''
    if (!timingSafeEqual(digest(given), digest(this.#deps.token()))) throw new Refusal('key')
    const call = (await admin()).find(this.#method, this.#path)
    if (call === null) throw this.#noSuchPage()
    const answer = await call(new URLSearchParams(this.#query), await this.#body(), this.#actor())
    if (this.#method !== 'GET' && this.#method !== 'HEAD') {
      const { log } = this.#deps
      log.info({ id: this.#id, method: this.#method, path: this.#path, status: answer.status }, 'admin request')
    }
    if (answer.stream !== undefined) {
      this.#setHeaders()
      await sendStream(this.#res, answer.status, answer.stream, this.#deps.clock)
      return
    }
    if (answer.body instanceof TextFile) this.#sendFile(answer.status, answer.body)
    else if (answer.body instanceof ReadyJson) this.#send(answer.status, answer.body.bytes)
    else this.#send(answer.status, answer.body === null ? '' : JSON.stringify(answer.body))
  }

  #body() {
    const { clock } = this.#deps
    return readObject(this.#req, { clock, mostBytes: MOST_BODY_BYTES, withinMs: REQUEST_MS })
  }

  #actor(): Actor {
    return adminToken(this.#req.socket.remoteAddress?.replace(/^::ffff:/, '') ?? null)
  }

  #noSuchPage(): Refusal {
    return new Refusal('url', [this.#method, this.#path])
  }

  fail(error: unknown): void {
    if (error instanceof OperationError) this.#tell(STATUS_OF_FAULT[error.fault], error.message, error.details)
    else if (error instanceof StoreConflict) this.#tell(409, error.message)
    else if (error instanceof BodyFault) this.#refuseBody(error)
    else if (error instanceof Refusal) this.#refuse(error)
    else if (error instanceof StoreUnavailable) this.#refuse(new Refusal('unavailable'))
    else {
      const { log } = this.#deps
      log.error({ err: error, id: this.#id, method: this.#method, path: this.#path }, 'an ops request failed')
      this.#refuse(new Refusal('internal'))
    }
  }

  #tell(status: number, message: string, details: Record<string, string> = {}): void {
    this.#send(status, envelope({ code: '', message, details }, this.#id))
  }

  #refuseBody({ what }: BodyFault): void {
    if (!this.#req.complete) this.#res.shouldKeepAlive = false // the rest of the body is not read
    this.#refuse(what === 'too_large' ? new Refusal('too_large', [MOST_BODY_SHOWN]) : new Refusal('not_json'))
  }

  #refuse(refusal: Refusal): void {
    const { status, retry }: ErrorRow = ERRORS[refusal.row]
    if (status === 401) this.#res.setHeader('www-authenticate', 'Bearer')
    if (retry === 'later') this.#res.setHeader('retry-after', RETRY_AFTER_S)
    const english = prefersEnglish(this.#req.headers['accept-language'])
    this.#send(status, renderRefusal(refusal, this.#id, english))
  }

  /** A file may be opened as a page, which has styles and does nothing. */
  #sendFile(status: number, { text, type }: TextFile): void {
    this.#res.setHeader('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
    this.#res.setHeader('x-content-type-options', 'nosniff')
    this.#send(status, text, type)
  }

  #send(status: number, text: string | Uint8Array, type = JSON_TYPE): void {
    const res = this.#res
    if (res.headersSent || res.destroyed) return
    this.#setHeaders()
    sendText(res, status, text, type)
  }

  #setHeaders(): void {
    const res = this.#res
    res.setHeader('x-request-id', this.#id)
    res.setHeader('request-id', this.#id)
    res.setHeader('cache-control', 'no-store') // a secret is shown once
  }
}
