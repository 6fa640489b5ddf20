/**
 * A stand-in for Stripe: a server on this machine that speaks as much of Stripe's API as the gateway uses, and sends webhooks. It
 * checks key, version and form of every request before it answers, and keeps answers under idempotency keys as Stripe does,
 * errors too. Its webhooks are signed by the official client.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import Client from 'stripe'
import { brokenIn, STRIPE } from './fields.ts'
import { addressOf, listen, type Teardown } from './server.ts'
import { type Json, misread, missing, StripeFault, StripeLedger } from './stripe-ledger.ts'

const VERSION = '2026-10-28.endive'
const ID = /^(cs_test|cs_live|re|du|issfr)_/
const KEYS_KEPT_MS = 24 * 3_600_000

/**
 * What goes wrong with the next request of a route. `made`: it is done, and the answer gets lost or is an error.
 * `reset`: the connection breaks before anything is done.
 */
export type Fault = 'reset' | 'made_reset' | '500' | 'made_500' | '429' | 'html' | 'huge' | 'redirect'

/** An answer that is not the provider's. */
export interface Foreign {
  status: number
  body: string
}

interface Kept {
  request: string
  status: number
  body: string
  atMs: number
}

export interface StripeOptions {
  account?: string
  now?: () => number
  livemode?: boolean
}

export class Stripe {
  readonly secretKey: string
  readonly webhookSecret = `whsec_${randomBytes(24).toString('base64')}`
  readonly ledger: StripeLedger
  /** Requests that were answered, as `METHOD path`. */
  readonly asked: string[] = []
  /** The same with their fields. */
  readonly sent: [request: string, fields: Json][] = []
  readonly faults = new Map<string, Fault[]>()
  url = ''
  /** Called before a request is answered. */
  before: (route: string) => void = () => {}
  /** Somebody on the way answers in Stripe's place; null = nobody does. */
  inBetween: (route: string) => Foreign | null = () => null
  /** Changes an object that is about to be sent, also one that stands in a list. */
  change: (route: string, object: Json) => unknown = () => {}
  readonly #kept = new Map<string, Kept>()
  readonly #server = createServer((req, res) => void this.#serve(req, res))

  constructor(options: StripeOptions = {}) {
    const { now = Date.now, livemode = false, account = `acct_${randomBytes(8).toString('hex')}` } = options
    this.secretKey = `sk_${livemode ? 'live' : 'test'}_${randomBytes(24).toString('hex')}`
    this.ledger = new StripeLedger(account, livemode, now)
  }

  async listen(t: Teardown): Promise<void> {
    await listen(t, this.#server)
    this.url = addressOf(this.#server)
  }

  /** The section of a gateway's config. */
  section(change: Json = {}): Json {
    const { secretKey: secret_key, webhookSecret: webhook_secret, url: api } = this
    return { secret_key, webhook_secret, account: this.ledger.account, sandbox: true, api, ...change }
  }

  fail(route: string, ...faults: Fault[]): void {
    this.faults.set(route, faults)
  }

  sign(body: string, atMs = this.ledger.now(), secret = this.webhookSecret): string {
    return Client.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: Math.floor(atMs / 1_000) })
  }

