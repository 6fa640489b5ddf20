/**
 * A stand-in for Alipay on this machine, with keys of its own for every run: the page that a payer is sent to, the version
 * 3 API, notifications and bills. It verifies the signature of every request before it answers. Tests have it verified by the functions of
 * the official SDK, which also says which serial numbers certificates have.
 */
import { randomUUID, sign, verify } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { billArchive, isIn } from './alipay-bill.ts'
import { AlipayLedger, china, type NewTrade, type Trade, yuan } from './alipay-ledger.ts'
import { ALIPAY, brokenIn } from './fields.ts'
import { keyPairOf } from './keys.ts'
import { addressOf, listen, type Teardown } from './server.ts'

/** Alipay has one, our application has one, and somebody else has one. */
export const ALIPAY_KEYS = {
  get alipay() {
    return keyPairOf('Alipay')
  },
  get app() {
    return keyPairOf('our application at Alipay')
  },
  get stranger() {
    return keyPairOf('a stranger to Alipay')
  },
}

/** The files that a merchant gets: his own certificate, Alipay's with the one that signed it, and the roots. */
export interface AlipayFiles {
  app_cert: string
  alipay_cert: string
  alipay_root_cert: string
}

/** What verifies the signatures of the application. */
export interface AlipayVerifier {
  rsaCheck(text: string, signature: string): boolean
  /** Verifies a form with its signature. */
  checkNotifySignV2(fields: Record<string, string>): boolean
}

const isByApp = (text: string, signature: string): boolean =>
  verify('sha256', Buffer.from(text), ALIPAY_KEYS.app.publicKey, Buffer.from(signature, 'base64'))

const OWN_VERIFIER: AlipayVerifier = {
  rsaCheck: isByApp,
  checkNotifySignV2: ({ sign: signature = '', ...fields }) =>
    isByApp(
      Object.keys(fields)
        .sort()
        .map(name => `${name}=${fields[name]}`)
        .join('&'),
      signature,
    ),
}

interface AlipayParts {
  appId?: string
  sellerId?: string
  verifier?: AlipayVerifier
  /** The certificates of the mode that has some. */
  certificates?: { files: AlipayFiles; serials: { app: string; alipay: string; root: string } } | null
}

/**
 * What happens to the next requests of the API, one after the other. `drop`: the connection ends before anything is done.
 * `reset`: it is done, and the connection ends without an answer. `fault`: done, and answered 500. `unsigned`, `stranger`:
 * the answer has no signature, or that of another key.
 */
export type Fault = 'none' | 'drop' | 'reset' | 'fault' | 'unsigned' | 'stranger' | 'busy'

const fen = (yuanText: unknown): number => Math.round(Number(yuanText) * 100)
const SKEW_MS = 10 * 60_000

type Fields = Record<string, string>
interface Answered {
  status: number
  body: object
}
const error = (status: number, code: string): Answered => ({
  status,
  body: { code, message: `错误 ${code}`, links: [] },
})

/** {} = it is no JSON. */
function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return {}
  }
}

export class Alipay {
  readonly keys = ALIPAY_KEYS
  /** The certificates, and their serial numbers; null = the mode of public keys. */
  readonly files: AlipayFiles | null
  readonly serials: { app: string; alipay: string; root: string } | null
  /** What answers name as the certificate that they are signed with: `alipay-sn`. */
  namedSerial: string | null
  readonly appId: string
  readonly sellerId: string
  readonly ledger = new AlipayLedger()
  readonly faults: Fault[] = []
  /** Errors carry a signature, as not all of Alipay's do. */
  signsErrors = true
  /** The merchant's account has no money to send back. */
  broke = false
  /** Refunds are taken in, and the money moves later: when this is false again and Alipay is asked again. */
  slow = false
  /** Bills that this merchant can have. */
  bills: readonly string[] = ['trade', 'signcustomer']
  /** Somebody on the way answers in Alipay's place; null = nobody does. */
  inBetween: (path: string) => { status: number; body: string } | null = () => null
  /** Requests that were ours, with their fields. */
  readonly sent: [request: string, fields: object][] = []
  /** Paths that were asked, and requests that were refused because of their signature. */
  readonly asked: string[] = []
  readonly forged: string[] = []
  readonly #server: Server
  readonly #verifier: AlipayVerifier

