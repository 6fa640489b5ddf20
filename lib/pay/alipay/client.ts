/** Requests of Alipay's version 3 protocol. No answer that says "done" is believed unless Alipay has signed it. */
import type { Clock } from '../../base/clock.ts'
import { type Answer, type ProviderFields, readAnswer, type Asked, ask } from '../provider-http.ts'
import { ProviderAway, ProviderRefuses } from '../method.ts'
import { type AlipayKeys, isAnswer, serialNamed, signedHeaders } from './signing.ts'

export type AlipayAnswer = Answer

interface AlipayApp {
  appId: string
  keys: AlipayKeys
  api: string
  clock: Clock
}

const ERROR = 400
const LONGEST_MESSAGE = 200
const MOST_DOWNLOADED_BYTES = 32 * 2 ** 20
/** Refusals that say something about what was asked for; any other one says that our request is wrong. */
const SAYINGS: ReadonlySet<string> = new Set([
  'TRADE_NOT_EXIST',
  'TRADE_HAS_SUCCESS',
  'TRADE_HAS_CLOSE',
  'TRADE_HAS_FINISHED',
  'TRADE_STATUS_ERROR',
  'REASON_TRADE_STATUS_INVALID',
  'BILL_NOT_EXIST',
  'NO_BILL_DATA',
])
const LATER: ReadonlySet<string> = new Set(['SYSTEM_ERROR', 'UNKNOW_ERROR', 'UNKNOWN_ERROR'])

/** A field as text; '' when there is none. */
export const alipayText = (fields: AlipayAnswer['fields'], name: string): string => String(fields[name] ?? '')

export class AlipayClient {
  readonly #app: AlipayApp

  constructor(app: AlipayApp) {
    this.#app = app
  }

  post(path: string, fields: object): Promise<AlipayAnswer> {
    return this.#ask('POST', path, JSON.stringify(fields))
  }

  get(path: string, query: Record<string, string>): Promise<AlipayAnswer> {
    return this.#ask('GET', `${path}?${new URLSearchParams(query)}`, '')
  }

  /** The file at an address that Alipay has named in a signed answer. The file itself is not signed. */
  async download(address: string): Promise<Buffer> {
    const url = URL.parse(address)
    if (url === null || url.protocol !== new URL(this.#app.api).protocol)
      throw new ProviderRefuses('an answer without the address of a file')
    const { status, body } = await ask(address, { method: 'GET', mostBytes: MOST_DOWNLOADED_BYTES })
    if (status !== 200) throw new ProviderAway(`status ${status} for a file`)
    return body
  }

  /** Throws ProviderAway when nobody knows what became of the request, ProviderRefuses when our own request is at fault. */
  async #ask(method: 'GET' | 'POST', path: string, body: string): Promise<AlipayAnswer> {
    const { api, clock, keys } = this.#app
    const headers = signedHeaders(this.#app, method, path, body, clock.now())
    const answer = await ask(`${api}${path}`, { method, headers, ...(body === '' ? {} : { body }) })
    const doubt = doubtOf(answer, keys)
    if (doubt !== null) throw new ProviderAway(`status ${answer.status}: ${doubt}`)
    const said = readAnswer(answer, { codeOf, later: LATER })
    const { code, fields } = said
    if (code !== null && !SAYINGS.has(code)) throw new ProviderRefuses(`${code}: ${told(fields)}`)
    return said
  }
}

/**
 * Why an answer is not believed; null = it is. Errors may come without a signature, because Alipay cannot always tell whom it
 * talks to. They move no money: an order that "does not exist" is asked about again, and money that comes is taken. A wrong
 * signature is never believed.
 *
 * In certificate mode, answers name the certificate. A new one of Alipay's is not fetched when it is named: that it leads to
 * Alipay's roots would prove nothing, because those of all merchants do.
 */
function doubtOf({ status, headers, body }: Asked, { publicKey, serials }: AlipayKeys): string | null {
  if (status >= ERROR && headers['alipay-signature'] === undefined) return null
  const named = serialNamed(headers)
  if (serials !== null && named !== '' && named !== serials.alipay) return ANOTHER_CERTIFICATE
  return isAnswer(headers, body, publicKey) ? null : 'the answer is not signed by Alipay'
}

const ANOTHER_CERTIFICATE =
  'the answer names another certificate of Alipay’s than `alipay_cert`: if Alipay has a new one, download it from open.alipay.com'

/**
 * The code of an error as Alipay writes them: `{"code":"ACQ.TRADE_NOT_EXIST","message":"…"}`. It writes the same one in several
 * ways: `isp.unknow-error`, `UNKNOW_ERROR`.
 */
function codeOf({ code, message }: ProviderFields): string | null {
  const m = typeof code === 'string' ? /^(?:[A-Za-z]{3}\.)?([A-Z][A-Z0-9_]+|[a-z][a-z0-9_-]+)$/.exec(code) : null
  return m === null || typeof message !== 'string' ? null : (m[1] as string).replaceAll('-', '_').toUpperCase()
}

/** Alipay's explanation, for logs and terminals. It may repeat all of the request. */
const told = (fields: AlipayAnswer['fields']): string =>
  alipayText(fields, 'message')
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, LONGEST_MESSAGE)
