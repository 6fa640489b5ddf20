/**
 * Requests to Stripe by its official client. This file is where the client is loaded, so nothing imports it unless cards
 * are configured. What goes wrong becomes one of the two faults that the rest of the program knows.
 */
import Stripe from 'stripe'
import type { CardConfig } from '../../config/pay-schema.ts'
import { ProviderAway, ProviderRefuses } from '../method.ts'
import { BoundedHttp } from './http.ts'

/** The version in which Stripe answers, whatever the account's own one is. The objects that this folder reads are of it. */
const API_VERSION = '2026-10-28.endive'
const LIVE = 'https://api.stripe.com'

/** Stripe's name of the error of an object that does not exist. */
const MISSING = 'resource_missing'
/** The same request will be refused again. Everything else may do later. */
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
