/** What the double of Alipay knows: trades, what was paid and what went back. Only its own actions make money. */
import { randomInt, randomUUID } from 'node:crypto'

/** A time and an amount as Alipay writes them. */
export const china = (ms: number): string => new Date(ms + 8 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ')
export const yuan = (fen: number): string => (fen / 100).toFixed(2)

/** In fen. */
export interface Trade {
  order: string
  tradeNo: string
  total: number
  /** What a coupon of the provider pays for the payer. */
  coupon: number
  status: 'WAIT_BUYER_PAY' | 'TRADE_SUCCESS' | 'TRADE_FINISHED' | 'TRADE_CLOSED'
  subject: string
  notifyUrl: string
  returnUrl: string
  product: 'page' | 'qr'
  expiresAtMs: number
  madeAtMs: number
  paidAtMs: number | null
  /** By number of the request. */
  refunds: Map<string, number>
  /** When each went back. */
  refundedAtMs: Map<string, number>
}

export type NewTrade = Pick<
  Trade,
  'order' | 'total' | 'subject' | 'notifyUrl' | 'returnUrl' | 'product' | 'expiresAtMs'
>

const sum = (values: Iterable<number>): number => [...values].reduce((all, one) => all + one, 0)
const digits = (count: number): string => Array.from({ length: count }, () => randomInt(10)).join('')

export class AlipayLedger {
  readonly trades = new Map<string, Trade>()
  /** Codes that nobody has scanned: they are no trades yet. */
  readonly codes = new Map<string, NewTrade>()
  now: () => number = Date.now

  /** A trade, which a page makes when it is opened, and a code when it is scanned. A repeat finds the same one. */
  open(asked: NewTrade): Trade | 'differs' {
    const known = this.trades.get(asked.order)
    if (known !== undefined) return known.total === asked.total ? known : 'differs'
    const trade: Trade = {
      ...asked,
      tradeNo: `2030010122001${digits(15)}`,
      coupon: 0,
      status: 'WAIT_BUYER_PAY',
      madeAtMs: this.now(),
      paidAtMs: null,
      refunds: new Map(),
      refundedAtMs: new Map(),
    }
    this.trades.set(asked.order, trade)
    return trade
  }

  scan(order: string): Trade {
    const asked = this.codes.get(order)
    if (asked === undefined) throw new Error('no such code')
    return this.open(asked) as Trade
  }

  trade(order: string): Trade {
    const trade = this.trades.get(order)
    if (trade === undefined) throw new Error('no such trade')
    if (trade.status === 'WAIT_BUYER_PAY' && this.now() >= trade.expiresAtMs) trade.status = 'TRADE_CLOSED'
    return trade
  }

  /** The payer pays. False = the trade cannot be paid any more. */
  pay(order: string, coupon = 0): boolean {
    const trade = this.trade(order)
    if (trade.status !== 'WAIT_BUYER_PAY') return false
    Object.assign(trade, { status: 'TRADE_SUCCESS', coupon, paidAtMs: this.now() })
    return true
  }

  /** `again`: there is a refund of this number already, and no money moves. */
  refund(order: string, number: string, amount: number): 'moved' | 'again' | 'state' | 'too much' {
    const trade = this.trade(order)
    if (trade.refunds.has(number)) return 'again'
    if (trade.status !== 'TRADE_SUCCESS') return 'state'
    if (amount <= 0 || this.back(order) + amount > trade.total) return 'too much'
    trade.refunds.set(number, amount)
    trade.refundedAtMs.set(number, this.now())
    if (this.back(order) === trade.total) trade.status = 'TRADE_CLOSED'
    return 'moved'
  }

  /** A refund that the merchant makes on Alipay's own pages. Returns its number. */
  refundThere(order: string, amount: number): string {
    const number = randomUUID().replaceAll('-', '')
    if (this.refund(order, number, amount) !== 'moved') throw new Error('no such refund')
    return number
  }

  back(order: string): number {
    return sum(this.trade(order).refunds.values())
  }

  /** What was paid, less what went back. */
  get balance(): number {
    return sum([...this.trades.values()].map(t => (t.paidAtMs === null ? 0 : t.total - sum(t.refunds.values()))))
  }
}
