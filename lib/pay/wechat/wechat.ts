/** WeChat Pay, product Native: the payer scans a code. What WeChat Pay says of payments is read in `trades.ts`. */
import { micro } from '../../base/money.ts'
import { hourInZone } from '../../base/zone.ts'
import type { WechatConfig } from '../../config/pay-schema.ts'
import type { Order, Refund } from '../../terms/pay.ts'
import { parsed } from '../provider-http.ts'
import {
  type BillLine,
  type MethodTools,
  NotVerified,
  type CheckoutMethod,
  ProviderAway,
  ProviderRefuses,
  type RawCallback,
  type RefundSaid,
  type Said,
  type Verified,
} from '../method.ts'
import { wechatBillOf, type Merchant, noticesOf, refundSaid, wechatSaid } from './trades.ts'
import { partOf, REFUNDS, wechatText, WechatClient } from './client.ts'
import { decrypted, KeyRing, RequestSigner } from './signing.ts'

const LIVE = 'https://api.mch.weixin.qq.com'
const MINIMUM = micro(5_000_000)
/** A whole number of 32 bits. */
const MOST_FEN = 2_147_483_647
/** Less than five minutes would be too short: WeChat Pay may refuse to close a young order. A code lives two hours. */
const LIFE_MS = 30 * 60_000
/** WeChat Pay wants an order's end to be a minute ahead; after that, another code would make it payable again. */
const LAST_CODE_MS = 90_000
const CHINA_HOURS = 8
const LONGEST_CODE = 512
const LONGEST_EVENT_ID = 64
const ORDERS = '/v3/pay/transactions'
const JSON_TYPE = 'application/json'

export class Wechat implements CheckoutMethod {
  readonly name = 'wechat'
  readonly merchant: string
  readonly sandbox: boolean
  readonly minimum = MINIMUM
  readonly mostAsked = MOST_FEN
  readonly lifeMs = LIFE_MS
  readonly anHour = null
  readonly anHourOfAll = null
  readonly currency = 'CNY'
  readonly accepted = { status: 204, type: JSON_TYPE, body: '' }
  /** The status is what counts; the body is for people who read WeChat Pay's logs. */
  readonly refused = { status: 500, type: JSON_TYPE, body: '{"code":"FAIL","message":"not taken"}' }
  readonly #config: WechatConfig
  readonly #tools: MethodTools
  readonly #keys: KeyRing
  readonly #client: WechatClient
  readonly #merchant: Merchant

  constructor(config: WechatConfig, tools: MethodTools) {
    const { mchid, appid, sandbox, api = LIVE } = config
    this.#config = config
    this.#tools = tools
    this.merchant = mchid
    this.sandbox = sandbox
    this.#merchant = { mchid, appid, sandbox }
    this.#keys = new KeyRing(config.public_keys)
    this.#client = new WechatClient({ signer: new RequestSigner(config), keys: this.#keys, api, clock: tools.clock })
  }

  async begin(order: Order) {
    const { clock, callback, title } = this.#tools
    if (order.expiresAtMs - clock.now() < LAST_CODE_MS) throw new ProviderAway('the order ends too soon for a code')
    const { mchid, appid } = this.#merchant
    const { said, fields } = await this.#client.post(`${ORDERS}/native`, {
      appid,
      mchid,
      description: title,
      out_trade_no: order.id,
      time_expire: hourInZone(order.expiresAtMs, CHINA_HOURS),
      notify_url: callback,
      amount: { total: order.asked, currency: 'CNY' },
    })
    const code = wechatText(fields, 'code_url')
    if (said !== 'done' || code.length > LONGEST_CODE || !code.startsWith('weixin://'))
      throw new ProviderRefuses('an answer without a code to scan')
    return { providerId: null, shown: { qr: code } }
  }

  async query(order: Order): Promise<Said> {
    const { mchid } = this.#merchant
    const { said, fields, body } = await this.#client.get(`${ORDERS}/out-trade-no/${order.id}`, { mchid })
    return said === 'absent' ? { kind: 'absent' } : wechatSaid(this.#merchant, order.id, fields, body)
  }

  /** An order's end always closes it here: until then WeChat Pay takes money for it, days after the time that it was given. */
  async close(order: Order): Promise<Said> {
    try {
      const { mchid } = this.#merchant
      const { said } = await this.#client.post(`${ORDERS}/out-trade-no/${order.id}/close`, { mchid })
      return { kind: said === 'absent' ? 'absent' : 'ended' }
    } catch (error) {
      if (!(error instanceof ProviderRefuses)) throw error
      return this.query(order) // it was paid meanwhile, or is closed: only a question tells which
    }
  }

  async verify({ headers, body }: RawCallback): Promise<Verified> {
    this.#keys.check(headers, body, this.#tools.clock.now())
    const message = parsed(body)
    const eventId = message === null ? '' : wechatText(message, 'id')
    if (message === null || eventId === '' || eventId.length > LONGEST_EVENT_ID) throw new NotVerified('form')
    const fields = parsed(decrypted(partOf(message, 'resource'), this.#config.api_v3_key))
    if (fields === null) throw new NotVerified('form')
    return { eventId, notices: noticesOf(this.#merchant, wechatText(message, 'event_type'), fields, body) }
  }

  async refund(refund: Refund, order: Order, amount: number): Promise<{ providerId: string | null; said: RefundSaid }> {
    const { said, fields } = await this.#client.post(REFUNDS, {
      out_trade_no: order.id,
      out_refund_no: refund.id,
      notify_url: this.#tools.callback,
      amount: { refund: amount, total: order.asked, currency: 'CNY' },
    })
    if (said === 'absent') throw new ProviderRefuses('the order of a refund is not known')
    const given = partOf(fields, 'amount')['refund']
    if (
      wechatText(fields, 'out_refund_no') !== refund.id ||
      wechatText(fields, 'out_trade_no') !== order.id ||
      given !== amount
    )
      throw new ProviderAway('an answer about another refund')
    return { providerId: wechatText(fields, 'refund_id') || null, said: refundSaid(wechatText(fields, 'status')) }
  }

  async queryRefund(refund: Refund): Promise<RefundSaid> {
    const { said, fields } = await this.#client.get(`${REFUNDS}/${refund.id}`)
    if (said === 'absent') return 'undecided' // it may be on its way, and is sent again under its number
    if (wechatText(fields, 'out_refund_no') !== refund.id) throw new ProviderAway('an answer about another refund')
    return refundSaid(wechatText(fields, 'status'))
  }

  bill(day: string): AsyncIterable<BillLine> {
    return wechatBillOf(this.#client, this.#merchant, day)
  }
}
