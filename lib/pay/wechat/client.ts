/** Requests of WeChat Pay's version 3 protocol. No answer that says "done" is believed unless WeChat Pay has signed it. */
import type { Clock } from '../../base/clock.ts'
import { type ProviderFields, readAnswer, type Asked, ask } from '../provider-http.ts'
import { NotVerified, ProviderAway, ProviderRefuses } from '../method.ts'
import type { KeyRing, RequestSigner } from './signing.ts'

interface WechatAnswer {
  /** `absent`: there is no such order, refund or bill. */
  said: 'done' | 'absent'
  fields: ProviderFields
  body: Buffer
}

interface ClientParts {
  signer: RequestSigner
  keys: KeyRing
  api: string
  clock: Clock
}

const LATER: ReadonlySet<string> = new Set([
  'SYSTEM_ERROR',
  'BANK_ERROR',
  'FREQUENCY_LIMITED',
  'FREQUENCY_LIMIT_EXCEED',
  'RATELIMIT_EXCEEDED',
  'STATEMENT_CREATING',
])
/** What WeChat Pay says of an order, a refund or a bill that does not exist. */
const ABSENT_THING: ReadonlySet<string> = new Set([
  'ORDER_NOT_EXIST',
  'ORDERNOTEXIST',
  'RESOURCE_NOT_EXISTS',
  'RESOURCE_NOT_EXIST',
  'REFUND_NOT_EXISTS',
])
export const ABSENT_BILL: ReadonlySet<string> = new Set(['NO_STATEMENT_EXIST'])
const LONGEST_REASON = 200
export const REFUNDS = '/v3/refund/domestic/refunds'
const MOST_BILL_BYTES = 64 * 2 ** 20

/** A field as text; '' when there is none. */
export const wechatText = (fields: ProviderFields, name: string): string => {
  const value = fields[name]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** A field that has fields itself. */
export const partOf = (fields: ProviderFields, name: string): ProviderFields => {
  const value = fields[name]
  return typeof value === 'object' && value !== null ? (value as ProviderFields) : {}
}

/** The code of an error as WeChat Pay writes them: `{"code":"ORDER_NOT_EXIST","message":"…"}`. */
const codeOf = ({ code, message }: ProviderFields): string | null =>
  typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code) && typeof message === 'string' ? code : null

export class WechatClient {
  readonly #parts: ClientParts

  constructor(parts: ClientParts) {
    this.#parts = parts
  }

  async post(path: string, fields: object): Promise<WechatAnswer> {
    return this.#read(await this.#ask('POST', path, JSON.stringify(fields)))
  }

  /** `absent`: the codes that say that what was asked about does not exist. */
  async get(path: string, query: Record<string, string> = {}, absent = ABSENT_THING): Promise<WechatAnswer> {
    const search = new URLSearchParams(query).toString()
    return this.#read(await this.#ask('GET', search === '' ? path : `${path}?${search}`, ''), absent)
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
  #read(asked: Asked, absent = ABSENT_THING): WechatAnswer {
    const { headers, body } = asked
    const { code, fields } = readAnswer(asked, { codeOf, later: LATER })
    if (code === null) this.#check(headers, body)
    // Refusals may come without a signature, because WeChat Pay cannot always tell whom it talks to. A wrong one is never believed.
    else if (headers['wechatpay-signature'] !== undefined) this.#check(headers, body)
    if (code === null) return { said: 'done', fields, body }
    if (absent.has(code)) return { said: 'absent', fields, body }
    throw new ProviderRefuses(`${code}: ${wechatText(fields, 'message')}`.slice(0, LONGEST_REASON))
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
