/**
 * Alipay: the payer goes to a signed page of Alipay's, or scans a code. Whatever Alipay says of a trade is read in
 * `trades.ts`.
 */
import { micro } from '../../base/money.ts'
import type { AlipayConfig } from '../../config/pay-schema.ts'
import type { Order, Refund } from '../../terms/pay.ts'
import type { ProviderFields } from '../provider-http.ts'
import { chinaTime } from '../messages.ts'
import {
  type BillLine,
  type MethodTools,
  type CheckoutMethod,
  ProviderAway,
  ProviderRefuses,
  type RawCallback,
  type RefundSaid,
  type Said,
  type Validity,
  type Verified,
} from '../method.ts'
import { yuanOf } from '../exceptions.ts'
import { checkNotEnded } from '../health.ts'
import { alipayBillOf, askRefund, alipayNoticesOf, type Seller, alipaySaid } from './trades.ts'
import { AlipayClient, alipayText } from './client.ts'
import { type AlipayKeys, alipayKeys, signedForm, verifiedForm } from './signing.ts'

const LIVE = { gateway: 'https://openapi.alipay.com/gateway.do', api: 'https://openapi.alipay.com' }
const TEST = {
  gateway: 'https://openapi-sandbox.dl.alipaydev.com/gateway.do',
  api: 'https://openapi-sandbox.dl.alipaydev.com',
}
const MINIMUM = micro(5_000_000)
/** 100,000,000 CNY. */
const MOST_FEN = 10_000_000_000
const LIFE_MS = 30 * 60_000
const LONGEST_CODE = 512
/** A refund that Alipay does not know after this long was refused; until then it may be under way. */
const REFUND_UNKNOWN_MS = 30 * 60_000

export class Alipay implements CheckoutMethod {
  readonly name = 'alipay'
  readonly merchant: string
  readonly sandbox: boolean
  readonly minimum = MINIMUM
  readonly mostAsked = MOST_FEN
  readonly lifeMs = LIFE_MS
  readonly anHour = null
  readonly anHourOfAll = null
  readonly currency = 'CNY'
  readonly accepted = { status: 200, type: 'text/plain', body: 'success' }
  readonly refused = { status: 500, type: 'text/plain', body: 'fail' }
  readonly validity: Validity | null
  readonly #config: AlipayConfig
  readonly #tools: MethodTools
  readonly #client: AlipayClient
  readonly #keys: AlipayKeys
  readonly #gateway: string
  readonly #seller: Seller

  constructor(config: AlipayConfig, tools: MethodTools) {
    const hosts = config.sandbox ? TEST : LIVE
    const { keys, validity } = alipayKeys(config)
    this.validity = validity
    this.#keys = keys
    this.#config = config
    this.#tools = tools
    this.merchant = config.seller_id
    this.sandbox = config.sandbox
    this.#seller = { appId: config.app_id, merchant: config.seller_id, sandbox: config.sandbox }
    this.#gateway = config.gateway ?? hosts.gateway
    this.#client = new AlipayClient({
      appId: config.app_id,
      keys,
      api: config.api ?? hosts.api,
      clock: tools.clock,
    })
  }

  /** A page needs no request: the address that the payer goes to is signed, and Alipay makes the trade when it is opened. */
  async begin(order: Order) {
    if (this.validity !== null) checkNotEnded(this.validity, this.#tools.clock.now())
    const isScanned = this.#config.products.includes('qr')
    return { providerId: null, shown: isScanned ? { qr: await this.#code(order) } : {} }
  }

  page(order: Order, returnTo: string): (() => string) | null {
    const { clock } = this.#tools
    const nowMs = clock.now()
    const isOver = order.expiresAtMs <= nowMs || (this.validity !== null && this.validity.untilMs < nowMs)
    return isOver || !this.#config.products.includes('page') ? null : () => this.#page(order, returnTo)
  }

  #page(order: Order, returnTo: string): string {
    const { app_id } = this.#config
    const { clock, callback } = this.#tools
    const form = signedForm(
      {
        app_id,
        method: 'alipay.trade.page.pay',
        format: 'JSON',
        charset: 'utf-8',
        sign_type: 'RSA2',
        timestamp: chinaTime(clock.now()),
        version: '1.0',
        notify_url: callback,
        ...(returnTo === '' ? {} : { return_url: returnTo }),
        biz_content: JSON.stringify({ ...this.#trade(order), product_code: 'FAST_INSTANT_TRADE_PAY' }),
      },
      this.#keys,
    )
    return `${this.#gateway}?${form}`
  }

  async #code(order: Order): Promise<string> {
    const { callback } = this.#tools
    const { fields } = await this.#client.post('/v3/alipay/trade/precreate', {
      ...this.#trade(order),
      notify_url: callback,
    })
    checkNamed(fields, order)
    const code = alipayText(fields, 'qr_code')
    if (code.length > LONGEST_CODE || !/^https:\/\//.test(code))
      throw new ProviderRefuses('an answer without a code to scan')
    return code
  }

  #trade({ id, asked, expiresAtMs }: Order) {
    return {
      out_trade_no: id,
      total_amount: yuanOf(asked),
      subject: this.#tools.title,
      time_expire: chinaTime(expiresAtMs),
    }
  }

  async query(order: Order): Promise<Said> {
    const answer = await this.#client.post('/v3/alipay/trade/query', { out_trade_no: order.id })
    return alipaySaid(this.#seller, order.id, answer)
  }

  async close(order: Order): Promise<Said> {
    const { code, fields } = await this.#client.post('/v3/alipay/trade/close', { out_trade_no: order.id })
    // It was paid meanwhile, or is closed: only a question tells which.
    if (code !== null) return code === 'TRADE_NOT_EXIST' ? { kind: 'absent' } : this.query(order)
    checkNamed(fields, order)
    return { kind: 'ended' }
  }

  async verify({ body }: RawCallback): Promise<Verified> {
    const fields = verifiedForm(body, this.#keys)
    const notices = await alipayNoticesOf(this.#seller, this.#client, fields, body)
    return { eventId: fields.get('notify_id') ?? null, notices }
  }

  async refund(refund: Refund, order: Order, amount: number): Promise<{ providerId: string | null; said: RefundSaid }> {
    const { code, fields } = await this.#client.post('/v3/alipay/trade/refund', {
      out_trade_no: order.id,
      refund_amount: yuanOf(amount),
      out_request_no: refund.id,
      refund_reason: 'refund',
    })
    if (code === null && alipayText(fields, 'out_trade_no') !== order.id)
      throw new ProviderAway('an answer about another order')
    // A repeat of a refund that was done says that no money moved now; so does one that is under way.
    const moved = code === null && alipayText(fields, 'fund_change') === 'Y'
    return { providerId: null, said: moved ? 'done' : 'undecided' }
  }

  async queryRefund(refund: Refund, order: Order, ageMs: number): Promise<RefundSaid> {
    const { said } = await askRefund(this.#client, order.id, refund.id)
    if (said !== 'none') return said
    return ageMs >= REFUND_UNKNOWN_MS ? 'released' : 'undecided'
  }

  bill(day: string): AsyncIterable<BillLine> {
    return alipayBillOf(this.#client, this.#seller, day)
  }
}

/** Not every answer names the order; one that names another is about something else. */
function checkNamed(fields: ProviderFields, { id }: Order): void {
  const named = alipayText(fields, 'out_trade_no')
  if (named !== '' && named !== id) throw new ProviderAway('an answer about another order')
}
