/**
 * Requests to Stripe by its official client. This file is where the client is loaded, so nothing imports it unless cards
 * are configured. What goes wrong becomes one of the two faults that the rest of the program knows.
 */
import { mapValues } from '../../base/objects.ts'
import type { CardConfig } from '../../config/pay-schema.ts'
import type { Order } from '../../terms/pay.ts'
import { type ProviderFields, readAnswer, type Asked, ask } from '../provider-http.ts'
import { type Payment, ProviderAway, ProviderRefuses, type Said } from '../method.ts'
import { LATEST_S, isCents, isOrderId } from '../exceptions.ts'
import { createHash } from 'node:crypto'
import Stripe from 'stripe'

/** The version in which Stripe answers, whatever the account's own one is. The objects that this folder reads are of it. */
const API_VERSION = '2026-10-28.endive'
const LIVE = 'https://api.stripe.com'

/** Stripe's name of the error of an object that does not exist. */
const MISSING = 'resource_missing'
/** The statuses of requests that will be refused again. After any other one a repeat may succeed. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([400, 401, 402, 403, 404])

const DEFAULT_PORTS = { 'https:': 443, 'http:': 80 } as const

/** `code`: Stripe's name of the reason. */
export class StripeRefuses extends ProviderRefuses {
  readonly code: string | undefined

  constructor(message: string, code: string | undefined) {
    super(message)
    this.code = code
  }
}

export class StripeClient {
  readonly account: string
  readonly sandbox: boolean
  readonly #stripe: Stripe
  /** The key is the account's, or the question whether it is. */
  #known: Promise<void> | null = null

  constructor({ secret_key, account, sandbox, api }: CardConfig) {
    const { hostname, port, protocol } = new URL(api ?? LIVE)
    this.account = account
    this.sandbox = sandbox
    this.#stripe = new Stripe(secret_key, {
      apiVersion: API_VERSION,
      host: hostname,
      port: port === '' ? DEFAULT_PORTS[protocol as keyof typeof DEFAULT_PORTS] : Number(port),
      protocol: protocol === 'http:' ? 'http' : 'https',
      httpClient: new BoundedHttp(),
      maxNetworkRetries: 0, // the schedule of orders and refunds asks again
      telemetry: false,
    })
  }

  /**
   * Throws ProviderAway when nobody knows what became of the request, ProviderRefuses when it was refused. Before the first
   * request it sees to it that the key is of the account that the config names: no object of Stripe's says whose it is.
   */
  async ask<T>(request: (stripe: Stripe) => Promise<T>): Promise<T> {
    this.#known ??= this.#checkAccount()
    await this.#known.catch(error => {
      this.#known = null
      throw error
    })
    return this.#send(request)
  }

  /** null = Stripe says that it has no such object, which another 404 does not say. */
  find<T>(request: (stripe: Stripe) => Promise<T>): Promise<T | null> {
    return this.ask(stripe =>
      request(stripe).catch(error => {
        if (error instanceof Stripe.errors.StripeError && error.code === MISSING) return null
        throw error
      }),
    )
  }

  async #checkAccount(): Promise<void> {
    const { id } = await this.#send(stripe => stripe.accounts.retrieveCurrent())
    if (id !== this.account) throw new ProviderRefuses(`the secret key is of the account ${id}, not ${this.account}`)
  }

  async #send<T>(request: (stripe: Stripe) => Promise<T>): Promise<T> {
    try {
      return await request(this.#stripe)
    } catch (error) {
      if (!(error instanceof Stripe.errors.StripeError)) throw error
      throw isRefusal(error) ? new StripeRefuses(describe(error), error.code) : new ProviderAway(describe(error))
    }
  }
}

const isRefusal = (error: InstanceType<typeof Stripe.errors.StripeError>): boolean =>
  REFUSALS.has(error.statusCode) && !(error instanceof Stripe.errors.StripeRateLimitError)

/** For operators. Stripe's texts may repeat a part of the key, so that is taken out. */
function describe(error: InstanceType<typeof Stripe.errors.StripeError>): string {
  const { type, code, param, requestId, message, detail } = error
  const text = detail instanceof Error ? detail.message : message
  return [type, code, param, requestId, text.replace(/\b(sk|rk|whsec)_\S+/g, '(secret)')]
    .filter(part => part !== undefined && part !== '')
    .join(' ')
}

