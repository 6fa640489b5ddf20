/** Requests of WeChat Pay's version 3 protocol. No answer that says "done" is believed unless WeChat Pay has signed it. */
import type { Clock } from '../../base/clock.ts'
import { type Asked, ask } from '../ask.ts'
import { NotVerified, ProviderAway, ProviderRefuses } from '../method.ts'
import type { KeyRing, RequestSigner } from './signing.ts'

export type Fields = Readonly<Record<string, unknown>>

export interface WechatAnswer {
  /** `absent`: there is no such order, refund or bill. */
  said: 'done' | 'absent'
  fields: Fields
  body: Buffer
}

export interface ClientParts {
  signer: RequestSigner
  keys: KeyRing
  api: string
  clock: Clock
}

/** 202 says that the request was taken and nothing was done yet. */
const DONE: ReadonlySet<number> = new Set([200, 204])
const FAULT = 500
/** Too slow, too many: the same request may do later. */
const LATER: ReadonlySet<number> = new Set([408, 429])
const LATER_CODES: ReadonlySet<string> = new Set([
  'SYSTEM_ERROR',
  'BANK_ERROR',
  'FREQUENCY_LIMITED',
  'FREQUENCY_LIMIT_EXCEED',
  'RATELIMIT_EXCEEDED',
  'STATEMENT_CREATING',
])
const ABSENT_CODES: ReadonlySet<string> = new Set([
  'ORDER_NOT_EXIST',
  'ORDERNOTEXIST',
  'RESOURCE_NOT_EXISTS',
  'RESOURCE_NOT_EXIST',
  'REFUND_NOT_EXISTS',
  'NO_STATEMENT_EXIST',
])
const LONGEST_REASON = 200
export const REFUNDS = '/v3/refund/domestic/refunds'
const MOST_BILL_BYTES = 64 * 2 ** 20

/** A field as text; '' when there is none. */
export const textOf = (fields: Fields, name: string): string => {
  const value = fields[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** A field that has fields itself. */
export const partOf = (fields: Fields, name: string): Fields => {
  const value = fields[name]
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

/** null = no JSON object. */
export function parsed(body: Buffer): Fields | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null
  } catch {
    return null
  }
}

export class WechatClient {
  readonly #parts: ClientParts

  constructor(parts: ClientParts) {
    this.#parts = parts
  }

  async post(path: string, fields: object): Promise<WechatAnswer> {
    return this.#read(await this.#ask('POST', path, JSON.stringify(fields)))
  }

  async get(path: string, query: Record<string, string> = {}): Promise<WechatAnswer> {
    const search = new URLSearchParams(query).toString()
    return this.#read(await this.#ask('GET', search === '' ? path : `${path}?${search}`, ''))
  }

  /** The file at an address that a signed answer has named. The file itself is not signed; the answer has its hash. */
  async download(address: string): Promise<Buffer> {
    const url = URL.parse(address)
    const { protocol } = new URL(this.#parts.api)
    if (url === null || url.protocol !== protocol) throw new ProviderRefuses('an answer without the address of a file')
    const { status, body } = await this.#ask('GET', url.pathname + url.search, '', url.origin)
    if (status !== 200) throw new ProviderAway(`status ${status} for a file`)
    return body
  }

  #ask(method: 'GET' | 'POST', path: string, body: string, origin?: string): Promise<Asked> {
    const { signer, keys, api, clock } = this.#parts
    const headers = {
      authorization: signer.authorization(method, path, body, clock.now()),
      accept: 'application/json',
      'user-agent': 'gateway',
      'wechatpay-serial': keys.first,
      ...(body === '' ? {} : { 'content-type': 'application/json' }),
    }
    const most = origin === undefined ? {} : { mostBytes: MOST_BILL_BYTES }
    return ask(`${origin ?? api}${path}`, { method, headers, ...most, ...(body === '' ? {} : { body }) })
  }

  /** Throws ProviderAway when nobody knows what became of the request, ProviderRefuses when it is refused for good. */
  #read({ status, headers, body }: Asked): WechatAnswer {
    if (DONE.has(status)) {
      this.#check(headers, body)
      const fields = status === 204 ? {} : parsed(body)
      if (fields === null) throw new ProviderAway('an answer that is no JSON')
      return { said: 'done', fields, body }
    }
    const fields = parsed(body) ?? {}
    const code = textOf(fields, 'code')
    if (status < 400 || status >= FAULT || LATER.has(status) || code === '' || LATER_CODES.has(code))
      throw new ProviderAway(`status ${status}, ${code}`)
    if (ABSENT_CODES.has(code)) return { said: 'absent', fields, body }
    throw new ProviderRefuses(`${code}: ${textOf(fields, 'message')}`.slice(0, LONGEST_REASON))
  }

  #check(headers: Asked['headers'], body: Buffer): void {
    const { keys, clock } = this.#parts
    try {
      keys.check(headers, body, clock.now())
    } catch (error) {
      throw error instanceof NotVerified ? new ProviderAway(`an answer that is ${error.message}`) : error
    }
  }
}
