/**
 * How the official client sends its requests: by the same bounded questions as every other method. Its own way has no bound
 * on the size of an answer or the time that it takes as a whole, repeats requests by itself, and takes every JSON without a member
 * `error` for the object that was asked for, whatever status it came with.
 */
import Stripe from 'stripe'
import { type Fields, readAnswer } from '../answers.ts'
import { type Asked, ask } from '../ask.ts'

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

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const isOf = (value: unknown, kind: string): boolean =>
  isObject(value) && value['object'] === kind && typeof value['id'] === 'string' && value['id'] !== ''

/** Whether a success has what stands under a path: the object of that kind and id, or a list of such objects. */
export function fits(method: string, path: string, fields: Fields): boolean {
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
function codeOf({ error }: Fields): string | null {
  const type = isObject(error) ? error['type'] : undefined
  return typeof type === 'string' && /^[a-z]+(?:_[a-z]+)*_error$/.test(type) ? type : null
}

export class BoundedHttp extends Stripe.HttpClient {
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
    const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    const question = method === 'POST' ? { method: 'POST' as const, body } : { method: 'GET' as const }
    const asked = await ask(`${protocol}://${host}:${port}${path}`, { ...question, headers: sent })
    readAnswer(asked, { codeOf, fits: fields => fits(method, path, fields) })
    return new Answer(asked)
  }
}
