/**
 * A stand-in for WeChat Pay: a server on this machine with keys of its own, made for each run, and a ledger of its own. Tests have
 * signatures checked and made with a client library that other people wrote. Only `pay` makes money.
 */
import { createCipheriv, createHash, randomBytes, sign, verify } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { brokenIn, WECHAT } from './fields.ts'
import { keyPairOf } from './keys.ts'
import { addressOf, listen, type Teardown } from './server.ts'

/** How texts are signed and encrypted. */
export interface WechatCrypto {
  verify(text: string, signature: string, publicKey: string): boolean
  sign(text: string, privateKey: string): string
  encrypt(text: string, key: string, nonce: string, extra: string): string
  nonce(length?: number): string
}

const OWN_CRYPTO: WechatCrypto = {
  verify: (text, signature, key) => verify('sha256', Buffer.from(text), key, Buffer.from(signature, 'base64')),
  sign: (text, key) => sign('sha256', Buffer.from(text), key).toString('base64'),
  encrypt(text, key, nonce, extra) {
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(extra))
    return Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64')
  },
  nonce: (length = 32) => randomBytes(length).toString('hex').slice(0, length),
}

interface WechatParts {
  mchid?: string
  appid?: string
  now?: () => number
  crypto?: WechatCrypto
}

export type Json = Record<string, unknown>
type Answer = { status: number; body: string }
export type TradeState = 'NOTPAY' | 'SUCCESS' | 'REFUND' | 'CLOSED'

export interface WechatTrade {
  order: Json & { out_trade_no: string; notify_url: string; time_expire: string; amount: { total: number } }
  state: TradeState
  transactionId: string
  paidAtMs: number
  /** What a coupon pays of the total. */
  coupon: number
}

export interface WechatRefund {
  refundId: string
  outRefundNo: string
  orderId: string
  amount: number
  status: 'PROCESSING' | 'SUCCESS' | 'ABNORMAL' | 'CLOSED'
  atMs: number
}

/**
 * What happens to the next answer. `500`: nothing was done; `500 after`, `reset`: it was done, and nobody is told. The others
 * are answers that must not be believed.
 */
export type Fault = 'none' | '500' | '500 after' | 'reset' | 'html' | '429' | Forgery
export type Forgery = 'unsigned' | 'foreign key' | 'unknown key' | 'old' | 'future' | 'probe' | 'flipped'
export const FORGERIES: readonly Forgery[] = [
  'unsigned',
  'foreign key',
  'unknown key',
  'old',
  'future',
  'probe',
  'flipped',
]

/** WeChat Pay names its public key by the first, and the platform certificate, in the place of which the key stands, by the second. */
const KEY_IDS = ['PUB_KEY_ID_0119000001092024', '7132D72A03E93CDDF8C03BBD1F37EEDF']

const json = (status: number, body: object): Answer => ({ status, body: JSON.stringify(body) })
const refusal = (status: number, code: string): Answer => json(status, { code, message: `错误:${code}` })
/** A time in China, as WeChat Pay writes it. */
const timeText = (ms: number): string => `${new Date(ms + 8 * 3_600_000).toISOString().slice(0, 19)}+08:00`
const yuan = (fen: number): string => (fen / 100).toFixed(2)

export class Wechat {
  readonly mchid: string
  readonly appid: string
  readonly serial = randomBytes(20).toString('hex').toUpperCase()
  readonly apiKey = randomBytes(16).toString('hex')
  readonly merchant = keyPairOf('a merchant of WeChat Pay')
  readonly keys = KEY_IDS.map(id => ({ id, ...keyPairOf(id) }))
  readonly trades = new Map<string, WechatTrade>()
  readonly refunds = new Map<string, WechatRefund>()
  /** For the next answers, one each. */
  readonly faults: Fault[] = []
  /** Somebody on the way answers in WeChat Pay's place; null = nobody does. */
  inBetween: (route: string) => { status: number; body: string } | null = () => null
  /** Called after a question was answered, before the answer is sent. */
  between: () => void = () => {}
  /** Which key signs what is not asked for by a key. */
  signsWith = 0
  readonly asked: string[] = []
  /** Requests that were ours, with their fields. */
  readonly sent: [request: string, fields: object][] = []
  readonly serials = new Set<string>()
  readonly #now: () => number
  readonly #crypto: WechatCrypto
  readonly #server: Server
  #count = 0
  #file: Buffer | null = null
  /** Changes a bill before its hash is made, and after it. */
  bill: (text: string) => string = text => text
  spoilBill: (text: string) => string = text => text