  /** Sends an event to a webhook. */
  async send(url: string, event: Json, change: { signature?: string; body?: string } = {}): Promise<number> {
    const body = change.body ?? JSON.stringify(event, null, 2)
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'stripe-signature': change.signature ?? this.sign(body),
    }
    return (await fetch(url, { method: 'POST', headers, body })).status
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const url = new URL(req.url as string, this.url)
    const route = `${req.method} ${url.pathname
      .split('/')
      .map(part => (ID.test(part) ? ':id' : part))
      .join('/')}`
    const fault = this.faults.get(route)?.shift()
    this.before(route)
    const foreign = this.inBetween(route)
    if (foreign !== null)
      return void res.writeHead(foreign.status, { 'content-type': 'application/json' }).end(foreign.body)
    if (fault === 'reset') return void req.socket.destroy()
    const answer = this.#answer(req, route, url, body, fault)
    this.asked.push(route)
    if (fault === 'made_reset') return void req.socket.destroy()
    const headers = { 'content-type': 'application/json', 'request-id': `req_${randomBytes(7).toString('hex')}` }
    if (fault === 'huge') res.writeHead(200, headers).end(' '.repeat(5 * 2 ** 20) + answer.body)
    else if (fault === 'redirect') res.writeHead(302, { location: `${this.url}/v1/account` }).end()
    else if (fault === 'html') res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>')
    else res.writeHead(answer.status, headers).end(answer.body)
  }

  #answer(
    req: IncomingMessage,
    route: string,
    url: URL,
    body: string,
    fault?: Fault,
  ): { status: number; body: string } {
    const error = (status: number, type: string, message: string) => ({
      status,
      body: JSON.stringify({ error: { type, message } }),
    })
    if (req.headers.authorization !== `Bearer ${this.secretKey}`)
      return error(401, 'invalid_request_error', `Invalid API Key provided: ${req.headers.authorization?.slice(7)}`)
    if (req.headers['stripe-version'] !== VERSION) return error(400, 'invalid_request_error', 'another version')
    if (fault === '429') return error(429, 'rate_limit_error', 'Too many requests')
    if (req.method !== 'POST') return this.#run(route, url, fields(url.searchParams))
    const key = req.headers['idempotency-key'] as string | undefined
    if (key === undefined || key.length > 255) return error(400, 'invalid_request_error', 'no idempotency key')
    if (!req.headers['content-type']?.startsWith('application/x-www-form-urlencoded'))
      return error(400, 'invalid_request_error', 'no form')
    const request = `${route} ${url.pathname} ${body}`
    const kept = this.#kept.get(key)
    if (kept !== undefined && this.ledger.now() - kept.atMs < KEYS_KEPT_MS)
      return kept.request === request
        ? kept
        : error(400, 'idempotency_error', 'Keys for idempotent requests can only be used with the same parameters')
    const broken = error(500, 'api_error', 'An unknown error occurred')
    const done = fault === '500' ? broken : this.#run(route, url, fields(new URLSearchParams(body)))
    const answer = fault === 'made_500' ? broken : done
    this.#kept.set(key, { request, ...answer, atMs: this.ledger.now() })
    return answer
  }

  #run(route: string, url: URL, form: Json): { status: number; body: string } {
    this.ledger.tick()
    try {
      this.sent.push([route, form])
      const asks = STRIPE[route]
      const broken = asks === undefined ? null : brokenIn(asks, form)
      if (broken !== null) throw misread(broken)
      const object = this.#route(route, url.pathname.split('/').find(part => ID.test(part)) ?? '', form)
      const sent = this.#expand(object, Object.values(form.expand ?? {}))
      for (const row of sent.object === 'list' ? sent.data : [sent]) this.change(route, row)
      return { status: 200, body: JSON.stringify(sent) }
    } catch (error) {
      if (!(error instanceof StripeFault)) throw error
      return { status: error.status, body: JSON.stringify({ error: error.error }) }
    }
  }

  #route(route: string, id: string, form: Json): Json {
    const { ledger } = this
    switch (route) {
      case 'GET /v1/account':
        return { id: ledger.account, object: 'account' }
      case 'POST /v1/checkout/sessions':
        return ledger.createSession(form)
      case 'GET /v1/checkout/sessions':
        return page(ledger.all('checkout.session'), form, '/v1/checkout/sessions')
      case 'GET /v1/checkout/sessions/:id':
        return ledger.get('checkout.session', id)
      case 'POST /v1/checkout/sessions/:id/expire':
        return ledger.expire(id)
      case 'POST /v1/refunds':
        return ledger.createRefund(form)
      case 'GET /v1/refunds':
        return page(
          ledger.all('refund').filter(row => row.payment_intent === form.payment_intent),
          form,
          '/v1/refunds',
        )
      case 'GET /v1/refunds/:id':
        return ledger.get('refund', id)
      case 'GET /v1/disputes':
        return page(
          ledger.all('dispute').filter(row => [undefined, row.payment_intent].includes(form.payment_intent)),
          form,
          '/v1/disputes',
        )
      case 'GET /v1/disputes/:id':
        return ledger.get('dispute', id)
      case 'GET /v1/radar/early_fraud_warnings':
        return page(ledger.all('radar.early_fraud_warning'), form, '/v1/radar/early_fraud_warnings')
      case 'GET /v1/radar/early_fraud_warnings/:id':
        return ledger.get('radar.early_fraud_warning', id)
      case 'GET /v1/events': {
        const types = new Set(Object.values(form.types ?? {}))
        return page(
          ledger.events.filter(({ type }) => types.size === 0 || types.has(type)),
          form,
          '/v1/events',
        )
      }
      case 'GET /v1/balance_transactions':
        return page(
          ledger.balance.filter(({ type }) => type === form.type),
          form,
          '/v1/balance_transactions',
        )
      default:
        throw missing('route', route)
    }
  }

  /** Puts objects in the place of their ids, along paths such as `data.source.payment_intent`. */
  #expand(object: Json, paths: Json[]): Json {
    const copy = structuredClone(object)
    for (const path of paths) {
      const walk = (value: Json, [name, ...rest]: string[]): void => {
        if (name === undefined || value === null) return
        if (typeof value[name] === 'string') value[name] = structuredClone(this.ledger.objects.get(value[name]))
        for (const inner of Array.isArray(value[name]) ? value[name] : [value[name]]) if (inner) walk(inner, rest)
      }
      walk(copy, (path as string).split('.'))
    }
    return copy
  }
}

/** `a[b][c]=d` as nested objects; lists are objects with numbers. */
function fields(form: URLSearchParams): Json {
  const all: Json = {}
  for (const [name, value] of form) {
    const path = name.split(/[[\]]+/).filter(part => part !== '')
    const last = path.pop() as string
    path.reduce((inner, part) => (inner[part] ??= {}), all)[last] = value
  }
  return all
}

function page(rows: readonly Json[], { created = {}, limit = 10, starting_after: after }: Json, url: string): Json {
  const inRange = rows.filter(
    row =>
      row.created >= Number(created.gte ?? 0) &&
      row.created <= Number(created.lte ?? Infinity) &&
      row.created < Number(created.lt ?? Infinity),
  )
  const start = after === undefined ? 0 : inRange.findIndex(({ id }) => id === after) + 1
  const data = inRange.slice(start, start + Number(limit))
  return { object: 'list', url, has_more: start + data.length < inRange.length, data }
}