  constructor(parts: AlipayParts = {}) {
    const { appId = '2021000000000001', sellerId = '2088000000000001', verifier = OWN_VERIFIER, certificates } = parts
    this.#server = createServer((req, res) => void this.#serve(req, res).catch(fault => res.destroy(fault)))
    this.appId = appId
    this.sellerId = sellerId
    this.#verifier = verifier
    this.files = certificates?.files ?? null
    this.serials = certificates?.serials ?? null
    this.namedSerial = this.serials?.alipay ?? null
  }

  listen(t: Teardown): Promise<void> {
    return listen(t, this.#server)
  }

  get url(): string {
    return addressOf(this.#server)
  }

  /** What can be paid: trades, and codes that nobody has scanned. */
  due(): NewTrade[] {
    const now = this.ledger.now()
    const trades = [...this.ledger.trades.keys()].map(order => this.ledger.trade(order))
    const codes = [...this.ledger.codes.values()].filter(({ order }) => !this.ledger.trades.has(order))
    return [
      ...trades.filter(({ status }) => status === 'WAIT_BUYER_PAY'),
      ...codes.filter(code => code.expiresAtMs > now),
    ]
  }

  /** The payer pays, the shop is told, and asks later where that fails. Returns where the payer goes back to; null = nowhere. */
  async payAndTell(order: string): Promise<string | null> {
    if (!this.ledger.trades.has(order)) this.ledger.scan(order)
    if (!this.ledger.pay(order)) return null
    await this.notify(order).catch(() => {})
    return this.ledger.trade(order).returnUrl || null
  }

  /** The section `pay.alipay` of a config that pays here. */
  get section() {
    return {
      app_id: this.appId,
      seller_id: this.sellerId,
      private_key: this.keys.app.privateKey,
      ...(this.files ?? { alipay_public_key: this.keys.alipay.publicKey }),
      products: ['page', 'qr'],
      sandbox: true,
      gateway: `${this.url}/gateway.do`,
      api: this.url,
    }
  }

  /** The fields of a notification. `refund`: it is about the refund of this number. */
  notice(order: string, refund?: string): Fields {
    const trade = this.ledger.trade(order)
    const now = china(this.ledger.now())
    const paid = yuan(trade.total - trade.coupon)
    return {
      notify_time: now,
      notify_type: 'trade_status_sync',
      notify_id: randomUUID().replaceAll('-', ''),
      app_id: this.appId,
      auth_app_id: this.appId,
      charset: 'utf-8',
      version: '1.0',
      sign_type: 'RSA2',
      ...(this.serials === null ? {} : { alipay_cert_sn: this.serials.alipay as string }),
      trade_no: trade.tradeNo,
      out_trade_no: order,
      buyer_id: '2088000000000099',
      seller_id: this.sellerId,
      trade_status: trade.status,
      total_amount: yuan(trade.total),
      receipt_amount: paid,
      invoice_amount: paid,
      buyer_pay_amount: paid,
      point_amount: '0.00',
      subject: trade.subject,
      body: '',
      gmt_create: china(trade.madeAtMs),
      ...(trade.paidAtMs === null ? {} : { gmt_payment: china(trade.paidAtMs) }),
      fund_bill_list: JSON.stringify([{ amount: paid, fundChannel: 'ALIPAYACCOUNT' }]),
      ...(refund === undefined
        ? {}
        : { out_biz_no: refund, refund_fee: yuan(this.ledger.back(order)), gmt_refund: `${now}.123` }),
    }
  }

  /** The body of a notification. */
  signed(fields: Fields, key = this.keys.alipay.privateKey, hash = 'sha256'): string {
    const text = Object.keys(fields)
      .filter(name => name !== 'sign_type')
      .sort()
      .map(name => `${name}=${fields[name]}`)
      .join('&')
    const signature = sign(hash, Buffer.from(text), key).toString('base64')
    return new URLSearchParams({ ...fields, sign: signature }).toString()
  }

  /** Sends a body to the address of the order's notifications, so many times at once. */
  async send(order: string, body: string, times = 1): Promise<string[]> {
    const { notifyUrl } = this.ledger.trade(order)
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
    return Promise.all(
      Array.from({ length: times }, async () => {
        const answer = await fetch(notifyUrl, { method: 'POST', headers, body })
        return `${answer.status} ${await answer.text()}`
      }),
    )
  }

  notify(order: string, refund?: string, times = 1): Promise<string[]> {
    return this.send(order, this.signed(this.notice(order, refund)), times)
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const url = new URL(req.url as string, 'http://x')
    this.asked.push(url.pathname)
    if (url.pathname === '/gateway.do') return this.#page(url.searchParams, res)
    if (url.pathname === '/pay') return this.#payHere(new URLSearchParams(body), res)
    if (url.pathname === '/bill') return this.#bill(url.searchParams, res)
    const foreign = this.inBetween(url.pathname)
    if (foreign !== null)
      return void res.writeHead(foreign.status, { 'content-type': 'application/json' }).end(foreign.body)
    const fault = this.faults.shift() ?? 'none'
    if (fault === 'drop') return void res.destroy()
    if (fault === 'busy') return this.#answer(res, error(429, 'isv.app-call-limited'), 'none')
    const refusal = this.#refusal(req, body)
    if (refusal !== null) this.forged.push(req.url as string)
    const fields = body === '' ? Object.fromEntries(url.searchParams) : JSON.parse(body)
    const answered = refusal ?? this.#misread(url.pathname.replace('/v3/alipay/', ''), fields) ?? this.#api(url, fields)
    if (fault === 'reset') return void res.destroy()
    this.#answer(res, fault === 'fault' ? error(500, 'SYSTEM_ERROR') : answered, fault)
  }

  /** Why a request is not the application's; null = it is. */
  #refusal(req: IncomingMessage, body: string): Answered | null {
    const m =
      /^ALIPAY-SHA256withRSA (app_id=(\d+),(?:app_cert_sn=([0-9a-f]{32}),)?nonce=[\w-]+,timestamp=(\d{13})),sign=(\S+)$/.exec(
        req.headers.authorization ?? '',
      )
    if (m?.[3] !== this.serials?.app) return error(400, 'isv.app-cert-sn-not-match')
    if (req.headers['alipay-root-cert-sn'] !== this.serials?.root) return error(400, 'isv.invalid-alipay-root-cert-sn')
    const text = `${m?.[1]}\n${req.method}\n${req.url}\n${body}\n`
    if (m === null || !this.#verifier.rsaCheck(text, m[5] as string)) return error(400, 'invalid-signature')
    if (m[2] !== this.appId) return error(400, 'invalid-app-id')
    return Math.abs(Number(m[4]) - this.ledger.now()) > SKEW_MS ? error(400, 'invalid-timestamp') : null
  }

  /** Alipay's refusal of fields that break what it writes about them; null = they do not. */
  #misread(request: string, fields: object): Answered | null {
    this.sent.push([request, fields])
    const asks = ALIPAY[request]
    if (asks === undefined) return error(404, 'NOT_FOUND')
    return brokenIn(asks, fields) === null ? null : error(400, 'ACQ.INVALID_PARAMETER')
  }

  #answer(res: ServerResponse, { status, body }: Answered, fault: Fault): void {
    const text = JSON.stringify(body)
    const [timestamp, nonce] = [String(this.ledger.now()), randomUUID()]
    const key = fault === 'stranger' ? this.keys.stranger.privateKey : this.keys.alipay.privateKey
    const signature = sign('sha256', Buffer.from(`${timestamp}\n${nonce}\n${text}\n`), key).toString('base64')
    const bare = fault === 'unsigned' || (status >= 400 && !this.signsErrors && fault !== 'stranger')
    const named = this.namedSerial === null ? {} : { 'alipay-sn': this.namedSerial }
    const proof = { 'alipay-timestamp': timestamp, 'alipay-nonce': nonce, 'alipay-signature': signature, ...named }
    res.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...(bare ? {} : proof) })
    res.end(text)
  }

  #api(url: URL, asked: Fields): Answered {
    const path = url.pathname.replace('/v3/alipay/', '')
    const order = asked['out_trade_no'] as string
    if (path === 'trade/precreate') return this.#precreate(order, asked)
    if (path === 'data/dataservice/bill/downloadurl/query') {
      const type = url.searchParams.get('bill_type') as string
      if (!this.bills.includes(type)) return error(403, 'NO_PERMISSION')
      const day = url.searchParams.get('bill_date') as string
      const traded = [...this.ledger.trades.values()].some(trade => isIn(trade, day))
      if (!traded) return error(400, 'isp.bill_not_exist')
      const address = `${this.url}/bill?${url.searchParams}&until=${this.ledger.now() + 30_000}`
      return { status: 200, body: { bill_download_url: address } }
    }
    if (!this.ledger.trades.has(order)) return error(400, 'ACQ.TRADE_NOT_EXIST')
    const trade = this.ledger.trade(order)
    if (path === 'trade/query') return this.#query(trade)
    if (path === 'trade/close') {
      if (trade.status !== 'WAIT_BUYER_PAY') return error(400, 'TRADE_HAS_SUCCESS')
      trade.status = 'TRADE_CLOSED'
      return { status: 200, body: { trade_no: trade.tradeNo, out_trade_no: order } }
    }
    if (path === 'trade/refund') return this.#refund(trade, asked)
    return path === 'trade/fastpay/refund/query' ? this.#refundQuery(trade, asked) : error(404, 'NOT_FOUND')
  }

  #precreate(order: string, asked: Fields): Answered {
    const expiresAtMs = Date.parse(`${asked['time_expire']?.replace(' ', 'T')}+08:00`)
    const { subject, notify_url: notifyUrl, total_amount } = asked as Fields & { subject: string; notify_url: string }
    const asks = { order, subject, notifyUrl, returnUrl: '', product: 'qr', total: fen(total_amount), expiresAtMs }
    this.ledger.codes.set(order, asks as Parameters<AlipayLedger['open']>[0])
    return { status: 200, body: { out_trade_no: order, qr_code: `https://qr.alipay.com/${order}` } }
  }

  #query({ order, tradeNo, status, total, coupon, paidAtMs }: Trade): Answered {
    return {
      status: 200,
      body: {
        trade_no: tradeNo,
        out_trade_no: order,
        buyer_logon_id: 'abc***@sandbox.com',
        trade_status: status,
        total_amount: yuan(total),
        receipt_amount: yuan(total - coupon),
        buyer_pay_amount: yuan(total - coupon),
        ...(paidAtMs === null ? {} : { send_pay_date: china(paidAtMs) }),
      },
    }
  }

  #refund(trade: Trade, asked: Fields): Answered {
    if (this.broke) return error(400, 'ACQ.SELLER_BALANCE_NOT_ENOUGH')
    if (this.slow)
      return { status: 200, body: { trade_no: trade.tradeNo, out_trade_no: trade.order, fund_change: 'N' } }
    const done = this.ledger.refund(trade.order, asked['out_request_no'] as string, fen(asked['refund_amount']))
    if (done === 'state') return error(400, 'ACQ.REASON_TRADE_STATUS_INVALID')
    if (done === 'too much') return error(400, 'ACQ.REFUND_AMT_NOT_EQUAL_TOTAL')
    const refund_fee = yuan(this.ledger.back(trade.order))
    const fund_change = done === 'moved' ? 'Y' : 'N'
    return { status: 200, body: { trade_no: trade.tradeNo, out_trade_no: trade.order, fund_change, refund_fee } }
  }

  #refundQuery({ order, tradeNo, total, refunds }: Trade, asked: Fields): Answered {
    const number = asked['out_request_no'] as string
    const amount = refunds.get(number)
    if (amount === undefined) return { status: 200, body: {} }
    const names = { trade_no: tradeNo, out_trade_no: order, out_request_no: number }
    const amounts = { total_amount: yuan(total), refund_amount: yuan(amount) }
    return { status: 200, body: { ...names, ...amounts, refund_status: 'REFUND_SUCCESS' } }
  }

  /** The page that the payer is sent to. Opening it makes the trade; its button pays. */
  #page(query: URLSearchParams, res: ServerResponse): void {
    const fields = Object.fromEntries(query)
    const asked = jsonOf(fields['biz_content']) as Fields
    const at = Date.parse(`${fields['timestamp']?.replace(' ', 'T')}+08:00`)
    const problem = !this.#verifier.checkNotifySignV2(fields)
      ? 'isv.invalid-signature'
      : (this.#misread('page', fields) ?? this.#misread('page.biz_content', asked)) !== null
        ? 'isv.invalid-parameter'
        : fields['app_cert_sn'] !== this.serials?.app || fields['alipay_root_cert_sn'] !== this.serials?.root
          ? 'isv.app-cert-sn-not-match'
          : fields['app_id'] !== this.appId || fields['method'] !== 'alipay.trade.page.pay'
            ? 'isv.invalid-parameter'
            : !(Math.abs(at - this.ledger.now()) <= SKEW_MS)
              ? 'isv.invalid-timestamp'
              : null
    if (problem !== null) this.forged.push(problem)
    if (problem !== null) return void res.writeHead(400, { 'content-type': 'text/html' }).end(`<h1>${problem}</h1>`)
    const trade = this.ledger.open({
      order: asked['out_trade_no'] as string,
      total: fen(asked['total_amount']),
      subject: asked['subject'] as string,
      notifyUrl: fields['notify_url'] as string,
      returnUrl: fields['return_url'] ?? '',
      product: 'page',
      expiresAtMs: Date.parse(`${asked['time_expire']?.replace(' ', 'T')}+08:00`),
    })
    if (trade === 'differs') return void res.writeHead(400).end('TOTAL_AMOUNT_DIFFERS')
    res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    res.end(`<!doctype html><html lang="zh-CN"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>模拟支付宝 Simulated Alipay</title>
<p style="background:#835400;color:#fff;padding:1rem;font:1rem sans-serif">模拟支付宝：没有真实的钱。 Simulated Alipay: no real money.</p>
<form method="post" action="/pay" style="font:1rem sans-serif;padding:1rem">
<input type="hidden" name="order" value="${trade.order}"><button style="font:inherit;padding:.6rem 1.5rem">支付 Pay ${yuan(trade.total)}</button></form>`)
  }

  /** The button: Alipay is paid, notifies, and sends the browser back. */
  async #payHere(form: URLSearchParams, res: ServerResponse): Promise<void> {
    const order = form.get('order') as string
    if (!this.ledger.pay(order)) return void res.writeHead(409).end('closed')
    await this.notify(order).catch(() => {}) // the shop is asked again later
    res.writeHead(303, { location: this.ledger.trade(order).returnUrl || '/' }).end()
  }

  #bill(query: URLSearchParams, res: ServerResponse): void {
    if (this.ledger.now() > Number(query.get('until'))) return void res.writeHead(403).end('expired')
    const day = query.get('bill_date') as string
    const archive = billArchive(this.ledger, this.sellerId, query.get('bill_type') as string, day)
    res.writeHead(200, { 'content-type': 'application/octet-stream' }).end(archive)
  }
}