class Answer extends Stripe.HttpClientResponse {
  readonly #body: Buffer

  constructor({ status, headers, body }: Asked) {
    super(status, headers as Record<string, string>)
    this.#body = body
  }

  override getRawResponse(): object {
    return {}
  }

  override async toJSON(): Promise<unknown> {
    return JSON.parse(this.#body.toString('utf8'))
  }
}

/** What stands under the paths that are asked here. */
const KINDS: Readonly<Record<string, string>> = {
  account: 'account',
  'checkout/sessions': 'checkout.session',
  refunds: 'refund',
  disputes: 'dispute',
  'radar/early_fraud_warnings': 'radar.early_fraud_warning',
  events: 'event',
  balance_transactions: 'balance_transaction',
}
const LISTED: ReadonlySet<string> = new Set(Object.keys(KINDS).filter(name => name !== 'account'))

const isObject = (value: unknown): value is ProviderFields => typeof value === 'object' && value !== null
const isOf = (value: unknown, kind: string): boolean =>
  isObject(value) && value['object'] === kind && typeof value['id'] === 'string' && value['id'] !== ''

/** Whether a success has what stands under a path: the object of that kind and id, or a list of such objects. */
export function fits(method: string, path: string, fields: ProviderFields): boolean {
  const m = /^\/v1\/((?:checkout\/|radar\/)?\w+)(?:\/([\w%]+)(?:\/expire)?)?(?:\?|$)/.exec(path)
  const [name, id] = [m?.[1] ?? '', m?.[2]]
  const kind = Object.hasOwn(KINDS, name) ? (KINDS[name] as string) : undefined
  if (kind === undefined) return false
  if (id !== undefined) return isOf(fields, kind) && fields['id'] === id
  if (method !== 'GET' || !LISTED.has(name)) return isOf(fields, kind)
  const { object, data, has_more } = fields
  return object === 'list' && Array.isArray(data) && typeof has_more === 'boolean' && data.every(row => isOf(row, kind))
}

/** Stripe names its errors by a type: `{"error":{"type":"invalid_request_error","message":"…"}}`. */
function codeOf({ error }: ProviderFields): string | null {
  const type = isObject(error) ? error['type'] : undefined
  return typeof type === 'string' && /^[a-z]+(?:_[a-z]+)*_error$/.test(type) ? type : null
}

class BoundedHttp extends Stripe.HttpClient {
  override getClientName(): string {
    return 'gateway'
  }

