/**
 * How the official client sends its requests: by the same bounded questions as every other method. Its own way has no bound
 * on the size of an answer or the time that it takes as a whole, and repeats requests by itself.
 */
import Stripe from 'stripe'
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

export class BoundedHttp extends Stripe.HttpClient {
  override getClientName(): string {
    return 'gateway'
  }

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
    return new Answer(await ask(`${protocol}://${host}:${port}${path}`, { ...question, headers: sent }))
  }
}
