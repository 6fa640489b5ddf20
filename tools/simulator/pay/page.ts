/** The page that plays the payer: it shows what the simulated providers are asked for, and pays it. Beside it is the mailbox of the demo. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Alipay } from './alipay.ts'
import type { SimulatedChain } from './chain.ts'
import type { Mailbox } from './mailbox.ts'
import { escaped } from '../../../lib/base/html.ts'
import { bodyOf } from './server.ts'
import type { Stripe } from './stripe.ts'
import type { Wechat } from './wechat.ts'

interface Players {
  alipay: Alipay
  wechat: Wechat
  stripe: Stripe
  chain: SimulatedChain
  mailbox: Mailbox
  /** Where Stripe sends its events. */
  webhook: string
}

/** What somebody may pay. */
interface Due {
  way: 'alipay' | 'wechat' | 'card'
  /** The provider's name of it. */
  id: string
  order: string
  cents: number
}

const WAYS = { alipay: '支付宝 Alipay', wechat: '微信支付 WeChat Pay', card: '银行卡 Card' } as const
const TOKEN_DIGITS = 18

const BANNERS = {
  pay: '模拟支付：没有真实的钱，只用于演示。<br>Simulated payment: no real money, for the demo only.',
  mailbox: '模拟邮箱：邮件不会寄出，只用于演示。<br>Simulated mailbox: no letter is sent, for the demo only.',
} as const

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:0 auto;padding:1rem;color:#1a2029;background:#fff}
.simulated{background:#835400;color:#fff;padding:.6rem 1rem;border-radius:.5rem}form,.letter{border:1px solid #8792a3;border-radius:.5rem;padding:1rem;margin:1rem 0}
button{font:inherit;padding:.5rem 1.2rem;background:#2a5bd0;color:#fff;border:0;border-radius:.4rem}
input{font:inherit;width:100%;box-sizing:border-box;padding:.4rem;margin:.2rem 0 .8rem}code,pre{overflow-wrap:anywhere;white-space:pre-wrap}`

export class PayerPage {
  readonly #players: Players

  constructor(players: Players) {
    this.#players = players
  }

  serve(req: IncomingMessage, res: ServerResponse): void {
    this.#answer(req, res).catch((error: unknown) => {
      const text = `<p>${escaped((error as Error).message)}</p><p><a href="/">返回 Back</a></p>`
      if (!res.headersSent) this.#send(res, 409, text)
    })
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url as string, 'http://x')
    // the name of another site may lead to this machine, so that its pages could read these
    if (!/^(?:127\.0\.0\.1|localhost)(?::\d+)?$/.test(req.headers.host ?? '')) throw new Error('not by this address')
    if (req.method === 'GET' && url.pathname === '/mailbox')
      return this.#send(res, 200, this.#players.mailbox.page(), 'mailbox')
    if (req.method === 'GET') return this.#send(res, 200, this.#list(url.searchParams))
    // another site could press these buttons too
    const site = req.headers['sec-fetch-site']
    if (req.method !== 'POST' || (site !== undefined && site !== 'same-origin')) throw new Error('not from this page')
    const form = new URLSearchParams(await bodyOf(req))
    if (url.pathname === '/send') return this.#sendTokens(form, res)
    const due = this.#due().find(({ way, id }) => way === form.get('way') && id === form.get('id'))
    if (due === undefined) throw new Error('此订单已不能支付 This cannot be paid any more')
    const back = await this.#pay(due)
    if (back === null) this.#send(res, 200, '<h1>已支付 Paid</h1><p>请回到控制台 Go back to the console.</p>')
    else res.writeHead(303, { location: back, connection: 'close' }).end()
  }

  #due(): Due[] {
    const { alipay, wechat, stripe } = this.#players
    return [
      ...alipay.due().map(({ order, total }): Due => ({ way: 'alipay', id: order, order, cents: total })),
      ...wechat.due().map(({ order }): Due => {
        const { out_trade_no: id, amount } = order
        return { way: 'wechat', id, order: id, cents: amount.total }
      }),
      ...stripe.ledger.due().map(
        (session): Due => ({
          way: 'card',
          id: session.id,
          order: session.client_reference_id,
          cents: session.amount_total,
        }),
      ),
    ]
  }

  /** Pays, and has the provider tell the gateway. Returns where the provider sends the payer; null = nowhere. */
  async #pay({ way, id }: Due): Promise<string | null> {
    const { alipay, wechat, stripe, webhook } = this.#players
    if (way === 'alipay') return alipay.payAndTell(id)
    if (way === 'wechat') {
      wechat.pay(id)
      await wechat.tell(id)
      return null
    }
    const event = stripe.ledger.pay(id)
    await stripe.send(webhook, event).catch(() => {}) // the gateway asks again later
    return stripe.ledger.get('checkout.session', id).success_url as string
  }

  #sendTokens(form: URLSearchParams, res: ServerResponse): void {
    const [to, amount] = [(form.get('to') ?? '').trim(), (form.get('amount') ?? '').trim()]
    const m = /^(\d{1,9})(?:\.(\d{1,18}))?$/.exec(amount)
    if (!/^0x[0-9a-fA-F]{40}$/.test(to) || m === null)
      throw new Error('地址或数量不对 The address or the amount is wrong')
    this.#players.chain.send(to, BigInt(`${m[1]}${(m[2] ?? '').padEnd(TOKEN_DIGITS, '0')}`))
    this.#send(res, 200, '<h1>已转出 Sent</h1><p>几秒后入账 It is credited in a few seconds.</p>')
  }

  #list(query: URLSearchParams): string {
    const chosen = query.get('order') ?? query.get('session')
    const to = query.get('to')
    const send = `<form method="post" action="/send"><p><strong>USDT</strong></p>
<label>地址 Address<input name="to" value="${escaped(to ?? '')}" autocomplete="off"></label>
<label>数量 USDT<input name="amount" value="10" inputmode="decimal"></label>
<button>转出 Send</button></form>`
    const head = '<h1>付款人 The payer</h1>'
    if (to !== null) return head + send
    // who comes from an order or for an address has no use for the others
    const due = this.#due().filter(({ order, id }) => chosen === null || order === chosen || id === chosen)
    const forms = due.map(
      ({ way, id, order, cents }) => `<form method="post" action="/">
<input type="hidden" name="way" value="${way}"><input type="hidden" name="id" value="${escaped(id)}">
<p><strong>${WAYS[way]}</strong> · <code>${escaped(order)}</code></p>
<button>支付 Pay ${(cents / 100).toFixed(2)}</button></form>`,
    )
    return `${head}${forms.join('') || '<p>没有待支付的订单 Nothing is to be paid.</p>'}${chosen === null ? send : ''}`
  }

  #send(res: ServerResponse, status: number, body: string, banner: keyof typeof BANNERS = 'pay'): void {
    res.writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; form-action *; frame-ancestors 'none'",
      'cache-control': 'no-store',
      connection: 'close', // somebody else may have the port a moment later
      'x-content-type-options': 'nosniff',
    })
    res.end(`<!doctype html><html lang="zh-CN"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${banner === 'pay' ? '模拟付款 Simulated payment' : '模拟邮箱 Simulated mailbox'}</title><style>${STYLE}</style>
<p class="simulated">${BANNERS[banner]}</p>${body}`)
  }
}