  /** Throws ProviderAway, which the official client takes for a connection that failed. */
  override async makeRequest(
    host: string,
    port: string,
    path: string,
    method: string,
    headers: Record<string, unknown>,
    body: string,
    protocol: string,
  ): Promise<Answer> {
    const sent = mapValues(headers, String)
    const question = method === 'POST' ? { method: 'POST' as const, body } : { method: 'GET' as const }
    const asked = await ask(`${protocol}://${host}:${port}${path}`, { ...question, headers: sent })
    readAnswer(asked, { codeOf, fits: fields => fits(method, path, fields) })
    return new Answer(asked)
  }
}

export type CheckoutSession = Stripe.Checkout.Session

/** How far the clocks of Stripe and the store may be apart. */
const SKEW_S = 600
const PAGE = 100
const CHARGE = 'payment_intent.latest_charge'
const MOST_LISTED = 5_000

export const idOf = (value: string | { id: string } | null | undefined): string | null =>
  value === null || value === undefined ? null : typeof value === 'string' ? value : value.id

export const eventDigest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex')

const seconds = (ms: number): number => Math.floor(ms / 1_000)

/** What the payer sees: where it comes back to, and what it pays. */
interface Seen {
  page: string
  title: string
}

/** Every repeat of an order sends this very form: Stripe refuses another request under the same idempotency key. */
const form = (
  { id, asked, currency, expiresAtMs }: Order,
  { page, title }: Seen,
): Stripe.Checkout.SessionCreateParams => ({
  mode: 'payment',
  client_reference_id: id,
  metadata: { order: id },
  // Refunds and disputes name the payment intent only.
  payment_intent_data: { metadata: { order: id } },
  line_items: [
    {
      quantity: 1,
      price_data: { currency: currency.toLowerCase(), unit_amount: asked, product_data: { name: title } },
    },
  ],
  allowed_payment_method_types: ['card'],
  // Otherwise payers of other countries are asked for another currency.
  adaptive_pricing: { enabled: false },
  expires_at: seconds(expiresAtMs),
  success_url: page,
  cancel_url: page,
})

/** A repeat gives the same session, also when the first answer got lost or was an error. */
export async function createSession(client: StripeClient, order: Order, seen: Seen): Promise<CheckoutSession> {
  try {
    return await client.ask(stripe => stripe.checkout.sessions.create(form(order, seen), { idempotencyKey: order.id }))
  } catch (error) {
    // Under one key Stripe repeats its first answer, errors too, and refuses a page to return to that is another one.
    const made = await findSession(client, order).catch(() => null)
    if (made === null) throw error
    return made
  }
}

/** The order's session; null = Stripe has none. */
export async function sessionOf(client: StripeClient, order: Order): Promise<CheckoutSession | null> {
  const { providerId } = order
  if (providerId === null) return findSession(client, order)
  return sessionById(client, providerId)
}

/** With its charge, which says when the payer paid. */
export const sessionById = (client: StripeClient, id: string): Promise<CheckoutSession | null> =>
  client.find(stripe => stripe.checkout.sessions.retrieve(id, { expand: [CHARGE] }))

/** Stripe cannot search by reference, so the sessions of the order's time are looked through. */
function findSession(client: StripeClient, { id, createdAtMs, expiresAtMs }: Order): Promise<CheckoutSession | null> {
  const created = { gte: seconds(createdAtMs) - SKEW_S, lte: seconds(expiresAtMs) + SKEW_S }
  return client.ask(async stripe => {
    let listed = 0
    for await (const session of stripe.checkout.sessions.list({ created, limit: PAGE, expand: [`data.${CHARGE}`] })) {
      if (orderOf(session) === id) return session
      if (++listed >= MOST_LISTED) throw new ProviderAway('too many sessions to look through for one order')
    }
    return null
  })
}

/** The order that a session was made for here; null = it is of something else that uses the same account. */
export function orderOf({ client_reference_id: reference, metadata, mode }: CheckoutSession): string | null {
  const ours = reference !== null && isOrderId(reference) && metadata?.['order'] === reference && mode === 'payment'
  return ours ? reference : null
}

/** What Stripe says of a session of ours. `complete` without money: a bank has not decided yet. */
export function cardSaid(client: StripeClient, session: CheckoutSession): Said {
  if (session.status === 'expired') return { kind: 'ended' }
  return session.status === 'complete' && session.payment_status === 'paid'
    ? cardPayment(client, session)
    : { kind: 'open' }
}

export function cardPayment({ account }: StripeClient, session: CheckoutSession): Payment {
  const { amount_total: amount, currency, payment_intent, livemode, id } = session
  const [orderId, transactionId] = [orderOf(session), idOf(payment_intent)]
  if (orderId === null || transactionId === null || !isCents(amount) || typeof currency !== 'string')
    throw new ProviderRefuses(`the session ${id} is paid and lacks an order, a cardPayment, an amount or a currency`)
  return {
    kind: 'paid',
    orderId,
    transactionId,
    amount,
    currency: currency.toUpperCase(),
    merchant: account,
    providerId: id,
    sandbox: !livemode,
    paidAtMs: chargedAtMs(payment_intent),
    digest: eventDigest(session),
  }
}

function chargedAtMs(intent: CheckoutSession['payment_intent']): number | null {
  const charge = typeof intent === 'object' ? intent?.latest_charge : null
  return typeof charge === 'object' && charge !== null ? timeOf(charge.created) : null
}

/** ms since 1970 of Stripe's seconds; null = they are no time. */
export const timeOf = (seconds: unknown): number | null =>
  typeof seconds === 'number' && Number.isInteger(seconds) && seconds > 0 && seconds <= LATEST_S
    ? seconds * 1_000
    : null