  constructor(parts: WechatParts = {}) {
    const { mchid = '1900000109', appid = 'wxd678efh567hg6787', now = Date.now, crypto = OWN_CRYPTO } = parts
    this.mchid = mchid
    this.appid = appid
    this.#now = now
    this.#crypto = crypto
    this.#server = createServer((req, res) => void this.#serve(req, res))
  }

  listen(t: Teardown): Promise<void> {
    return listen(t, this.#server)
  }

  get url(): string {
    return addressOf(this.#server)
  }

  /** What can be paid. */
  due(): WechatTrade[] {
    return [...this.trades.values()].filter(({ state }) => state === 'NOTPAY')
  }

  /** Sends the notification of a payment. The shop asks later where that fails. */
  async tell(orderId: string): Promise<void> {
    const { headers, body } = this.paid(orderId)
    const address = (this.trades.get(orderId) as WechatTrade).order.notify_url
    await fetch(address, { method: 'POST', headers, body }).catch(() => {})
  }

  /** The section of a gateway's config. */
  get config() {
    return {
      mchid: this.mchid,
      appid: this.appid,
      serial: this.serial,
      private_key: this.merchant.privateKey,
      api_v3_key: this.apiKey,
      public_keys: this.keys.map(({ id, publicKey: key }) => ({ id, key })),
      sandbox: true,
      api: this.url,
    }
  }

  /** What the merchant has got, in fen. */
  get ledger(): number {
    const paid = [...this.trades.values()].filter(({ state }) => state === 'SUCCESS' || state === 'REFUND')
    const back = [...this.refunds.values()].filter(({ status }) => status === 'SUCCESS')
    return paid.reduce((sum, t) => sum + t.order.amount.total, 0) - back.reduce((sum, r) => sum + r.amount, 0)
  }

  /** The payer scans the code and pays. */
  pay(orderId: string, coupon = 0): void {
    const trade = this.trades.get(orderId) as WechatTrade
    if (trade.state !== 'NOTPAY') return
    Object.assign(trade, { state: 'SUCCESS', paidAtMs: this.#now(), coupon })
  }

  /** The merchant sends money back on WeChat Pay's own pages, or a refund that was asked for ends. */
  sendBack(orderId: string, amount: number, outRefundNo = `manual-${++this.#count}`): WechatRefund {
    const made = { refundId: `5030${++this.#count}`, outRefundNo, orderId, amount, atMs: this.#now() }
    const refund: WechatRefund = { ...made, status: 'PROCESSING' }
    this.refunds.set(outRefundNo, refund)
    ;(this.trades.get(orderId) as WechatTrade).state = 'REFUND'
    return refund
  }

  payment(orderId: string): Json {
    const { order, state, transactionId, paidAtMs, coupon } = this.trades.get(orderId) as WechatTrade
    const { total } = order.amount
    const common = {
      mchid: order['mchid'],
      appid: order['appid'],
      out_trade_no: orderId,
      trade_state: state,
      attach: '',
    }
    if (state === 'NOTPAY' || state === 'CLOSED')
      return { ...common, amount: { total, payer_currency: 'CNY' }, trade_state_desc: state, promotion_detail: [] }
    return {
      ...common,
      transaction_id: transactionId,
      trade_type: 'NATIVE',
      trade_state_desc: '支付成功',
      bank_type: 'OTHERS',
      success_time: timeText(paidAtMs),
      payer: { openid: 'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o' },
      amount: { total, payer_total: total - coupon, currency: 'CNY', payer_currency: 'CNY' },
    }
  }

  refundOf({ refundId, outRefundNo, orderId, amount, status, atMs }: WechatRefund): Json {
    const { transactionId, order } = this.trades.get(orderId) as WechatTrade
    const { total } = order.amount
    return {
      refund_id: refundId,
      out_refund_no: outRefundNo,
      transaction_id: transactionId,
      out_trade_no: orderId,
      channel: 'ORIGINAL',
      user_received_account: '招商银行信用卡0403',
      create_time: timeText(atMs),
      status,
      funds_account: 'AVAILABLE',
      amount: { total, refund: amount, payer_total: total, payer_refund: amount, currency: 'CNY' },
    }
  }

  /** A notification about an order's payment, signed. `change` is made in what is encrypted. */
  paid(orderId: string, change: Json = {}, how: How = {}) {
    return this.message('TRANSACTION.SUCCESS', { ...this.payment(orderId), ...change }, how)
  }

  refunded(refund: WechatRefund, change: Json = {}, how: How = {}) {
    const { status, amount, ...rest } = this.refundOf(refund)
    const { currency: _, ...amounts } = amount as Json
    const plain = { mchid: this.mchid, ...rest, refund_status: status, amount: amounts, ...change }
    return this.message(`REFUND.${refund.status}`, plain, how)
  }

  message(event: string, plain: object, how: How = {}): { headers: Record<string, string>; body: string } {
    const nonce = this.#crypto.nonce(12)
    const { extra = event.split('.')[0]?.toLowerCase() ?? '', key = this.apiKey, spoil = (x: Json) => x } = how
    const resource = spoil({
      original_type: extra,
      algorithm: 'AEAD_AES_256_GCM',
      ciphertext: this.#crypto.encrypt(JSON.stringify(plain), key, nonce, extra),
      associated_data: extra,
      nonce,
    })
    const id = how.id ?? `EV-${this.#now()}${++this.#count}`
    const body = JSON.stringify({
      id,
      create_time: timeText(this.#now()),
      resource_type: 'encrypt-resource',
      event_type: event,
      summary: '支付成功',
      resource,
    })
    return { headers: { 'content-type': 'application/json', ...this.signature(body, how.forgery, how.signer) }, body }
  }

  /** The headers that sign a text. */
  signature(body: string, forgery?: Forgery, signer = this.signsWith): Record<string, string> {
    if (forgery === 'unsigned') return {}
    const { id, privateKey } = this.keys[signer] as (typeof this.keys)[number]
    const skew = forgery === 'old' ? -301 : forgery === 'future' ? 3_600 : 0
    const at = String(Math.floor(this.#now() / 1_000) + skew)
    const nonce = this.#crypto.nonce()
    const signed = this.#crypto.sign(
      `${at}\n${nonce}\n${body}\n`,
      forgery === 'foreign key' ? keyPairOf('a stranger to WeChat Pay').privateKey : privateKey,
    )
    return {
      'wechatpay-timestamp': at,
      'wechatpay-nonce': forgery === 'flipped' ? `${nonce}x` : nonce,
      'wechatpay-serial': forgery === 'unknown key' ? 'PUB_KEY_ID_UNKNOWN' : id,
      'wechatpay-signature': forgery === 'probe' ? `WECHATPAY/SIGNTEST/${signed}` : signed,
      'wechatpay-signature-type': 'WECHATPAY2-SHA256-RSA2048',
    }
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const fault = this.faults.shift() ?? 'none'
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    if (fault === '500') return this.#send(res, refusal(500, 'SYSTEM_ERROR'))
    if (fault === '429') return this.#send(res, refusal(429, 'FREQUENCY_LIMITED'))
    const url = new URL(req.url as string, this.url)
    this.asked.push(`${req.method} ${url.pathname}`)
    const foreign = this.inBetween(`${req.method} ${url.pathname}`)
    if (foreign !== null) return this.#send(res, foreign)
    const answer = this.#isSigned(req, body)
      ? (this.#misread(req.method as string, url, body) ?? this.#answer(req.method as string, url, body))
      : refusal(401, 'SIGN_ERROR')
    this.between()
    if (fault === 'reset') return void req.socket.destroy()
    if (fault === '500 after') return this.#send(res, refusal(500, 'SYSTEM_ERROR'))
    if (fault === 'html') return this.#send(res, { status: 200, body: '<html>ok</html>' })
    const asked = req.headers['wechatpay-serial']
    if (typeof asked === 'string') this.serials.add(asked)
    const signer = Math.max(
      0,
      typeof asked === 'string' ? this.keys.findIndex(({ id }) => id === asked) : this.signsWith,
    )
    const unsigned = url.pathname === '/v3/billdownload/file'
    const headers = unsigned ? {} : this.signature(answer.body, fault === 'none' ? undefined : fault, signer)
    this.#send(res, answer, headers)
  }

  #send(res: ServerResponse, { status, body }: Answer, headers: Record<string, string> = {}): void {
    res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(body)
  }

  #isSigned(req: IncomingMessage, body: string): boolean {
    const [scheme, fields = ''] = (req.headers.authorization ?? '').split(/ (.*)/s)
    const of = Object.fromEntries([...fields.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]))
    const { mchid, serial_no: serial, timestamp, nonce_str: nonce, signature } = of as Record<string, string>
    if (scheme !== 'WECHATPAY2-SHA256-RSA2048' || mchid !== this.mchid || serial !== this.serial) return false
    if (Math.abs(this.#now() / 1_000 - Number(timestamp)) > 300 || !/^[\w]{1,32}$/.test(nonce ?? '')) return false
    const text = `${req.method}\n${req.url}\n${timestamp}\n${nonce}\n${body}\n`
    return this.#crypto.verify(text, signature as string, this.merchant.publicKey)
  }

  /** WeChat Pay's refusal of fields that break what it writes about them; null = they do not. */
  #misread(method: string, { pathname, searchParams }: URL, body: string): Answer | null {
    const request = `${method} ${pathname.replace(/\/(out-trade-no|refunds)\/[^/]+/, '/$1/:id')}`
    const fields = body === '' ? Object.fromEntries(searchParams) : JSON.parse(body)
    this.sent.push([request, fields])
    const asks = WECHAT[request]
    if (asks === undefined) return refusal(404, 'NOT_FOUND')
    const broken = brokenIn(asks, fields)
    if (broken === null) return null
    const detail = { field: `/${broken.field.replaceAll('.', '/')}`, issue: broken.text, location: 'body' }
    return json(400, { code: 'PARAM_ERROR', message: `参数错误:${broken.field}`, detail })
  }

  #answer(method: string, { pathname, searchParams }: URL, body: string): Answer {
    const [, orderId, close] = /^\/v3\/pay\/transactions\/out-trade-no\/([^/]+)(\/close)?$/.exec(pathname) ?? []
    if (method === 'POST' && pathname === '/v3/pay/transactions/native') return this.#native(JSON.parse(body))
    if (method === 'POST' && pathname === '/v3/refund/domestic/refunds') return this.#refund(JSON.parse(body))
    if (method === 'POST' && orderId !== undefined && close !== undefined) return this.#close(orderId, JSON.parse(body))
    if (method !== 'GET') return refusal(404, 'NOT_FOUND')
    if (orderId !== undefined) {
      if (searchParams.get('mchid') !== this.mchid) return refusal(400, 'PARAM_ERROR')
      return this.trades.has(orderId) ? json(200, this.payment(orderId)) : refusal(404, 'ORDER_NOT_EXIST')
    }
    const refundNo = /^\/v3\/refund\/domestic\/refunds\/([^/]+)$/.exec(pathname)?.[1]
    if (refundNo !== undefined) {
      const refund = this.refunds.get(refundNo)
      return refund === undefined ? refusal(404, 'RESOURCE_NOT_EXISTS') : json(200, this.refundOf(refund))
    }
    if (pathname === '/v3/bill/tradebill') return this.#nameBill(searchParams)
    if (pathname === '/v3/billdownload/file' && this.#file !== null)
      return { status: 200, body: this.spoilBill(this.#file.toString('utf8')) }
    return refusal(404, 'NOT_FOUND')
  }

  #native(order: WechatTrade['order']): Answer {
    const { out_trade_no: id, time_expire } = order
    const ahead = Date.parse(time_expire) - this.#now() >= 60_000
    if (order['mchid'] !== this.mchid || !ahead) return refusal(400, 'PARAM_ERROR')
    if (order['appid'] !== this.appid) return refusal(400, 'APPID_MCHID_NOT_MATCH')
    const known = this.trades.get(id)
    if (known !== undefined && JSON.stringify(known.order) !== JSON.stringify(order))
      return refusal(403, 'OUT_TRADE_NO_USED')
    if (known?.state === 'SUCCESS' || known?.state === 'REFUND') return refusal(400, 'ORDERPAID')
    if (known?.state === 'CLOSED') return refusal(400, 'ORDER_CLOSED')
    const transactionId = `42000${Date.now()}${++this.#count}`
    if (known === undefined) this.trades.set(id, { order, state: 'NOTPAY', transactionId, paidAtMs: 0, coupon: 0 })
    return json(200, { code_url: `weixin://wxpay/bizpayurl?pr=${randomBytes(6).toString('hex')}` })
  }

  #close(orderId: string, { mchid }: Json): Answer {
    const trade = this.trades.get(orderId)
    if (mchid !== this.mchid) return refusal(400, 'PARAM_ERROR')
    if (trade === undefined) return refusal(404, 'ORDER_NOT_EXIST')
    if (trade.state === 'SUCCESS' || trade.state === 'REFUND') return refusal(400, 'ORDERPAID')
    trade.state = 'CLOSED'
    return { status: 204, body: '' }
  }

  #refund(asked: Json): Answer {
    const [id, orderId] = [String(asked['out_refund_no']), String(asked['out_trade_no'])]
    const { refund, total, currency } = asked['amount'] as Json
    const trade = this.trades.get(orderId)
    if (trade === undefined || trade.state === 'NOTPAY') return refusal(404, 'RESOURCE_NOT_EXISTS')
    if (total !== trade.order.amount.total || currency !== 'CNY' || typeof refund !== 'number')
      return refusal(400, 'PARAM_ERROR')
    const known = this.refunds.get(id)
    if (known !== undefined)
      return known.amount === refund ? json(200, this.refundOf(known)) : refusal(400, 'INVALID_REQUEST')
    const before = [...this.refunds.values()].filter(r => r.orderId === orderId && r.status !== 'CLOSED')
    if (before.reduce((sum, r) => sum + r.amount, refund) > (total as number)) return refusal(403, 'NOT_ENOUGH')
    return json(200, this.refundOf(this.sendBack(orderId, refund, id)))
  }

  #nameBill(query: URLSearchParams): Answer {
    const day = query.get('bill_date') ?? ''
    const lines = this.#billLines(day)
    if (lines.length === 0) return refusal(400, 'NO_STATEMENT_EXIST')
    const sum = `总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额`
    const sums = `\`${lines.length},\`0.00,\`0.00,\`0.00,\`0.00000,\`0.00,\`0.00`
    const file = Buffer.from(this.bill(`\uFEFF${[HEAD, ...lines, sum, sums].join('\r\n')}\r\n`))
    this.#file = file
    const hash = createHash('sha1').update(file).digest('hex')
    return json(200, {
      hash_type: 'SHA1',
      hash_value: hash,
      download_url: `${this.url}/v3/billdownload/file?token=${day}`,
    })
  }

  #billLines(day: string): string[] {
    const on = (ms: number) => timeText(ms).startsWith(day)
    const line = (trade: WechatTrade, ms: number, cells: string[]) =>
      [timeText(ms).slice(0, 19).replace('T', ' '), this.appid, this.mchid, '0', '', trade.transactionId, ...cells]
        .map(cell => `\`${cell}`)
        .join(',')
    const paid = [...this.trades.values()].filter(trade => trade.paidAtMs > 0 && on(trade.paidAtMs))
    const back = [...this.refunds.values()].filter(refund => on(refund.atMs))
    const head = (id: string, state: string) => [id, 'oUpF8uMuAJO', 'NATIVE', state, 'OTHERS', 'CNY']
    const tail = (total: string, refund: string) => ['商品, 一份', '', '0.00000', '0.60%', total, refund, '']
    return [
      ...paid.map(trade => {
        const { total } = trade.order.amount
        const sums = [yuan(total - trade.coupon), yuan(trade.coupon), '0', '0', '0.00', '0.00', '', '']
        return line(trade, trade.paidAtMs, [
          ...head(trade.order.out_trade_no, 'SUCCESS'),
          ...sums,
          ...tail(yuan(total), '0.00'),
        ])
      }),
      ...back.map(({ refundId, outRefundNo, orderId, amount, status, atMs }) => {
        const trade = this.trades.get(orderId) as WechatTrade
        const sums = ['0.00', '0.00', refundId, outRefundNo, yuan(amount), '0.00', 'ORIGINAL', status]
        return line(trade, atMs, [
          ...head(orderId, 'REFUND'),
          ...sums,
          ...tail(yuan(trade.order.amount.total), yuan(amount)),
        ])
      }),
    ]
  }
}

export interface How {
  id?: string
  /** The associated data. */
  extra?: string
  key?: string
  forgery?: Forgery
  /** Which of the keys signs. */
  signer?: number
  /** Changes the encrypted part. */
  spoil?: (resource: Json) => Json
}

const HEAD =
  '交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,' +
  '应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,' +
  '费率,订单金额,申请退款金额,费率备注'
