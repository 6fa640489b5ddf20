/**
 * What Alipay says of a trade: as the answer to a question, and in a notification. What counts is `total_amount`: what the
 * buyer pays and what we receive are less where there are coupons.
 */

import { digestOf, fromChinaTime, UNREADABLE } from '../messages.ts'
import {
  type Notice,
  NotVerified,
  type Payment,
  ProviderAway,
  ProviderRefuses,
  type RefundSaid,
  type Said,
} from '../method.ts'
import { fenOf, ourRefund } from '../numbers.ts'
import { type AlipayAnswer, type AlipayClient, textOf } from './client.ts'

/** Whose trades they are. */
export interface Seller {
  appId: string
  merchant: string
  sandbox: boolean
}

const PAID: readonly string[] = ['TRADE_SUCCESS', 'TRADE_FINISHED']
/** What our orders and Alipay's own numbers have at most. */
const LONGEST_NUMBER = 64

/** The parts of a payment that every message of Alipay has alike. */
export const payment = (
  seller: Seller,
  given: Pick<Payment, 'orderId' | 'transactionId' | 'merchant' | 'paidAtMs' | 'digest'> & { total: string },
): Payment => {
  const { total, ...rest } = given
  const { sandbox } = seller
  return { kind: 'paid', ...rest, amount: fenOf(total) ?? UNREADABLE, currency: 'CNY', providerId: null, sandbox }
}

/** A refund has no number at Alipay but the one that it was asked for with, which is unique within its order. */
export const refundProviderId = (orderId: string, number: string): string => `${orderId}:${number}`

/** A code that nobody has scanned is no trade yet, so a trade that does not exist has not failed. */
export function saidOf(seller: Seller, orderId: string, { code, fields, body }: AlipayAnswer): Said {
  if (code === 'TRADE_NOT_EXIST') return { kind: 'absent' }
  if (code !== null) throw new ProviderRefuses(code)
  if (textOf(fields, 'out_trade_no') !== orderId) throw new ProviderAway('an answer about another order')
  const state = textOf(fields, 'trade_status')
  if (!PAID.includes(state)) return { kind: state === 'TRADE_CLOSED' ? 'ended' : 'open' }
  const transactionId = textOf(fields, 'trade_no')
  if (transactionId === '') throw new ProviderAway('an answer without the number of the trade')
  return payment(seller, {
    orderId,
    transactionId,
    total: textOf(fields, 'total_amount'),
    merchant: seller.merchant, // the answer is signed for our application, and names no seller
    paidAtMs: fromChinaTime(textOf(fields, 'send_pay_date')),
    digest: digestOf(body),
  })
}

/** The notices of a notification whose signature is proven. */
export async function noticesOf(
  seller: Seller,
  client: AlipayClient,
  fields: ReadonlyMap<string, string>,
  body: Buffer,
): Promise<Notice[]> {
  const get = (name: string): string => fields.get(name) ?? ''
  const orderId = get('out_trade_no')
  if (get('notify_type') !== 'trade_status_sync') return []
  if (orderId === '' || orderId.length > LONGEST_NUMBER || get('trade_no') === '') throw new NotVerified('form')
  const ours = get('app_id') === seller.appId
  const state = get('trade_status')
  // A notice of a refund repeats the state of the payment, so it must not be taken for one.
  const sentBack = get('refund_fee') === '' ? 0 : fenOf(get('refund_fee'))
  if (sentBack === null) throw new NotVerified('form')
  if (sentBack > 0) return ours ? refundNotices(client, orderId, get('out_biz_no'), state) : []
  if (state === 'TRADE_CLOSED' && ours) return [{ kind: 'ended', orderId }]
  if (!PAID.includes(state)) return []
  return [
    payment(seller, {
      orderId,
      transactionId: get('trade_no'),
      total: get('total_amount'),
      merchant: ours ? get('seller_id') : `${get('seller_id')} by the application ${get('app_id')}`,
      paidAtMs: fromChinaTime(get('gmt_payment')),
      digest: digestOf(body),
    }),
  ]
}

/** The notice names the sum of all refunds of the order, so Alipay is asked about the one that it is about. */
async function refundNotices(client: AlipayClient, orderId: string, named: string, state: string): Promise<Notice[]> {
  // A trade that becomes final repeats what was sent back long ago.
  if (named === '' && state === 'TRADE_FINISHED') return []
  // A full refund that was asked for without a number has the order's.
  const number = named === '' ? orderId : named
  const { said, amount } = await askRefund(client, orderId, number)
  const refundId = ourRefund(number)
  // A refund that was not begun here is learned from this notice only, so the notice has to come again.
  if (refundId === null && said !== 'done') throw new ProviderAway('a refund that Alipay has not finished')
  return [
    { kind: 'refund', refundId, providerId: refundProviderId(orderId, number), orderId, amount, state: done(said) },
  ]
}

const done = (said: 'done' | 'none' | 'undecided'): RefundSaid => (said === 'done' ? 'done' : 'undecided')

/** `none`: Alipay says, signed, that there is no such refund, or that it failed. */
export async function askRefund(
  client: AlipayClient,
  orderId: string,
  number: string,
): Promise<{ said: 'done' | 'none' | 'undecided'; amount: number }> {
  const asked = { out_trade_no: orderId, out_request_no: number }
  const { code, fields } = await client.post('/v3/alipay/trade/fastpay/refund/query', asked)
  if (code !== null) return { said: 'undecided', amount: UNREADABLE }
  for (const [name, value] of Object.entries(asked))
    if (textOf(fields, name) !== value && (name in fields || textOf(fields, 'refund_status') !== ''))
      throw new ProviderAway('an answer about another refund')
  const state = textOf(fields, 'refund_status')
  if (state !== 'REFUND_SUCCESS') return { said: state === '' ? 'none' : 'undecided', amount: UNREADABLE }
  const amount = fenOf(textOf(fields, 'refund_amount'))
  if (amount === null) throw new ProviderAway('an answer without the amount of the refund')
  return { said: 'done', amount }
}
